"""Runs and jobs: written whole, read with their progress, changed by whoever may."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import anyio

from llmbench_mcp.domain.errors import ConflictError, StorageError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import (
    OPEN_RUN_STATES,
    Job,
    ListedRun,
    PlannedJob,
    Run,
    RunFilter,
    RunPlan,
    RunRequest,
    RunState,
)
from llmbench_mcp.domain.time_left import Needed
from llmbench_mcp.store.codec import dump, dump_sampling, dump_task, load_sampling, request_facts, short_hash
from llmbench_mcp.store.database import Database, Fence, Row, Transaction
from llmbench_mcp.store.time_left import Outlooks
from llmbench_mcp.store.writing import given_up, hold, let_go

log = logging.getLogger(__name__)

_job_fields = itemgetter(*(name for name in Job._fields if name != "budget"))


PORTION = 5_000
"""Attempts written in one transaction: a fraction of a second."""
_GIVING_UP_S = 5.0
_INTERRUPTED = "interrupted while it was being written: start it again"


class TaskPace(NamedTuple):
    """Of one answer on average: seconds, and tokens as far as they were counted."""

    mean_s: float
    answer_tokens: float


class RunStore:
    """What front ends do with runs: create, look, cancel."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._outlooks = Outlooks(database, clock)

    async def create(
        self,
        plan: RunPlan,
        served_names: dict[str, str],
        labels: dict[str, tuple[str, str, str]],
        alone_among: str | None = None,
    ) -> str:
        """Write run, jobs and attempts; returns the run's id.

        One transaction, but for large runs: their attempts come in portions, so that nobody else has to wait for
        all of them, and nothing of the run is asked before the last. One that is interrupted before that ends as
        cancelled and gives its idempotency key back.

        Args:
            plan: the frozen plan.
            served_names: by job id, the model's name at its endpoint.
            labels: by job id, (model name, endpoint name, device).
            alone_among: how idempotency keys begin of which no other run may be open; such a run's id is returned.

        A second request under the same idempotency key returns the first run's id, also while that is being written.

        Raises:
            ConflictError: that key was used for a different request.
        """
        try:
            return await self._write(plan, served_names, labels, alone_among)
        except BaseException:  # cancellation too
            if plan.planned > PORTION:
                await self._give_up(plan.id)
            raise

    async def _write(
        self,
        plan: RunPlan,
        served_names: dict[str, str],
        labels: dict[str, tuple[str, str, str]],
        alone_among: str | None,
    ) -> str:
        request = plan.request
        request_hash = short_hash(request_facts(request))
        now = self._clock.utc_now()
        async with self._database.transaction() as transaction:
            await _end_given_up(transaction, self._clock)
            if earlier := await _earlier(transaction, request.idempotency_key, request_hash, alone_among):
                return earlier
            await transaction.run("run_insert", plan.id, *_run_row(request, request_hash, now))
            for position, job in enumerate(plan.jobs):
                row = (plan.id, position, job.model_id, labels[job.id][0], served_names[job.id], job.endpoint_id)
                await _insert_job(transaction, job, row, labels[job.id], (request.repeats, now))
                await transaction.many("task_insert", [(t.content_hash(), t.id, dump_task(t)) for t in job.tasks])
            await add_event(transaction, now, plan.id, "queued", {"planned": plan.planned})
            portions = _portions(plan)
            await transaction.many("attempt_insert", next(portions, []))
            if plan.planned > PORTION:
                await transaction.run("run_making", plan.id, 1)
                await hold(transaction, self._clock, plan.id)
        if plan.planned > PORTION:
            await self._write_rest(plan.id, portions)
        return plan.id

    async def _write_rest(self, run_id: str, portions: Iterator[list[tuple[object, ...]]]) -> None:
        """The attempts that are left, unless the run is cancelled meanwhile; then it may begin."""
        for rows in portions:
            async with self._database.transaction() as transaction:
                if await transaction.one("run_is_making", run_id) is None:
                    return
                await hold(transaction, self._clock, run_id)
                await transaction.many("attempt_insert", rows)
        async with self._database.transaction() as transaction:
            await transaction.run("run_cancel_left_behind", run_id)  # of jobs that ended meanwhile
            if await transaction.one("run_is_making", run_id):
                await transaction.run("run_making", run_id, 0)
            await let_go(transaction, run_id)

    async def _give_up(self, run_id: str) -> None:
        """What was interrupted half way ends now; where that cannot be written either, others see to it."""
        with anyio.move_on_after(_GIVING_UP_S, shield=True):
            try:
                async with self._database.transaction() as transaction:
                    if await transaction.one("run_is_making", run_id):
                        await end_cancelled(transaction, run_id, self._clock.utc_now(), _INTERRUPTED)
            except StorageError as error:
                log.error("run %s, written in part, could not be ended: %s", run_id, error)

    async def is_being_written(self, run_id: str) -> bool:
        """Whether attempts of it are still to be written."""
        return await self._database.one("run_is_making", run_id) is not None

    async def end_given_up(self) -> None:
        """Runs that their writers left half written are cancelled: else they would be waited for without end."""
        await end_given_up(self._database, self._clock)

    async def get(self, run_id: str) -> Run | None:
        """One run with its jobs, totals, failures and pace."""
        names = ("run_get", "run_jobs", "run_failures", "run_totals")
        found, jobs, failures, totals = await self._database.look(*((name, run_id) for name in names))
        if not found:
            return None
        run = _run(found[0], totals[0], tuple(map(job_of, jobs)), {row["failure"]: row["n"] for row in failures})
        if run.state not in ("queued", "running"):  # how long a pause lasts, nobody knows
            return run
        return _expected(run, *await self._outlooks.of(run, found[0], totals[0]))

    async def page(self, limit: int, offset: int) -> tuple[list[Run], int]:
        """Runs newest first, without jobs, and how many there are."""
        rows, counts = await self._database.look(("runs_page", limit, offset), ("runs_count",))
        return [_run(row, row, (), {}) for row in rows], counts[0]["n"]

    async def listed(self, wanted: RunFilter, limit: int, offset: int) -> tuple[list[ListedRun], int]:
        """Runs that match, newest first, and how many there are."""
        like = wanted.text and f"%{_unlike(wanted.text.lower())}%"
        where = (wanted.state, wanted.model, wanted.suite, like)
        page = ("runs_listed", *where, limit, offset)
        rows, counts = await self._database.look(page, ("runs_listed_count", *where))
        labels = await self._database.look(*(("run_labels", row["id"]) for row in rows)) if rows else []
        return [_listed(*pair) for pair in zip(rows, labels, strict=True)], counts[0]["n"]

    async def limits(self, run_id: str) -> dict[str, float]:
        """What a run may use at most; empty where it has no limits."""
        row = await self._database.one("run_get", run_id)
        return json.loads(row["limits"]) if row and row["limits"] else {}

    async def unfinished(self) -> int:
        """How many runs still want an executor."""
        row = await self._database.one("runs_unfinished")
        return int(row["n"]) if row else 0

    async def unfinished_ids(self) -> list[str]:
        """The runs that still want an executor, oldest first."""
        return [row["id"] for row in await self._database.all("runs_unfinished_ids")]

    async def paces(self, model_id: str, endpoint_id: str) -> dict[str, TaskPace]:
        """By task id, what it took that model there before."""
        rows = await self._database.all("history_paces", model_id, endpoint_id)
        return {row["task_id"]: TaskPace(row["mean_s"], row["answer_tokens"]) for row in rows}

    async def request_cancel(self, run_id: str, executor_alive: bool) -> None:
        """Stop a run: what is pending ends now; what is in flight by the executor, if one lives."""
        async with self._database.transaction() as transaction:
            if not await transaction.run("run_request_cancel", run_id):
                return
            await transaction.run("run_cancel_pending_attempts", run_id)
            working = await transaction.one("run_jobs_at_work", run_id)
            if not executor_alive or not (working and working["n"]):
                await end_cancelled(transaction, run_id, self._clock.utc_now())

    async def cancel_on(self, device: str, run_id: str | None) -> list[str]:
        """Stop what open runs, or one of them, have on a device; the rest of them goes on. Returns whose jobs ended.

        The executor stops work on jobs that are open no more.
        """
        async with self._database.transaction() as transaction:
            rows = await transaction.all("device_open_runs", device)
            runs = [row["run_id"] for row in rows if run_id in (None, row["run_id"])]
            for each in runs:
                await transaction.run("device_cancel_attempts", each, device)
                await transaction.run("device_cancel_jobs", each, device, f"cancelled on request, with all on {device}")
                left = await transaction.one("run_open_jobs", each)
                if left and not left["n"]:
                    await end_cancelled(transaction, each, self._clock.utc_now())
        return runs


