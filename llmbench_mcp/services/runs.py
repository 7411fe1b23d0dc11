"""Runs: start, follow, read, cancel. Nothing here asks a model: the executor does."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import get_args

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.attempt import AttemptRecord, check_failure
from llmbench_mcp.domain.errors import InputError, NotFoundError, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import CUSTOM_SUITE, ListedRun, Run, RunEvent, RunFilter, RunRequest, RunState, run_limits
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.services.estimates import estimate
from llmbench_mcp.services.executors import Executors
from llmbench_mcp.services.planning import Planned, Planner
from llmbench_mcp.store.attempts import AttemptFilter, AttemptStore
from llmbench_mcp.store.events import EventStore
from llmbench_mcp.store.retries import RetryStore, What
from llmbench_mcp.store.runs import RunStore

_POLL_S = 0.25
_KEEPING_S = 0.25
GIVEN_UP_LOOK_S = 15.0
"""How often an executor looks for runs that were left half written."""
_ENDING_S = 5

OnProgress = Callable[[Run], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Started:
    """What a start answers: the run, whether it was made now, and an estimate in seconds where history gives one.

    ``stops_at``: the limits, in words, that may end it before all that is planned was asked.
    """

    run: Run
    created: bool
    estimate_s: float | None
    remarks: tuple[str, ...] = ()
    stops_at: str | None = None


@dataclass(frozen=True, slots=True)
class RunPreview:
    """A dry run: what would be done. ``stops_at``: the limits, in words, that may end it before."""

    attempts: int
    loads: int
    estimate_s: float | None
    jobs: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    stops_at: str | None = None


@dataclass(frozen=True, slots=True)
class RunStores:
    """What is read and written about runs."""

    runs: RunStore
    attempts: AttemptStore
    retries: RetryStore
    events: EventStore


class Runs:
    """Use cases about runs."""

    def __init__(
        self,
        stores: RunStores,
        planner: Planner,
        executors: Executors,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._store = stores.runs
        self._attempts = stores.attempts
        self._retries = stores.retries
        self._events = stores.events
        self._planner = planner
        self._executors = executors
        self._settings = settings
        self._clock = clock
        self._kept_at = -math.inf

    async def start(self, request: RunRequest) -> Started:
        """Write the run and see that an executor lives; returns at once.

        The same idempotency key with the same request gives the same run, unless that was left half written.

        Raises:
            InputError, EndpointError: as planning; ConflictError for a key used for another request.
        """
        planned = await self._planner.plan(request, self._settings)
        run_id = await self._write(planned)
        await self._executors.ensure()
        run = await self.get(run_id)
        created = run_id == planned.plan.id
        estimate_s = (await self._estimate(planned) if created else None) or run.eta_s
        remark = await self._executors.remark()
        remarks = (*planned.remarks, remark) if remark else planned.remarks
        stops_at = run_limits(await self.limits(run_id)).told(run.planned)  # a retry has lifted them
        return Started(run, created, estimate_s, remarks, stops_at)

    async def start_planned(self, planned: Planned, alone_among: str) -> str:
        """Write a run that was planned already and see that an executor lives; returns its id, or that of one which is
        open under an idempotency key that begins so. Raises ConflictError."""
        run_id = await self._write(planned, alone_among)
        await self._executors.ensure()
        return run_id

    async def preview(self, request: RunRequest) -> RunPreview:
        """What ``start`` would do; nothing is written. Raises as planning."""
        planned = await self._planner.plan(request, self._settings)
        labels = tuple(f"{t.model.name} on {t.endpoint.name}" for t in planned.targets.values())
        loads = len({(t.model.id, t.endpoint.id) for t in planned.targets.values()})
        estimate_s = await self._estimate(planned)
        plan, stops_at = planned.plan, request.limits.told(planned.plan.planned)
        return RunPreview(plan.planned, loads, estimate_s, tuple(dict.fromkeys(labels)), planned.remarks, stops_at)

    async def _write(self, planned: Planned, alone_among: str | None = None) -> str:
        served = {job_id: target.served_name for job_id, target in planned.targets.items()}
        labels = {
            job_id: (target.model.name, target.endpoint.name, target.endpoint.device)
            for job_id, target in planned.targets.items()
        }
        while True:
            run_id = await self._store.create(planned.plan, served, labels, alone_among)
            if run_id == planned.plan.id or not await self._store.is_being_written(run_id):
                return run_id
            await self._clock.sleep(_POLL_S)  # by another: it becomes whole, or is given up and made anew

    async def _estimate(self, planned: Planned) -> float | None:
        places = {(job.model_id, job.endpoint_id) for job in planned.plan.jobs}
        return estimate(planned, {place: await self._store.paces(*place) for place in places})

    async def get(self, run_id: str) -> Run:
        """A run with its progress. Raises NotFoundError with the newest ids."""
        run = await self._store.get(run_id)
        if run is not None:
            return await self._as_it_is(run)
        runs, _ = await self._store.page(20, 0)
        ids = [run.id for run in runs]
        hint = f"Newest runs: {', '.join(ids[:5])}." if ids else "There are no runs yet: call run_start (run start)."
        raise NotFoundError(f"There is no run '{one_line(run_id, 60)}'.", hint, nearest(run_id, ids))

    async def _as_it_is(self, run: Run) -> Run:
        return run if run.is_over else _as_it_is(run, await self._executors.trouble())

    async def page(self, limit: int = 10, offset: int = 0) -> tuple[list[Run], int]:
        """Runs newest first, without jobs, and how many there are."""
        await self._keep_going()
        runs, total = await self._store.page(limit, offset)
        trouble = await self._executors.trouble()
        return [_as_it_is(run, trouble) for run in runs], total

    async def listed(self, wanted: RunFilter, limit: int = 10, offset: int = 0) -> tuple[list[ListedRun], int]:
        """Runs that match, newest first, with what they are about, and how many match. Raises InputError."""
        if wanted.state not in (None, "open", *get_args(RunState)):
            words = ", ".join(("open", *get_args(RunState)))
            raise InputError(f"There is no state '{one_line(str(wanted.state), 40)}' of runs.", f"Use: {words}.")
        await self._keep_going()
        trouble = await self._executors.trouble()
        if trouble is not None and wanted.state in ("queued", "running"):
            return [], 0
        if trouble is not None and wanted.state == "paused":
            wanted = replace(wanted, state="open")
        found, total = await self._store.listed(wanted, limit, offset)
        return [replace(one, run=_as_it_is(one.run, trouble)) for one in found], total

    async def limits(self, run_id: str) -> dict[str, float]:
        """What a run may use at most, by name; empty where it has no limits, as after a retry."""
        return await self._store.limits(run_id)

    async def status(self, run_id: str, wait_s: float = 0, on_progress: OnProgress | None = None) -> Run:
        """A run now, or after its state changed or it ended or ``wait_s`` went by.

        ``on_progress`` is told of every step meanwhile. Cancelling the wait never cancels the run.
        """
        await self._keep_going(waits=wait_s > 0)
        run = await self.get(run_id)
        first, until = run.state, self._clock.monotonic() + wait_s
        seen = -1
        while True:
            if on_progress is not None and run.done + run.errors > seen:
                seen = run.done + run.errors
                await on_progress(run)
            if run.is_over or run.state != first or self._clock.monotonic() >= until:
                return run
            await self._clock.sleep(min(_POLL_S, max(0.01, until - self._clock.monotonic())))
            run = await self.get(run_id)

    async def follow(self, run_id: str, on_progress: OnProgress) -> Run:
        """Wait for the run's end, telling ``on_progress`` of every step."""
        run = await self.get(run_id)
        while not run.is_over:
            run = await self.status(run_id, 5.0, on_progress)
        await on_progress(run)
        return run

    async def events(self, run_id: str, after_seq: int = 0, limit: int = 100, attempts: bool = False) -> list[RunEvent]:
        """What happened to a run after ``after_seq``, oldest first; every single attempt too when asked for.

        Raises NotFoundError.
        """
        await self.get(run_id)
        return await self._events.of_run(run_id, after_seq, limit, attempts)

    async def marks(self, run_ids: Sequence[str]) -> dict[str, int]:
        """By run, a number that grows with everything that happens to it; unknown runs are left out."""
        return await self._events.marks(run_ids)

    async def _keep_going(self, waits: bool = False) -> None:
        """See that an executor lives where there is work; of many callers at once, who only look, one does."""
        now = self._clock.monotonic()
        if not waits and 0 <= now - self._kept_at < _KEEPING_S:
            return
        self._kept_at = now
        await self.end_given_up()
        if await self._store.unfinished():
            await self._executors.ensure()

    async def end_given_up(self) -> None:
        """What a writer left half written ends; where that cannot be written, the look goes on without."""
        if not self._settings.read_only:
            with suppress(StorageError):
                await self._store.end_given_up()

    async def results(
        self, run_id: str, wanted: AttemptFilter, limit: int = 10, offset: int = 0
    ) -> tuple[list[AttemptRecord], int]:
        """A page of attempts and how many match. Raises NotFoundError, also for a failure that there is not."""
        if wanted.failure:
            check_failure(wanted.failure)
        records, total = await self._attempts.page(run_id, wanted, limit, offset)
        if not total:
            await self.get(run_id)  # none that match, or no such run
        return records, total

    async def attempt(self, run_id: str, number: int) -> AttemptRecord:
        """One attempt with its completion. Raises NotFoundError."""
        record = await self._attempts.get(run_id, number)
        if record is None:
            await self.get(run_id)
            least, most, count = await self._attempts.numbers(run_id)
            gaps = "" if count == most - least + 1 else ", not all of which are there: see run_results (run results)"
            hint = f"Use {least} to {most}{gaps}." if count else "It has none any more."
            raise NotFoundError(f"Run {run_id} has no attempt {number}.", hint)
        return record

    async def retry(self, run_id: str, what: What) -> tuple[Run, int]:
        """Queue a run's attempts again; returns the run and how many.

        ``errors``: what has no verdict. ``failed``: wrong answers, to look at only: the first try stays the score.
        ``regrade``: stored completions, by the present validators.

        Raises:
            NotFoundError: no such run. ConflictError: it is not over, or there is nothing to do.
        """
        await self.end_given_up()
        run = await self.get(run_id)
        changed = await self._changed_tasks(run) if what == "regrade" else {}
        count = await self._retries.retry(run_id, what, changed)
        await self._executors.ensure()
        return await self.get(run_id), count

    async def _changed_tasks(self, run: Run) -> dict[str, Task]:
        """By the hash a task had, what is in force now where only its grading changed: the prompt must be the same."""
        present: dict[str, Task] = {}
        for suite in {job.suite for job in run.jobs} - {CUSTOM_SUITE}:
            present |= {task.id: task for task in await self._planner.tasks_of(suite)}
        changed = {}
        for old_hash, old in (await self._retries.tasks(run.id)).items():
            new = present.get(old.id)
            if (
                new is not None
                and (new.prompt, new.system) == (old.prompt, old.system)
                and new.content_hash() != old_hash
            ):
                changed[old_hash] = replace(new, max_tokens=old.max_tokens)
        return changed

    async def cancel_on(self, device: str, run_id: str | None = None) -> list[Run]:
        """Stop what open runs, or the one named, have on a device; their jobs elsewhere go on. Returns the runs hit.

        Raises:
            NotFoundError: no such run, or no endpoint is on that device.
        """
        if run_id is not None:
            await self.get(run_id)
        devices = await self._planner.devices()
        if device not in devices:
            raise NotFoundError(
                f"No endpoint is on a device '{one_line(device, 60)}'.",
                f"Devices in use: {', '.join(devices) or 'none'}.",
                nearest(device, devices),
            )
        return [await self.get(each) for each in await self._store.cancel_on(device, run_id)]

    async def cancel(self, run_id: str) -> Run:
        """Stop a run and keep what is done; harmless on one that is over. Waits up to 5 s for its end."""
        await self.get(run_id)
        return (await self._cancelled([run_id]))[0]

    async def cancel_all(self) -> list[Run]:
        """Stop every run that is not over, as ``cancel`` does one; returns those, oldest first."""
        return await self._cancelled(await self._store.unfinished_ids())

    async def open_count(self) -> int:
        """How many runs are not over; starts nothing."""
        return await self._store.unfinished()

    async def _cancelled(self, run_ids: Sequence[str]) -> list[Run]:
        """Ask all of them to stop, then wait for the end of all, up to 5 s."""
        alive = await self._executors.alive()
        for run_id in run_ids:
            await self._store.request_cancel(run_id, alive)
        with anyio.move_on_after(_ENDING_S):
            for run_id in run_ids:
                while not (await self.get(run_id)).is_over:
                    await self._clock.sleep(0.1)
                    if alive and not await self._executors.alive():  # it died with the request before it
                        await self._store.request_cancel(run_id, False)
        return [await self.get(run_id) for run_id in run_ids]


def _as_it_is(run: Run, trouble: StorageError | None) -> Run:
    """A run that cannot go on because nothing can be written is paused, though nobody could write that."""
    if run.is_over or trouble is None:
        return run
    return replace(run, state="paused", reason=str(trouble), eta_s=None, least_left_s=None)
