"""Figures for monitoring: what is going on, and what has been done since this process began to count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio

from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Clock, DeviceReader
from llmbench_mcp.services.executors import Executors
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.metrics import FailureTally, JobTally, Look, MetricsStore, SpeedKey, SpeedSums

MOST_PAIRS = 200
"""So many pairs of endpoint and model are told apart; what comes later counts as ``OTHER``."""
OTHER = "other"
_FRESH_S = 1.0
_OVERLAP = timedelta(seconds=10)
"""So far back a look takes runs that ended: the clocks of several processes are not one."""

_SUMS = ("decode_sum", "decode_n", "ttft_sum", "ttft_n")

Pair = tuple[str, str]
"""Endpoint and model, as they are named."""


@dataclass(slots=True)
class Totals:
    """What grew since counting began."""

    attempts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By endpoint, model and outcome: passed, failed, error."""
    tokens: Counter[Pair] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By endpoint and failure."""
    speeds: dict[Pair, SpeedSums] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """One look."""

    look: Look
    totals: Totals
    endpoints: Sequence[Endpoint]
    devices: Sequence[Device]
    executor_alive: bool


class Metrics:
    """Use cases of monitoring.

    Totals begin at 0 with the first look and never fall, whatever is removed from the database meanwhile: what a
    Prometheus counter must be.
    """

    def __init__(
        self, store: MetricsStore, endpoints: EndpointStore, devices: DeviceReader, executors: Executors, clock: Clock
    ) -> None:
        self._store = store
        self._endpoints = endpoints
        self._devices = devices
        self._executors = executors
        self._clock = clock
        self._lock = anyio.Lock()
        self._ledger: _Ledger | None = None
        self._last: tuple[float, Figures] | None = None
        self._looked_at = ""

    async def look(self) -> Figures:
        """The figures, at most a second old."""
        async with self._lock:
            if self._last is None or self._clock.monotonic() - self._last[0] >= _FRESH_S:
                figures = await self._look()
                self._last = (self._clock.monotonic(), figures)
            return self._last[1]

    async def _look(self) -> Figures:
        now = self._clock.utc_now()
        if self._ledger is None:
            self._ledger = _Ledger(now)
        since = _earlier(self._looked_at or now)
        found = await self._store.look(since)
        while any(job.id not in found.job_speeds for job in self._ledger.young(found)):
            # All at one moment: what ends between two would count twice.
            found = await self._store.look(since, [job.id for job in self._ledger.young(found)])
        self._looked_at = now
        self._ledger.enter(found)
        return Figures(
            found,
            self._ledger.totals,
            await self._endpoints.all(),
            await self._devices.read(),
            await self._executors.alive(),
        )


def _earlier(at: str) -> str:
    return (datetime.fromisoformat(at) - _OVERLAP).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Ledger:
    """Turns running totals of jobs, which come and go, into totals that only grow."""

    def __init__(self, since: str) -> None:
        self.totals = Totals()
        self._since = since
        self._jobs: dict[str, JobTally] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._speeds: dict[SpeedKey, SpeedSums] = {}
        self._pairs: set[Pair] = set()

    def young(self, look: Look) -> list[JobTally]:
        """Jobs made since counting began whose sums of speeds are seen for the first time: of those sums, only what
        these jobs gave counts."""
        return [
            job
            for job in look.jobs
            if job.key in look.speeds and job.key not in self._speeds and job.created_at >= self._since
        ]

    def enter(self, look: Look) -> None:
        for job in self.young(look):
            endpoint, model, _ = look.speeds[job.key]
            self._add(self._pair(endpoint, model), look.job_speeds[job.id])
        for job in look.jobs:
            self._enter_job(job)
        for failure in look.failures:
            self._enter_failure(failure)
        for key, (endpoint, model, sums) in look.speeds.items():
            self._enter_speeds(key, self._pair(endpoint, model), sums)
        # What is not seen any more has ended; should it come back, it begins where it is then.
        self._jobs = {job.id: job for job in look.jobs}
        self._failures = {(one.job_id, one.failure): one.count for one in look.failures}

    def _enter_job(self, job: JobTally) -> None:
        before = self._jobs.get(job.id)
        if before is None and job.created_at < self._since:
            return
        endpoint, model = self._pair(job.endpoint, job.model)
        done, passed, errors, tokens = (0, 0, 0, 0)
        if before is not None:
            done, passed, errors, tokens = before.done, before.passed, before.errors, before.tokens
        more = {
            "passed": job.passed - passed,
            "failed": (job.done - job.passed) - (done - passed),
            "error": job.errors - errors,
        }
        for outcome, count in more.items():
            self.totals.attempts[endpoint, model, outcome] += max(0, count)
        self.totals.tokens[endpoint, model] += max(0, job.tokens - tokens)

    def _enter_failure(self, failure: FailureTally) -> None:
        before = self._failures.get((failure.job_id, failure.failure))
        if before is None:
            seen = failure.job_id in self._jobs or failure.created_at >= self._since
            before = 0 if seen else failure.count
        self.totals.failures[failure.endpoint, failure.failure] += max(0, failure.count - before)

    def _enter_speeds(self, key: SpeedKey, pair: Pair, sums: SpeedSums) -> None:
        before = self._speeds.get(key, sums)
        self._speeds[key] = sums
        grown = {name: max(0, getattr(sums, name) - getattr(before, name)) for name in _SUMS}
        self._add(pair, SpeedSums(**grown))

    def _add(self, pair: Pair, more: SpeedSums) -> None:
        total = self.totals.speeds.get(pair, SpeedSums())
        self.totals.speeds[pair] = SpeedSums(**{name: getattr(total, name) + getattr(more, name) for name in _SUMS})

    def _pair(self, endpoint: str, model: str) -> Pair:
        pair = (endpoint, model)
        if pair not in self._pairs and len(self._pairs) >= MOST_PAIRS:
            return OTHER, OTHER
        self._pairs.add(pair)
        return pair
