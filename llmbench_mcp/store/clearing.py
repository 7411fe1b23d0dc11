"""Removing results on request, a portion at a time; after each, every total is what the attempts left add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.store.database import Database, Row, Transaction
from llmbench_mcp.store.tally import take_scores

_SMALL_BYTES = 128 << 20
PORTION = 200
"""Attempts removed in one transaction: some hundredths of a second."""
Group = tuple[str, str, str, str]
"""(suite, identity, sampling, endpoint): what a leaderboard pools."""
_KEY = ("suite", "identity_key", "sampling_key", "endpoint_id")


@dataclass(frozen=True, slots=True)
class ClearableJob:
    """A job with the number of attempts it still has."""

    id: str
    run_id: str
    model: str
    suite: str
    group: Group
    run_state: str
    attempts: int


class ClearingStore:
    """Every method is a look, or one short transaction that leaves nothing half counted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def jobs(self, wanted: Selected) -> list[ClearableJob]:
        """The jobs of the runs wanted."""
        found = []
        for run_id in dict.fromkeys(wanted.runs):
            found += await self._database.all("clear_jobs", run_id, wanted.model, wanted.suite)
        return [_job(row) for row in found]

    async def groups(self, model: str | None, suite: str | None) -> list[Group]:
        """What is pooled of that model (name or id) and suite, results whose attempts were removed included."""
        return [_group(row) for row in await self._database.all("clear_groups", model, suite)]

    async def jobs_of(self, group: Group) -> list[ClearableJob]:
        """All jobs that were pooled there."""
        return [_job(row) for row in await self._database.all("clear_group_jobs", *group)]

    async def kept(self, group: Group) -> int:
        """How many rows of sums and days there are beside the attempts."""
        row = await self._database.one("clear_group_kept", *group)
        return row["n"] if row else 0

    async def answer_bytes(self, jobs: Sequence[ClearableJob]) -> int:
        """What the stored answers take."""
        found = await self._database.look(*(("clear_bytes", job.id) for job in jobs)) if jobs else []
        return sum(rows[0]["n"] for rows in found)

    async def remove_some(self, job: ClearableJob) -> int:
        """Remove a portion of a job's attempts; returns how many, 0 when none are left.

        Raises:
            ConflictError: its run goes on again.
        """
        async with self._database.transaction() as transaction:
            await _check_over(transaction, job.run_id)
            rows = await transaction.all("clear_portion", job.id, PORTION)
            if rows:
                await _take_out(transaction, job, rows)
        return len(rows)

    async def remove_events(self, run_id: str) -> bool:
        """Remove a portion of the events of a run that has no attempts any more; True while any may be left."""
        async with self._database.transaction() as transaction:
            if await transaction.all("clear_run_attempts", run_id):
                return False
            await _check_over(transaction, run_id)
            return await transaction.run("events_remove", run_id, PORTION) > 0

    async def remove_job(self, job: ClearableJob) -> None:
        """Remove a job that has no attempts any more, and its run when that was the last one.

        What older results, whose attempts were removed long ago, are labelled with is kept. Raises as ``remove_some``.
        """
        days = await self._database.all("clear_days_left", *job.group)
        async with self._database.transaction() as transaction:
            await _check_over(transaction, job.run_id)
            await transaction.many("clear_day_exact", [_exact(row, job.group) for row in days if row["day"]])
            await transaction.run("clear_job_label", job.id)
            await transaction.run("clear_job", job.id)
            await transaction.run("clear_run", job.run_id)

    async def remove_group(self, group: Group, jobs: Sequence[ClearableJob]) -> None:
        """Remove all that is left of a group whose attempts are gone: its jobs, sums and days.

        Raises:
            ConflictError: there are attempts again.
        """
        async with self._database.transaction() as transaction:
            if await transaction.all("clear_group_attempts", *group):
                raise ConflictError("Another run of this model and suite was made meanwhile.", "Clear again.")
            for job in jobs:
                await transaction.run("clear_job", job.id)
                await transaction.run("clear_run", job.run_id)
            for query in ("scores", "removed_jobs", "removed_sums", "days"):
                await transaction.run(f"clear_group_{query}", *group)

    async def remove_empty_run(self, run_id: str) -> None:
        """Remove a run that has no jobs."""
        async with self._database.transaction() as transaction:
            await _check_over(transaction, run_id)
            await transaction.run("clear_run", run_id)

    async def compact(self) -> int:
        """Give the space of what was removed back to the system; returns how many bytes. Raises StorageError."""
        return await self._database.compact()

    async def is_at_rest(self, *, watched: bool) -> bool:
        """Whether nothing waits to be done; and, while an executor is ``watched`` by its lease, the file is small: it
        could not be renewed while a large one is written anew."""
        waiting = await self._database.one("runs_unfinished")
        small = not watched or self._database.size() < _SMALL_BYTES
        return small and not (waiting and waiting["n"])


