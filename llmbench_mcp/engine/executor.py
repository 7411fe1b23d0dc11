"""The executor: one per data directory, under a lease; gives every idle device its next job."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from llmbench_mcp.domain.attempt import Where
from llmbench_mcp.domain.clock import boot_id, host_name
from llmbench_mcp.domain.errors import LeaseLost, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import OpenJob
from llmbench_mcp.engine.at_work import AtWork, Parts, leaf
from llmbench_mcp.engine.chores import see_to
from llmbench_mcp.engine.pulse import Pulse
from llmbench_mcp.engine.regrade import regrade
from llmbench_mcp.engine.scheduler import next_jobs
from llmbench_mcp.engine.tidy import tidy
from llmbench_mcp.store.leases import Lease
from llmbench_mcp.store.regrading import RegradeStore
from llmbench_mcp.store.work import WorkStore

__all__ = ["Executor", "Parts"]

log = logging.getLogger(__name__)

_POLL_S = 0.25
_LONGEST_POLL_S = 0.5
_LOOK_SHARE = 10
"""A look at a long queue is dear: it may take a tenth of the time."""
_CANCEL_POLL_S = 0.2
_STORAGE_S = 5.0


class _Nap:
    """A sleep that can be ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scope = anyio.CancelScope()

    async def sleep(self, seconds: float) -> None:
        with anyio.CancelScope() as self._scope:
            await self._clock.sleep(seconds)

    def end(self) -> None:
        self._scope.cancel()


@dataclass(slots=True)
class _Hold:
    """One time of holding the lease. All of it may be lost with a restart."""

    lease: Lease
    work: WorkStore
    at_work: AtWork
    pulse: Pulse
    idle_exit_s: float
    between_looks: _Nap
    between_cancels: _Nap
    idle_since: float | None = None
    tidying: bool = False
    tidied: bool = False


