"""Asking again and grading again: what a run's earlier attempts become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import OPEN_RUN_STATES
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.codec import dump_task, load_task
from llmbench_mcp.store.database import Database, Row, Transaction
from llmbench_mcp.store.runs import add_event
from llmbench_mcp.store.tally import untally

What = Literal["errors", "failed", "regrade"]


class RetryStore:
    """Each way is one transaction: a run is queued again as a whole, or not at all."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def tasks(self, run_id: str) -> dict[str, Task]:
        """The run's tasks as stored, by hash."""
        return {row["hash"]: load_task(row["body"]) for row in await self._database.all("retry_tasks", run_id)}

    async def retry(self, run_id: str, what: What, changed: Mapping[str, Task]) -> int:
        """Queue the run's attempts again; returns how many.

        ``errors``: those that ended without a verdict, or were never asked; the new try counts instead.
        ``failed``: wrong answers; the new try is kept beside the first and counts nowhere, for a score made of
        second chances would be no score. ``regrade``: stored completions, by the present validators.

        Args:
            changed: by old hash, tasks to grade by instead.

        Raises:
            ConflictError: the run is not over yet, or was never written whole.
        """
        async with self._database.transaction() as transaction:
            await _check_whole(transaction, run_id)
            if not await transaction.run("retry_run", run_id, what):
                raise ConflictError(
                    f"Run {run_id} is not over.", "Wait for its end, see run_status (run status), or cancel it."
                )
            count = await _WAYS[what](transaction, run_id)
            await _change_tasks(transaction, run_id, changed)
            if count:
                now = self._clock.utc_now()
                await transaction.run("retry_jobs", run_id)
                await transaction.run("run_limits_lift", run_id)
                await add_event(transaction, now, run_id, "retry", {"what": what, "attempts": count})
            else:
                raise ConflictError(f"Run {run_id} has nothing to {_NOTHING[what]}.", "See run_results (run results).")
        return count


async def _check_whole(transaction: Transaction, run_id: str) -> None:
    run = await transaction.one("run_get", run_id)
    if run is not None and run["making"] and run["state"] not in OPEN_RUN_STATES:
        raise ConflictError(
            f"Run {run_id} ended before it was written whole.", "Start it again: run_start (run start)."
        )


async def _change_tasks(transaction: Transaction, run_id: str, changed: Mapping[str, Task]) -> None:
    """What the run's attempts are to be graded by; each verdict stays one of the old version until it is replaced."""
    if not changed:
        return
    hashes = {old: task.content_hash() for old, task in changed.items()}
    await transaction.many("task_insert", [(hashes[old], task.id, dump_task(task)) for old, task in changed.items()])
    await transaction.many("regrade_hash", [(run_id, old, new) for old, new in hashes.items()])


async def _errors(transaction: Transaction, run_id: str) -> int:
    rows = await transaction.all("retry_errors", run_id)
    await replace_tries(transaction, run_id, rows)
    return len(rows) + await transaction.run("retry_uncancel", run_id)


async def replace_tries(transaction: Transaction, run_id: str, rows: list[Row]) -> None:
    """These attempts stay to be read and count no more; a new try in each one's place is pending."""
    await untally(transaction, rows)
    await transaction.many("retry_discount", [(row["id"],) for row in rows])
    await _insert(transaction, run_id, rows, counted=1)
    await transaction.run("scores_tidy", run_id)


async def _failed(transaction: Transaction, run_id: str) -> int:
    rows = await transaction.all("retry_failures", run_id)
    await _insert(transaction, run_id, rows, counted=0)
    return len(rows)


async def _regrade(transaction: Transaction, run_id: str) -> int:
    return await transaction.run("regrade_mark", run_id)


async def _insert(transaction: Transaction, run_id: str, rows: list[Row], counted: int) -> None:
    last = await transaction.one("retry_last_number", run_id)
    first = last["n"] + 1 if last else 1
    new = [
        (new_id("att"), run_id, r["job_id"], number, r["task_id"], r["task_hash"], r["repeat"], r["tries"] + 1, counted)
        for number, r in enumerate(rows, first)
    ]
    await transaction.many("retry_insert", new)


_WAYS = {"errors": _errors, "failed": _failed, "regrade": _regrade}
_NOTHING = {"errors": "ask again: every attempt has a verdict", "failed": "ask again: nothing failed"} | {
    "regrade": "grade again: no completion is stored"
}
