"""One task asked of one model once: its states, its verdict, its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.domain.text import one_line, similar

AttemptState = Literal["pending", "generating", "grading", "done", "error", "cancelled", "regrade"]

LOGIC_FAILURES = frozenset(
    {
        "wrong_answer",
        "runtime_error",
        "timeout",
        "memory_limit",
        "hardcoded",
        "cheating",
        "wrong_call",
        "unexpected_call",
        "no_call",
        "loop",
        "missed_criteria",
        "blocked",
        "output_limit",
    }
)
NON_LOGIC_FAILURES = frozenset(
    {
        "empty",
        "refusal",
        "no_code",
        "syntax_error",
        "import_error",
        "missing_function",
        "malformed_call",
        "call_in_text",
        "format",
        "budget_exhausted",
    }
)
UNSCORED_FAILURES = frozenset(
    {
        "truncated_prompt",
        "invalid_identity",
        "provider_error",
        "auth",
        "not_available",
        "rate_limited",
        "validator_error",
        "cancelled",
    }
)


def check_failure(word: str) -> None:
    """Raise NotFoundError, with those that are near or else all there are, for a word that no failure has."""
    known = LOGIC_FAILURES | NON_LOGIC_FAILURES | UNSCORED_FAILURES
    if word not in known:
        close = similar(word, known)
        hint = f"Nearest: {', '.join(close)}." if close else f"Use one of: {', '.join(sorted(known))}."
        raise NotFoundError(f"There is no failure word called '{one_line(word, 80)}'.", hint, close)


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict as stored: the validator's facts and nothing of its types."""

    passed: bool
    score: float
    confidence: str
    validator: str
    validator_version: str
    failure: str | None = None
    findings: tuple[str, ...] = ()
    stages: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    subscores: Mapping[str, float] = field(default_factory=dict)
    extractor: str | None = None
    isolation: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """An attempt as the executor claims it. ``counted``: whether its verdict is part of any score."""

    id: str
    run_id: str
    job_id: str
    task_id: str
    task_hash: str
    repeat: int
    tries: int
    interrupted: int = 0
    counted: int = 1


@dataclass(frozen=True, slots=True)
class Where:
    """Which machine and process produced a record."""

    host: str
    boot_id: str
    device: str
    worker: str


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What is committed for one attempt, in one transaction.

    Exactly one of ``grade`` (state done) and ``failure`` (state error: not evidence about the model) is set.
    ``retries`` counts requests repeated after an infrastructure error; waits are in no timing. ``energy`` is what the
    device took during the last request; with neither joules nor reason it was not looked at.
    """

    attempt: PlannedAttempt
    where: Where
    completion: Completion | None = None
    grade: Grade | None = None
    failure: str | None = None
    message: str | None = None
    retries: int = 0
    energy: Energy = Energy()


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """A stored attempt for showing; ``completion_text`` only when asked for."""

    number: int
    id: str
    run_id: str
    job_id: str
    model: str
    endpoint: str
    suite: str
    task_id: str
    repeat: int
    state: AttemptState
    facts: Mapping[str, Any] = field(default_factory=dict)
    completion_text: str | None = None
    reasoning_text: str | None = None