class Executor:
    """Runs all queued work of one data directory."""

    def __init__(self, parts: Parts, clock: Clock, scope: str) -> None:
        self._parts = parts
        self._clock = clock
        self._scope = scope
        self._draining = False
        self._at_work: AtWork | None = None

    def drain(self) -> None:
        """Start nothing new, give up loading, finish the answers in flight, then leave."""
        self._draining = True
        if self._at_work is not None:
            self._at_work.drain()

    async def run(self, idle_exit_s: float | None = None) -> bool:
        """Work until idle for ``idle_exit_s`` (setting by default), drained, or the lease is lost.

        Returns False at once when another executor holds the lease.
        """
        settings = self._parts.settings
        lease = await self._parts.leases.acquire(self._scope, settings.lease_s)
        if lease is None:
            return False
        log.info("executor %s started with fence %d", lease.owner, lease.fence)
        try:
            with _lease_loss_logged():
                await self._work(self._hold(lease, settings.idle_exit_s if idle_exit_s is None else idle_exit_s))
        finally:
            with anyio.move_on_after(5, shield=True):
                await self._parts.leases.release(lease)
        return True

    def _hold(self, lease: Lease, idle_exit_s: float) -> _Hold:
        work = WorkStore(self._parts.database, self._clock, lease)
        naps = (_Nap(self._clock), _Nap(self._clock))
        pulse = Pulse(self._clock, self._parts.settings.lease_s)

        def wake() -> None:
            for nap in naps:
                nap.end()

        self._at_work = AtWork(self._parts, self._clock, work, pulse, wake)
        return _Hold(lease, work, self._at_work, pulse, idle_exit_s, *naps)

    async def _work(self, hold: _Hold) -> None:
        for run_id in await hold.work.recover():
            log.info("run %s was interrupted; going on", run_id)
        await hold.work.end_half_written()
        async with anyio.create_task_group() as group:
            group.start_soon(self._heartbeat, hold)
            group.start_soon(self._heed_cancels, hold)
            group.start_soon(self._regrade, hold)
            group.start_soon(self._parts.sampler.run, lambda: bool(hold.at_work), hold.lease.key)
            for chore in self._parts.chores:
                group.start_soon(see_to, chore, self._clock)
            began = self._clock.monotonic()
            while not await self._tick(hold, group):
                # Longer after a long look at the queue, and at once when a job ends.
                look_s = self._clock.monotonic() - began
                await hold.between_looks.sleep(min(_LONGEST_POLL_S, max(_POLL_S, _LOOK_SHARE * look_s)))
                began = self._clock.monotonic()
            group.cancel_scope.cancel()

    async def _heartbeat(self, hold: _Hold) -> None:
        ttl = self._parts.settings.lease_s
        while True:
            await self._clock.sleep(ttl / 4)
            if (gap := hold.pulse.beat()) > 0:
                log.warning("this process stood still for %.0f s: what was in flight is asked again", gap)
            if not await self._parts.database.is_in_place():
                # Its runs are gone, and another executor may be at work on the devices for what took its place.
                raise LeaseLost(f"{self._parts.database.path} was removed or replaced by another file.")
            try:
                await self._parts.leases.renew(hold.lease, ttl)
            except StorageError as error:
                # A full disk or a lock may pass; if it does not, the lease runs out and the fence stops us.
                log.error("the lease could not be renewed: %s", error)

    async def _heed_cancels(self, hold: _Hold) -> None:
        """Apart from the look at the queue, which takes longer the more there is to do."""
        while True:
            try:
                await _cancel_requested(hold)
            except StorageError as error:
                log.error("requests to cancel could not be heeded: %s", error)
            await hold.between_cancels.sleep(_CANCEL_POLL_S)

    async def _regrade(self, hold: _Hold) -> None:
        store = RegradeStore(self._parts.database, self._clock, hold.lease)
        where = Where(host_name(), boot_id(), "none", hold.work.owner)
        while not self._draining:
            try:
                graded = await regrade(store, hold.work, self._parts.grader, where)
            except StorageError as error:
                log.error("grading again has to wait: %s", error)
                graded = 0
            await self._clock.sleep(0 if graded else 4 * _POLL_S)

    async def _tick(self, hold: _Hold, group: TaskGroup) -> bool:
        """One look at the queue; True when it is time to leave."""
        try:
            jobs = await hold.work.open_jobs()
            hold.at_work.stop_others({job.id for job in jobs})
            if self._draining:
                await _cancel_requested(hold)
                return not hold.at_work
            for job in self._picks(hold.at_work, jobs):
                hold.at_work.start(job, group)
            if not jobs and not hold.at_work and not hold.tidied:
                hold.tidied = hold.tidying = True
                group.start_soon(self._tidy, hold)
            return await self._is_idle(hold, bool(jobs))
        except StorageError as error:
            log.error("cannot use the queue: %s", error)
            await self._clock.sleep(_STORAGE_S)
            return self._draining and not hold.at_work

    def _picks(self, at_work: AtWork, jobs: list[OpenJob]) -> list[OpenJob]:
        now_s = datetime.fromisoformat(self._clock.utc_now()).timestamp()
        return next_jobs(jobs, at_work.lanes, at_work.loaded, at_work.waiting.held(), now_s)

    async def _tidy(self, hold: _Hold) -> None:
        """Nothing is wanted any more: what cancelled and failed jobs left loaded is unloaded."""
        try:
            await tidy(self._parts.residency, self._parts.leases)
        except StorageError as error:
            log.error("what is loaded could not be looked up: %s", error)
        finally:
            hold.tidying = False

    async def _is_idle(self, hold: _Hold, has_jobs: bool) -> bool:
        if has_jobs or hold.at_work or hold.tidying:
            hold.idle_since = None
            hold.tidied = hold.tidied and not has_jobs
            return False
        now = self._clock.monotonic()
        if hold.idle_since is None:
            hold.idle_since = now
        if now - hold.idle_since < hold.idle_exit_s:
            return False
        await hold.work.end_half_written()
        return await self._parts.leases.release_when_idle(hold.lease)


async def _cancel_requested(hold: _Hold) -> None:
    for run_id in await hold.work.cancel_requests():
        if not hold.at_work.stop_run(run_id):
            await hold.work.end_cancelled(run_id)
            log.info("run %s cancelled", run_id)


@contextmanager
def _lease_loss_logged() -> Iterator[None]:
    try:
        yield
    except* LeaseLost as group:
        log.error("leaving: %s", leaf(group))