async def end_given_up(database: Database, clock: Clock, fence: Fence | None = None) -> None:
    """Cancel the runs that nobody goes on writing. Raises LeaseLost."""
    if given_up(await database.all("runs_being_written"), clock):
        async with database.transaction(fence) as transaction:
            await _end_given_up(transaction, clock)


async def _end_given_up(transaction: Transaction, clock: Clock) -> None:
    for run_id in given_up(await transaction.all("runs_being_written"), clock):
        await end_cancelled(transaction, run_id, clock.utc_now(), _INTERRUPTED)


async def end_cancelled(transaction: Transaction, run_id: str, now: str, why: str = "cancelled on request") -> None:
    """Bring a run with everything in it to its end: cancelled, unless it was whole before something was done again.

    One that is not written whole never will be: its idempotency key is free for another.
    """
    regraded = await transaction.run("regrade_give_up", run_id)
    await transaction.run("regrade_forget_hashes", run_id)
    await transaction.run("scores_tidy", run_id)
    await transaction.run("run_cancel_all_attempts", run_id)
    await transaction.run("run_cancel_jobs", run_id)
    await transaction.run("run_free_key", run_id)
    await let_go(transaction, run_id)
    totals = await transaction.one("run_totals", run_id)
    assert totals is not None, "sums give one row"
    state = end_of(totals)
    reason = why if state == "cancelled" else await _why_whole(transaction, run_id, regraded)
    if await transaction.run("run_finished", run_id, state, reason, now):
        await add_event(transaction, now, run_id, state, {})


