"""Energy beside the results it belongs to."""

from __future__ import annotations

from llmbench_mcp.domain.attempt import AttemptOutcome
from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.store.database import Statement


def energy_of(outcome: AttemptOutcome) -> list[Statement]:
    """Of one attempt that ends: what it took, or why that is unknown."""
    energy, attempt = outcome.energy, outcome.attempt
    if energy == Energy():
        return []
    statements: list[Statement] = [("attempt_energy", attempt.id, energy.joules, energy.reason)]
    usage = outcome.completion.usage if outcome.completion else None
    if energy.joules is not None and usage is not None and usage.completion_tokens:
        statements.append(("job_measured", attempt.job_id, energy.joules, usage.completion_tokens))
    return statements