async def _check_over(transaction: Transaction, run_id: str) -> None:
    if await transaction.one("clear_is_over", run_id) is None:
        raise ConflictError(
            f"Run {run_id} goes on again, or is gone.", "Wait for its end or call run_cancel (run cancel)."
        )


async def _take_out(transaction: Transaction, job: ClearableJob, rows: Sequence[Row]) -> None:
    await take_scores(transaction, [row["id"] for row in rows])
    await _take_from_days(transaction, job.group, [row for row in rows if row["counted"] and row["ended"]])
    await _take_from_job(transaction, job.id, rows)
    await transaction.many("clear_attempt", [(row["id"],) for row in rows])
    keys = {(*job.group, row["task_id"], row["task_hash"], row["validator_version"]) for row in rows}
    await transaction.many("clear_score_empty", sorted(keys))
    await transaction.many("clear_score_refresh", sorted(keys))


async def _take_from_days(transaction: Transaction, group: Group, rows: Sequence[Row]) -> None:
    days: dict[str, list[Row]] = {}
    for row in rows:
        if row["day"]:
            days.setdefault(row["day"], []).append(row)
    changes = [
        (day, *group, graded, len(found) - graded, sum(row["passed"] or 0 for row in found), _score(found))
        for day, found in days.items()
        for graded in [sum(row["passed"] is not None for row in found)]
    ]
    await transaction.many("clear_day", changes)
    await transaction.many("clear_day_empty", [(day, *group) for day in days])


def _score(rows: Sequence[Row]) -> float:
    return sum(row["score"] or 0.0 for row in rows if row["passed"] is not None)


async def _take_from_job(transaction: Transaction, job_id: str, rows: Sequence[Row]) -> None:
    ended = [row for row in rows if row["ended"]]
    marked = [row for row in ended if row["counted"]]
    graded = sum(row["passed"] is not None for row in marked)
    timed = [row["e2e_s"] for row in ended if row["e2e_s"] is not None]
    marks = (-graded, graded - len(marked), -sum(row["passed"] or 0 for row in marked))
    await transaction.run("job_tally", job_id, *marks, -sum(row["tokens"] for row in ended), -sum(timed), -len(timed))
    for failure, count in Counter(row["failure"] for row in marked if row["failure"]).items():
        await transaction.run("job_failure_tally", job_id, failure, -count)
    measured = [row for row in rows if row["energy_j"] is not None and row["completion_tokens"]]
    joules, tokens = sum(row["energy_j"] for row in measured), sum(row["completion_tokens"] for row in measured)
    planned = sum(row["counted"] for row in rows)
    await transaction.run("clear_job_shrinks", job_id, planned, joules, tokens)


def _exact(row: Row, group: Group) -> tuple[Any, ...]:
    names = ("graded", "errors", "passed", "score", "decode_tps", "ttft_s")
    return (row["day"], *group, *(row[name] for name in names))


def _group(row: Row) -> Group:
    suite, identity, sampling, endpoint = (row[name] for name in _KEY)
    return suite, identity, sampling, endpoint


def _job(row: Row) -> ClearableJob:
    names = ("id", "run_id", "model", "suite", "run_state", "attempts")
    return ClearableJob(**{name: row[name] for name in names}, group=_group(row))
