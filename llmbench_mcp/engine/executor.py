"""The executor: one per data directory, under a lease; gives every idle device its next job."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

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
from llmbench_mcp.engine.device_lock import device_lock
from llmbench_mcp.engine.energy import EnergyMeter
from llmbench_mcp.engine.job import JobWorker, OutageError, Tools
from llmbench_mcp.engine.regrade import regrade
from llmbench_mcp.engine.sampler import DeviceSampler
from llmbench_mcp.engine.scheduler import Held, Loaded, lane, next_jobs
from llmbench_mcp.engine.tidy import tidy
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.leases import Lease, LeaseStore
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.store.regrading import RegradeStore
from llmbench_mcp.store.work import WorkStore

log = logging.getLogger(__name__)

_POLL_S = 0.25
_LONGEST_POLL_S = 0.5
_LOOK_SHARE = 10
"""A look at a long queue is dear: it may take a tenth of the time."""
_OUTAGE_WAITS_S = (5.0, 10.0, 20.0, 40.0, 60.0)


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

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.residency.settings


@dataclass(slots=True)
class _Active:
    job: OpenJob
    scope: anyio.CancelScope
    worker: JobWorker | None = None


@dataclass(slots=True)
class _State:
    """What a restart may lose."""

    active: dict[str, _Active] = field(default_factory=dict)
    loaded: dict[str, Loaded] = field(default_factory=dict)
    wait_until: dict[str, float] = field(default_factory=dict)
    outages: dict[str, int] = field(default_factory=dict)
    idle_since: float | None = None
    tidying: bool = False
    tidied: bool = False


class Executor:
    """Runs all queued work of one data directory."""

    def __init__(self, parts: Parts, clock: Clock, scope: str) -> None:
        self._parts = parts
        self._clock = clock
        self._scope = scope
        self._state = _State()
        self._draining = False
        self._napping = anyio.CancelScope()

    def drain(self) -> None:
        """Start nothing new, give up loading, finish the answers in flight, then leave."""
        self._draining = True
        for active in self._state.active.values():
            if active.worker is None or active.worker.loading:
                active.scope.cancel()
            else:
                active.worker.draining = True

    async def run(self, idle_exit_s: float | None = None) -> bool:
        """Work until idle for ``idle_exit_s`` (setting by default), drained, or the lease is lost.

        Returns False at once when another executor holds the lease.
        """
        settings = self._parts.settings
        lease = await self._parts.leases.acquire(self._scope, settings.lease_s)
        if lease is None:
            return False
        work = WorkStore(self._parts.database, self._clock, lease)
        idle = settings.idle_exit_s if idle_exit_s is None else idle_exit_s
        log.info("executor %s started with fence %d", lease.owner, lease.fence)
        try:
            with _lease_loss_logged():
                await self._hold(lease, work, idle)
        finally:
            with anyio.move_on_after(5, shield=True):
                await self._parts.leases.release(lease)
        return True

    async def _hold(self, lease: Lease, work: WorkStore, idle_exit_s: float) -> None:
        for run_id in await work.recover():
            log.info("run %s was interrupted; going on", run_id)
        async with anyio.create_task_group() as group:
            group.start_soon(self._heartbeat, lease)
            group.start_soon(self._regrade, lease, work)
            group.start_soon(self._parts.sampler.run, lambda: bool(self._state.active), lease.key)
            began = self._clock.monotonic()
            while not await self._tick(lease, work, group, idle_exit_s):
                await self._nap(self._clock.monotonic() - began)
                began = self._clock.monotonic()
            group.cancel_scope.cancel()

    async def _nap(self, look_s: float) -> None:
        """Until the next look at the queue: longer after a long one, at once when a job ends."""
        with anyio.CancelScope() as self._napping:
            await self._clock.sleep(min(_LONGEST_POLL_S, max(_POLL_S, _LOOK_SHARE * look_s)))

    async def _regrade(self, lease: Lease, work: WorkStore) -> None:
        store = RegradeStore(self._parts.database, self._clock, lease)
        where = Where(host_name(), boot_id(), "none", work.owner)
        while not self._draining:
            try:
                graded = await regrade(store, work, self._parts.grader, where)
            except StorageError as error:
                log.error("grading again has to wait: %s", error)
                graded = 0
            await self._clock.sleep(0 if graded else 4 * _POLL_S)

    async def _heartbeat(self, lease: Lease) -> None:
        ttl = self._parts.settings.lease_s
        while True:
            await self._clock.sleep(ttl / 4)
            try:
                await self._parts.leases.renew(lease, ttl)
            except StorageError as error:
                # A full disk or a lock may pass; if it does not, the lease runs out and the fence stops us.
                log.error("the lease could not be renewed: %s", error)

    async def _tick(self, lease: Lease, work: WorkStore, group: TaskGroup, idle_exit_s: float) -> bool:
        """One look at the queue; True when it is time to leave."""
        try:
            await self._cancel_requested(work)
            jobs = await work.open_jobs()
            self._stop_what_is_over(jobs)
        except StorageError as error:
            log.error("cannot read the queue: %s", error)
            await self._clock.sleep(5)
            return False
        if self._draining:
            return not self._state.active
        for job in self._picks(jobs):
            scope = anyio.CancelScope()
            self._state.active[job.id] = _Active(job, scope)
            group.start_soon(self._work_on, job, work, scope)
        if not jobs and not self._state.active and not self._state.tidied:
            self._state.tidied = self._state.tidying = True
            group.start_soon(self._tidy)
        return await self._is_idle(lease, bool(jobs), idle_exit_s)

    async def _tidy(self) -> None:
        """Nothing is wanted any more: what cancelled and failed jobs left loaded is unloaded."""
        try:
            await tidy(self._parts.residency, self._parts.leases)
        except StorageError as error:
            log.error("what is loaded could not be looked up: %s", error)
        finally:
            self._state.tidying = False

    def _stop_what_is_over(self, jobs: list[OpenJob]) -> None:
        """A job at work that is open no more was cancelled, or has just ended: its work stops."""
        still_open = {job.id for job in jobs}
        for active in self._state.active.values():
            if active.job.id not in still_open:
                active.scope.cancel()

    def _picks(self, jobs: list[OpenJob]) -> list[OpenJob]:
        state, now = self._state, self._clock.monotonic()
        busy = {lane(active.job) for active in state.active.values()}
        waiting = {job_id for job_id, until in state.wait_until.items() if until > now}
        now_s = datetime.fromisoformat(self._clock.utc_now()).timestamp()
        return next_jobs(jobs, busy, state.loaded, Held(waiting, state.outages), now_s)

    async def _is_idle(self, lease: Lease, has_jobs: bool, idle_exit_s: float) -> bool:
        if has_jobs or self._state.active or self._state.tidying:
            self._state.idle_since = None
            self._state.tidied = self._state.tidied and not has_jobs
            return False
        now = self._clock.monotonic()
        if self._state.idle_since is None:
            self._state.idle_since = now
        if now - self._state.idle_since < idle_exit_s:
            return False
        return await self._parts.leases.release_when_idle(lease)

    async def _cancel_requested(self, work: WorkStore) -> None:
        for run_id in await work.cancel_requests():
            flying = [active for active in self._state.active.values() if active.job.run_id == run_id]
            for active in flying:
                active.scope.cancel()
            if not flying:
                await work.end_cancelled(run_id)
                log.info("run %s cancelled", run_id)

    async def _work_on(self, job: OpenJob, work: WorkStore, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._guarded(job, work)
            if scope.cancelled_caught and self._draining:
                await work.job_released(job)
        except* StorageError as group:
            log.error("job %s: its state could not be stored: %s", job.id, _leaf(group))
            self._hold_back(job, 10.0)
        finally:
            del self._state.active[job.id]
            self._napping.cancel()

    async def _guarded(self, job: OpenJob, work: WorkStore) -> None:
        """The top-level handler of a job: whatever goes wrong ends or postpones this job and no other."""
        try:
            await self._run_job(job, work)
            self._state.outages.pop(job.id, None)
        except* OutageError as group:
            await self._postpone(job, work, _leaf(group))
        except* LeaseLost:
            raise
        except* DeviceBusy:
            self._hold_back(job, 1.0)
        except* StorageError as group:
            log.error("job %s: %s", job.id, _leaf(group))
            self._hold_back(job, 10.0)
        except* BenchError as group:
            await work.job_ended(job, "failed", str(_leaf(group)), "provider_error")
        except* Exception as group:
            log.exception("job %s failed for a reason of our own", job.id)
            reason = f"internal error: {type(_leaf(group)).__name__}; see the executor's log"
            await work.job_ended(job, "failed", reason, "validator_error")

    async def _run_job(self, open_job: OpenJob, work: WorkStore) -> None:
        job = await work.job(open_job.id)
        endpoint = await self._parts.residency.endpoints.find(job.endpoint_id)
        if endpoint is None:
            await work.job_ended(job, "failed", f"endpoint {job.endpoint} was removed", "not_available")
            return
        await work.reset_job(job)
        ttl_s = self._parts.settings.lease_s
        async with device_lock(self._parts.leases, self._clock, job.device, job.endpoint_id, ttl_s) as lease:
            room, parts = residency.Residency(self._parts.residency, lease), self._parts
            tools = Tools(work, parts.models, parts.grader, room, parts.settings, self._clock, parts.meter)
            self._state.loaded[lane(open_job)] = (job.endpoint_id, job.served_name)
            await self._worked(job, endpoint, tools)

    async def _worked(self, job: Job, endpoint: Endpoint, tools: Tools) -> None:
        backend = self._parts.residency.backends.open(endpoint)
        where = Where(host_name(), boot_id(), job.device, tools.work.owner)
        worker = JobWorker(tools, backend, endpoint, job, where)
        self._state.active[job.id].worker = worker
        try:
            await worker.run()
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()

    async def _postpone(self, job: OpenJob, work: WorkStore, error: BaseException) -> None:
        assert isinstance(error, OutageError), "only outages are postponed"
        lasted = await work.job_postponed(job, str(error.cause))
        if lasted > self._parts.settings.outage_limit_s:
            reason = f"gave up after {lasted:.0f} s: {error.cause}"
            await work.job_ended(job, "blocked", reason, error.cause.word)
            return
        count = self._state.outages.get(job.id, 0)
        self._state.outages[job.id] = count + 1
        wait = _OUTAGE_WAITS_S[min(count, len(_OUTAGE_WAITS_S) - 1)]
        log.warning("job %s waits %.0f s: %s", job.id, wait, error.cause)
        self._hold_back(job, wait)

    def _hold_back(self, job: OpenJob, seconds: float) -> None:
        self._state.wait_until[job.id] = self._clock.monotonic() + seconds


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@contextmanager
def _lease_loss_logged() -> Iterator[None]:
    try:
        yield
    except* LeaseLost as group:
        log.error("leaving: %s", _leaf(group))
