"""Running totals: every end of an attempt changes them in its own transaction."""

from __future__ import annotations

from llmbench_mcp.domain.attempt import AttemptOutcome
from llmbench_mcp.store.database import Transaction


async def tally_outcome(transaction: Transaction, outcome: AttemptOutcome) -> None:
    """Count an attempt that has just been written as over; one asked again only to look counts nowhere."""
    if not outcome.attempt.counted:
        return
    done = int(outcome.grade is not None)
    passed = int(outcome.grade is not None and outcome.grade.passed)
    failure = outcome.failure if outcome.grade is None else outcome.grade.failure
    tokens, seconds = _spent(outcome)
    job_id = outcome.attempt.job_id
    figures = (done, 1 - done, passed, tokens, seconds or 0.0, int(seconds is not None))
    await transaction.run("job_tally", job_id, *figures)
    if failure is not None:
        await transaction.run("job_failure_tally", job_id, failure, 1)
    await transaction.run("score_tally", outcome.attempt.id)


def _spent(outcome: AttemptOutcome) -> tuple[int, float | None]:
    if outcome.completion is None:
        return 0, None
    usage = outcome.completion.usage
    tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if usage else 0
    return tokens, outcome.completion.timing.e2e_s


async def tally_failed(transaction: Transaction, job_id: str, failure: str, attempts: list[str]) -> None:
    """Count attempts that ended in the same error without being asked."""
    if not attempts:
        return
    await transaction.run("job_tally", job_id, 0, len(attempts), 0, 0, 0.0, 0)
    await transaction.run("job_failure_tally", job_id, failure, len(attempts))
    await transaction.many("score_tally", [(attempt,) for attempt in attempts])


async def rebuild_scores(transaction: Transaction, run_id: str) -> None:
    """Add up anew what the leaderboard shows of the run's models and suites."""
    for key in await transaction.all("run_score_keys", run_id):
        await transaction.run("scores_forget", key["suite"], key["identity_key"])
        await transaction.run("scores_rebuild", key["suite"], key["identity_key"])
