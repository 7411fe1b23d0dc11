"""Running totals: every end of an attempt changes them in its own transaction.

Marks (done, errors, passed, failures, scores) are of counted attempts; tokens and seconds are what was spent, whether
it counts or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from llmbench_mcp.domain.attempt import AttemptOutcome
from llmbench_mcp.store.database import Row, Statement, Transaction


def tally_outcome(outcome: AttemptOutcome) -> list[Statement]:
    """To run after an attempt has been written as over; one asked again only to look counts in no mark."""
    attempt, graded = outcome.attempt, outcome.grade is not None
    tokens, seconds = _spent(outcome)
    spent = (tokens, seconds or 0.0, int(seconds is not None))
    if not attempt.counted:
        return [("job_tally", attempt.job_id, 0, 0, 0, *spent)]
    marks = (int(graded), int(not graded), int(outcome.grade is not None and outcome.grade.passed))
    statements: list[Statement] = [("job_tally", attempt.job_id, *marks, *spent)]
    failure = outcome.grade.failure if outcome.grade is not None else outcome.failure
    if failure is not None:
        statements.append(("job_failure_tally", attempt.job_id, failure, 1))
    return [*statements, ("score_tally", attempt.id, 1)]


def _spent(outcome: AttemptOutcome) -> tuple[int, float | None]:
    if outcome.completion is None:
        return 0, None
    usage = outcome.completion.usage
    tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if usage else 0
    return tokens, outcome.completion.timing.e2e_s


def change_of_marks(
    job_id: str, old: tuple[bool | None, str | None], new: tuple[bool | None, str | None]
) -> list[Statement]:
    """A verdict in another's place, each as (passed, failure); passed None: there is none."""
    if old == new:
        return []
    change = [after - before for before, after in zip(_marks(old[0]), _marks(new[0]), strict=True)]
    statements: list[Statement] = [("job_tally", job_id, *change, 0, 0.0, 0)]
    failures = ((old[1], -1), (new[1], 1))
    return statements + [("job_failure_tally", job_id, word, by) for word, by in failures if word is not None]


def _marks(passed: bool | None) -> tuple[int, int, int]:
    return int(passed is not None), int(passed is None), int(bool(passed))


async def tally_failed(transaction: Transaction, job_id: str, failure: str, attempts: Sequence[Row]) -> None:
    """Count attempts that ended in the same error without a verdict; what was spent on them before stays spent."""
    tokens = sum((row["prompt_tokens"] or 0) + (row["completion_tokens"] or 0) for row in attempts)
    counted = [row["id"] for row in attempts if row["counted"]]
    await transaction.run("job_tally", job_id, 0, len(counted), 0, tokens, 0.0, 0)
    if counted:
        await transaction.run("job_failure_tally", job_id, failure, len(counted))
        await add_scores(transaction, counted)


async def untally(transaction: Transaction, attempts: Sequence[Row]) -> None:
    """Counted attempts that are about to count no more; what was spent on them stays spent."""
    await take_scores(transaction, [row["id"] for row in attempts])
    for (job_id, passed), count in Counter((row["job_id"], row["passed"]) for row in attempts).items():
        marks = [-count * mark for mark in _marks(passed)]
        await transaction.run("job_tally", job_id, *marks, 0, 0.0, 0)
    for (job_id, failure), count in Counter((row["job_id"], row["failure"]) for row in attempts).items():
        if failure is not None:
            await transaction.run("job_failure_tally", job_id, failure, -count)


async def add_scores(transaction: Transaction, attempts: Sequence[str]) -> None:
    """Add what these attempts are now to what the leaderboard adds up."""
    await transaction.many("score_tally", [(attempt, 1) for attempt in attempts])


async def take_scores(transaction: Transaction, attempts: Sequence[str]) -> None:
    """Take what these attempts still are out of it; before they are changed."""
    await transaction.many("score_tally", [(attempt, -1) for attempt in attempts])
