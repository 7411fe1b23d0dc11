"""Whether this program was itself the bottleneck while a job was measured.

An event that comes while the loop is busy is stamped late. How late is sampled all along: one turn of the loop, and
how far a timer overslept. Together with the share of one core that the loop's thread used, that says whether the
timings of a job are the server's or the client's.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.lowlevel import checkpoint

INTERVAL_S = 0.02
TIMER_GRAIN_S = 0.001
"""Event loops round their timers up to the millisecond; so much oversleeping is no lag."""

LAG_SHARE = 0.05
CPU_SHARE = 0.70
FEWEST_SAMPLES = 100
"""No 99th percentile is told below so many samples."""

_FINEST_S = 1e-5
_STEPS_PER_DOUBLING = 8
_BUCKETS = 200


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """How busy the event loop was. ``cpu_share`` is of one core; lags are None with too few samples."""

    samples: int = 0
    lag_p50_s: float | None = None
    lag_p99_s: float | None = None
    cpu_share: float | None = None


def client_bound(load: ClientLoad, itl_s: float | None) -> str | None:
    """Why timings made under this load are the client's, in words; None when they are the server's.

    ``itl_s`` is the typical (median) gap between deltas of the answers timed, None when there is none.
    """
    if load.cpu_share is not None and load.cpu_share > CPU_SHARE:
        return f"the client used {load.cpu_share:.0%} of a core (limit {CPU_SHARE:.0%})"
    if itl_s and load.lag_p99_s is not None and load.lag_p99_s > LAG_SHARE * itl_s:
        lag, gap = load.lag_p99_s * 1000, itl_s * 1000
        return f"the client's own delay reached {lag:.2f} ms, over {LAG_SHARE:.0%} of the {gap:.2f} ms between deltas"
    return None


class Lags:
    """A histogram of durations with steps of 9 %, from 10 microseconds up, of fixed size."""

    def __init__(self) -> None:
        self.count = 0
        self._buckets = [0] * _BUCKETS

    def add(self, seconds: float) -> None:
        """Count one."""
        steps = math.log2(max(seconds, _FINEST_S) / _FINEST_S) * _STEPS_PER_DOUBLING
        self._buckets[min(_BUCKETS - 1, math.ceil(steps))] += 1
        self.count += 1

    def quantile(self, share: float) -> float | None:
        """The upper bound of the bucket with that share of all below or in it; None while empty."""
        left = share * self.count
        for index, count in enumerate(self._buckets):
            left -= count
            if count and left <= 1e-9:
                return float(_FINEST_S * 2 ** (index / _STEPS_PER_DOUBLING))
        return None


class LoopLag:
    """Samples the running event loop::

    async with LoopLag().watching() as lag:
        ...  # the measured work
    load = lag.load()
    """

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._lags = Lags()
        self._wall = self._cpu = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[LoopLag]:
        """Sample until the context ends, with what lives already kept out of the garbage collector's way."""
        gc.collect()
        gc.freeze()  # else a full collection in the middle stops the loop for long
        wall, cpu = time.monotonic(), time.thread_time()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._sample)
                try:
                    yield self
                finally:
                    group.cancel_scope.cancel()
        finally:
            self._wall += time.monotonic() - wall
            self._cpu += time.thread_time() - cpu
            gc.unfreeze()

    def load(self) -> ClientLoad:
        """What has been sampled; complete once ``watching`` has ended."""
        enough = self._lags.count >= FEWEST_SAMPLES
        return ClientLoad(
            samples=self._lags.count,
            lag_p50_s=self._lags.quantile(0.5) if enough else None,
            lag_p99_s=self._lags.quantile(0.99) if enough else None,
            cpu_share=self._cpu / self._wall if self._wall > 0 else None,
        )

    async def _sample(self) -> None:
        while True:
            asleep = time.monotonic()
            await anyio.sleep(self._interval_s)
            overslept = time.monotonic() - asleep - self._interval_s - TIMER_GRAIN_S
            await checkpoint()  # resumes first in a turn; the second one comes after all that this turn brings
            turn = time.monotonic()
            await checkpoint()
            self._lags.add(max(overslept, time.monotonic() - turn))