async def _why_whole(transaction: Transaction, run_id: str, regraded: int) -> str:
    """What a cancelled run was at that had every verdict already."""
    if regraded:
        return "grading again was cancelled"
    if await transaction.one("run_looks_cancelled", run_id):
        return "asking failed attempts again was cancelled"
    return "cancelled on request, with nothing left to grade"


def end_of(totals: Row) -> RunState:
    """How a run with these totals has ended."""
    if totals["done"] + totals["errors"] < totals["planned"]:
        return "cancelled"
    return "completed" if totals["done"] else "failed"


async def add_event(transaction: Transaction, now: str, run_id: str, kind: str, data: Mapping[str, object]) -> None:
    """Append to the run's history."""
    await transaction.run("event_insert", now, run_id, kind, dump(dict(data)))


async def _earlier(transaction: Transaction, key: str | None, request_hash: str, alone_among: str | None) -> str | None:
    """The run that is there in place of a new one."""
    same = await transaction.one("run_by_idempotency_key", key) if key else None
    if same:
        return _same_request(same, request_hash)
    other = await transaction.one("run_open_among", alone_among) if alone_among else None
    return str(other["id"]) if other else None


def _same_request(earlier: Row, request_hash: str) -> str:
    if earlier["request_hash"] != request_hash:
        raise ConflictError(
            f"The idempotency key was used for a different request (run {earlier['id']}).",
            "Use a new key for a new request.",
        )
    return str(earlier["id"])


async def _insert_job(
    transaction: Transaction,
    job: PlannedJob,
    row: tuple[object, ...],
    label: tuple[str, str, str],
    extent: tuple[int, str],
) -> None:
    sampling = dump_sampling(job.sampling)
    identity = short_hash(
        [job.manifest.get("model_digest") or [job.endpoint_id, row[4]], job.manifest.get("quantisation")]
    )
    keys = (sampling, short_hash(job.sampling.as_dict()), identity, dump(dict(job.manifest)))
    repeats, now = extent
    await transaction.run("job_insert", job.id, *row, label[1], label[2], job.suite, *keys, job.planned(repeats), now)


def _run_row(request: RunRequest, request_hash: str, now: str) -> tuple[object, ...]:
    limits = dump(request.limits.as_dict()) if request.limits.as_dict() else None
    facts = (dump(request_facts(request)), request_hash, request.priority, int(request.keep_loaded))
    return (request.idempotency_key, *facts, limits, now)


def _portions(plan: RunPlan) -> Iterator[list[tuple[object, ...]]]:
    """The rows of all attempts, numbered through, PORTION at a time."""
    rows: list[tuple[object, ...]] = []
    number = 0
    for job in plan.jobs:
        hashes = {task.id: task.content_hash() for task in job.tasks}
        for task, repeat in job.asks(plan.request.repeats):
            number += 1
            rows.append((new_id("att"), plan.id, job.id, number, task.id, hashes[task.id], repeat))
            if len(rows) == PORTION:
                yield rows
                rows = []
    if rows:
        yield rows


def job_of(row: Row) -> Job:
    """A job from its row, whose columns are named as the fields."""
    told = {**row, "sampling": load_sampling(row["sampling"]), "keep_loaded": bool(row["keep_loaded"])}
    return Job(*_job_fields(told))


def _unlike(text: str) -> str:
    """The text as a pattern that matches nothing but itself."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _listed(row: Row, labels: Sequence[Row]) -> ListedRun:
    names = [tuple(dict.fromkeys(label[name] for label in labels)) for name in ("model_name", "suite")]
    return ListedRun(_run(row, row, (), {}), *names)


def _expected(run: Run, needed: Needed | None, other: Row | None) -> Run:
    """With the time it has left; the work of another run that goes first is not counted in it."""
    seconds = round(needed.seconds, 1) if needed is not None else None
    if needed is not None and needed.is_whole and other is None:
        run = replace(run, eta_s=seconds)
    elif seconds:
        run = replace(run, least_left_s=seconds)
    if other is None or run.state != "queued" or run.reason is not None:
        return run
    return replace(run, reason=f"waits for run {other['run_id']}, which is at work on {other['device']}")


def _run(row: Row, totals: Row, jobs: Sequence[Job], failures: dict[str, int]) -> Run:
    names = ("id", "state", "reason", "created_at", "started_at", "finished_at", "interrupted")
    counts: dict[str, Any] = {name: totals[name] for name in ("planned", "done", "errors", "passed", "tokens")}
    mean_s = totals.get("mean_s")
    rate = round(60 / mean_s, 2) if mean_s else None
    facts = {name: row[name] for name in names}
    if row["making"] and row["state"] in OPEN_RUN_STATES:
        facts["reason"] = f"being written: {row['written'] or 0} of {counts['planned']}"
    return Run(**facts, **counts, jobs=tuple(jobs), failures=failures, attempts_per_minute=rate)
