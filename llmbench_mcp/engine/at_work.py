"""Jobs at work: started, guarded against whatever goes wrong in them, stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.attempt import Where
from llmbench_mcp.domain.clock import boot_id, host_name
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import BenchError, DeviceBusy, LeaseLost, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import Job, OpenJob
from llmbench_mcp.engine import residency
from llmbench_mcp.engine.chores import Chore
from llmbench_mcp.engine.device_lock import device_lock
from llmbench_mcp.engine.energy import EnergyMeter
from llmbench_mcp.engine.job import JobWorker, OutageError, Tools
from llmbench_mcp.engine.postpone import Waiting
from llmbench_mcp.engine.pulse import Pulse
from llmbench_mcp.engine.sampler import DeviceSampler
from llmbench_mcp.engine.scheduler import Loaded, lane
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.store.work import WorkStore

log = logging.getLogger(__name__)

_DEVICE_BUSY_S = 1.0
_STORAGE_S = 10.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What the executor is built from."""

    database: Database
    leases: LeaseStore
    models: ModelStore
    grader: Grader
    residency: residency.Parts
    meter: EnergyMeter
    sampler: DeviceSampler
    chores: Sequence[Chore] = ()
    """What else is to be done while an executor lives."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.residency.settings


@dataclass(slots=True)
class _Active:
    job: OpenJob
    scope: anyio.CancelScope
    worker: JobWorker | None = None


class AtWork:
    """The jobs that one executor works on now.

    Args:
        on_end: called whenever a job has stopped.
    """

    def __init__(self, parts: Parts, clock: Clock, work: WorkStore, pulse: Pulse, on_end: Callable[[], None]) -> None:
        self._parts = parts
        self._clock = clock
        self._work = work
        self._pulse = pulse
        self._on_end = on_end
        self._active: dict[str, _Active] = {}
        self._draining = False
        self.waiting = Waiting(clock, parts.settings.outage_limit_s)
        self.loaded: dict[str, Loaded] = {}
        """By lane, the model it ran last."""

    def __len__(self) -> int:
        return len(self._active)

    @property
    def lanes(self) -> set[str]:
        """What is in use."""
        return {lane(active.job) for active in self._active.values()}

    def start(self, job: OpenJob, group: TaskGroup) -> None:
        """Begin a job."""
        self._active[job.id] = active = _Active(job, anyio.CancelScope())
        group.start_soon(self._work_on, active)

    def drain(self) -> None:
        """Give up loading, finish the answers in flight."""
        self._draining = True
        for active in self._active.values():
            if active.worker is None or active.worker.loading:
                active.scope.cancel()
            else:
                active.worker.draining = True

    def stop_run(self, run_id: str) -> bool:
        """Stop a run's work; False when none of it is at work any more."""
        flying = [active for active in self._active.values() if active.job.run_id == run_id]
        for active in flying:
            active.scope.cancel()
        return bool(flying)

    def stop_others(self, open_ids: Collection[str]) -> None:
        """A job at work that is open no more was cancelled, or has just ended: its work stops, and it waits no more."""
        self.waiting.keep(open_ids)
        for active in self._active.values():
            if active.job.id not in open_ids:
                active.scope.cancel()

    async def _work_on(self, active: _Active) -> None:
        job = active.job
        try:
            with active.scope:
                await self._guarded(active)
            if active.scope.cancelled_caught and self._draining:
                await self._work.job_released(job)
        except* StorageError as group:
            log.error("job %s: its state could not be stored: %s", job.id, leaf(group))
            self.waiting.hold_back(job.id, _STORAGE_S)
        finally:
            del self._active[job.id]
            self._on_end()

    async def _guarded(self, active: _Active) -> None:
        """The top-level handler of a job: whatever goes wrong ends or postpones this job and no other."""
        job, work = active.job, self._work
        try:
            await self._run_job(active)
            self.waiting.well(job.id)
        except* OutageError as group:
            await self._postpone(active, leaf(group))
        except* LeaseLost:
            raise
        except* DeviceBusy:
            self.waiting.hold_back(job.id, _DEVICE_BUSY_S)
        except* StorageError as group:
            await self._pause_for_storage(job, leaf(group))
        except* BenchError as group:
            await work.job_ended(job, "failed", str(leaf(group)), "provider_error")
        except* Exception as group:
            log.exception("job %s failed for a reason of our own", job.id)
            reason = f"internal error: {type(leaf(group)).__name__}; see the executor's log"
            await work.job_ended(job, "failed", reason, "validator_error")

    async def _run_job(self, active: _Active) -> None:
        await self._parts.database.check_room()
        job = await self._work.job(active.job.id)
        endpoint = await self._parts.residency.endpoints.find(job.endpoint_id)
        if endpoint is None:
            await self._work.job_ended(job, "failed", f"endpoint {job.endpoint} was removed", "not_available")
            return
        await self._work.reset_job(job)
        ttl_s = self._parts.settings.lease_s
        async with device_lock(self._parts.leases, self._clock, job.device, job.endpoint_id, ttl_s) as lease:
            self.loaded[lane(active.job)] = (job.endpoint_id, job.served_name)
            tools = self._tools(residency.Residency(self._parts.residency, lease))
            await self._worked(active, job, endpoint, tools)

    def _tools(self, room: residency.Residency) -> Tools:
        parts = self._parts
        return Tools(
            work=self._work,
            models=parts.models,
            grader=parts.grader,
            residency=room,
            settings=parts.settings,
            clock=self._clock,
            meter=parts.meter,
            pulse=self._pulse,
            endpoints=parts.residency.endpoints,
            check_room=parts.database.check_room,
        )

    async def _worked(self, active: _Active, job: Job, endpoint: Endpoint, tools: Tools) -> None:
        backend = self._parts.residency.backends.open(endpoint)
        where = Where(host_name(), boot_id(), job.device, tools.work.owner)
        active.worker = JobWorker(tools, backend, endpoint, job, where)
        try:
            await active.worker.run()
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()

    async def _postpone(self, active: _Active, error: BaseException) -> None:
        assert isinstance(error, OutageError), "only outages are postponed"
        job, cause = active.job, error.cause
        await self._work.job_postponed(job, str(cause))
        answered = active.worker is not None and active.worker.was_ready
        lasted, wait = self.waiting.outage(job.id, cause, answered)
        if wait is None:
            await self._work.job_ended(job, "blocked", f"gave up after {lasted:.0f} s: {cause}", cause.word)
            return
        log.warning("job %s waits %.0f s: %s", job.id, wait, cause)

    async def _pause_for_storage(self, job: OpenJob, error: BaseException) -> None:
        """Nothing more is asked until results can be stored again; where not even that can be written, readers see it
        by themselves."""
        log.error("job %s waits %.0f s: %s", job.id, _STORAGE_S, error)
        self.waiting.hold_back(job.id, _STORAGE_S)
        try:
            await self._work.job_postponed(job, str(error))
        except StorageError as again:
            log.error("job %s: that it waits could not be stored: %s", job.id, again)


def leaf(error: BaseException) -> BaseException:
    """The first error inside nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
