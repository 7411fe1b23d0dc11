"""The executor's side of grading again: stored completions in, new verdicts out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from llmbench_mcp.domain.attempt import AttemptOutcome, PlannedAttempt
from llmbench_mcp.domain.chat import Completion, ToolCall
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.attempts import finish_row
from llmbench_mcp.store.database import Database, Row, Transaction
from llmbench_mcp.store.leases import Lease
from llmbench_mcp.store.runs import add_event
from llmbench_mcp.store.tally import rebuild_scores


@dataclass(frozen=True, slots=True)
class Stored:
    """A completion to grade again, and the verdict it had; ``passed`` None: it had none."""

    attempt: PlannedAttempt
    completion: Completion
    passed: bool | None
    failure: str | None


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
        """Put the new verdict in the old one's place, and count the difference."""
        now = self._clock.utc_now()
        row = finish_row(outcome, now)[:12]
        async with self._database.transaction(self._fence) as transaction:
            if await transaction.run("regrade_finish", *row) and stored.attempt.counted:
                await _count_change(transaction, stored, outcome)
            await self._end(transaction, stored.attempt.run_id, now)

    async def _end(self, transaction: Transaction, run_id: str, now: str) -> None:
        left = await transaction.one("regrade_left", run_id)
        if left and left["n"]:
            return
        await rebuild_scores(transaction, run_id)
        if await transaction.run("run_finished", run_id, "completed", "graded again", now):
            await add_event(transaction, now, run_id, "completed", {})


async def _count_change(transaction: Transaction, stored: Stored, outcome: AttemptOutcome) -> None:
    old = _marks(stored.passed, stored.failure)
    grade = outcome.grade
    new = _marks(grade.passed if grade else None, grade.failure if grade else outcome.failure)
    if old == new:
        return
    job_id = stored.attempt.job_id
    change = [after - before for before, after in zip(old[0], new[0], strict=True)]
    await transaction.run("job_tally", job_id, *change, 0, 0.0, 0)
    for failure, by in ((old[1], -1), (new[1], 1)):
        if failure is not None:
            await transaction.run("job_failure_tally", job_id, failure, by)


def _marks(passed: bool | None, failure: str | None) -> tuple[tuple[int, int, int], str | None]:
    """((done, errors, passed), failure)."""
    return (int(passed is not None), int(passed is None), int(bool(passed))), failure


def _stored(row: Row) -> Stored:
    names = ("id", "run_id", "job_id", "task_id", "task_hash", "repeat", "tries", "counted")
    calls = tuple(ToolCall(call["name"], call["arguments"]) for call in json.loads(row["tool_calls"]))
    completion = Completion(row["text"], row["reasoning"], calls, row["finish_reason"])
    passed = None if row["passed"] is None else bool(row["passed"])
    return Stored(PlannedAttempt(**{name: row[name] for name in names}), completion, passed, row["failure"])
