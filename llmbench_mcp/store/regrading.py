"""The executor's side of grading again: stored completions in, new verdicts out."""

from __future__ import annotations

from dataclasses import dataclass

from llmbench_mcp.domain.attempt import AttemptOutcome, PlannedAttempt
from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.answers import answer_of
from llmbench_mcp.store.attempts import finish_row
from llmbench_mcp.store.database import Database, Row, Transaction
from llmbench_mcp.store.leases import Lease
from llmbench_mcp.store.packing import texts_of
from llmbench_mcp.store.runs import add_event, end_of
from llmbench_mcp.store.tally import add_scores, change_of_marks, take_scores


@dataclass(frozen=True, slots=True)
class Stored:
    """A completion to grade again."""

    attempt: PlannedAttempt
    completion: Completion


class RegradeStore:
    """Next completions, new verdicts, the end. Writes may raise LeaseLost."""

    def __init__(self, database: Database, clock: Clock, lease: Lease) -> None:
        self._database = database
        self._clock = clock
        self._fence = lease.key

    async def next(self, limit: int) -> list[Stored]:
        """Completions that wait, in order."""
        return [_stored(row) for row in await self._database.all("regrade_next", limit)]

    async def finish(self, stored: Stored, outcome: AttemptOutcome) -> None:
        """Put the new verdict in the old one's place, and count the difference.

        Nothing is written where it was cancelled meanwhile, or is to be graded by another version of its task.
        """
        now = self._clock.utc_now()
        async with self._database.transaction(self._fence) as transaction:
            now_is = await transaction.one("regrade_waits", stored.attempt.id, stored.attempt.task_hash)
            if now_is is not None:
                await _replace(transaction, now_is, outcome, now)
                await self._end(transaction, stored.attempt.run_id, now)

    async def _end(self, transaction: Transaction, run_id: str, now: str) -> None:
        if await transaction.all("regrade_left", run_id):
            return
        await _move_ungraded(transaction, run_id)
        await transaction.run("scores_tidy", run_id)
        totals = await transaction.one("run_totals", run_id)
        assert totals is not None, "sums give one row"
        state = end_of(totals)
        if await transaction.run("run_finished", run_id, state, "graded again", now):
            await add_event(transaction, now, run_id, state, {})


async def _replace(transaction: Transaction, before: Row, outcome: AttemptOutcome, now: str) -> None:
    """``before``: the attempt as it is, which may have been asked again since its completion was read."""
    attempt, grade = outcome.attempt, outcome.grade
    await take_scores(transaction, [attempt.id])
    await transaction.run("regrade_finish", *finish_row(outcome, now)[:12])
    await add_scores(transaction, [attempt.id])
    if before["counted"]:
        passed = None if before["passed"] is None else bool(before["passed"])
        new = (grade.passed, grade.failure) if grade else (None, outcome.failure)
        await transaction.batch(change_of_marks(attempt.job_id, (passed, before["failure"]), new))


async def _move_ungraded(transaction: Transaction, run_id: str) -> None:
    """What had no completion goes with the rest: asked again, it is graded by the new version too."""
    ids = [row["id"] for row in await transaction.all("regrade_ungraded", run_id)]
    await take_scores(transaction, ids)
    await transaction.many("regrade_move", [(attempt,) for attempt in ids])
    await add_scores(transaction, ids)


def _stored(row: Row) -> Stored:
    names = ("id", "run_id", "job_id", "task_id", "task_hash", "repeat", "tries", "counted")
    texts = texts_of(row)
    assert texts is not None, "only what has a completion is graded again"
    completion = answer_of(texts, row["finish_reason"])
    return Stored(PlannedAttempt(**{name: row[name] for name in names}), completion)
