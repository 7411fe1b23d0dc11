"""Whether this program was itself the bottleneck while a job was measured.

An event that comes while the loop is busy is stamped late. How late is sampled all along: one turn of the loop, and
how far a timer overslept. Together with the share of one core that the loop's thread used, that says whether the
timings of a job are the server's or the client's.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.lowlevel import checkpoint

from llmbench_mcp.domain.chat import Timing

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


@dataclass(frozen=True, slots=True)
class Typical:
    """Medians over the answers timed: gap between deltas, time to first token, first to last delta."""

    gap_s: float | None = None
    ttft_s: float | None = None
    span_s: float | None = None


class Timed:
    """Gathers what is typical of the answers of a job."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._ttfts: list[float] = []
        self._spans: list[float] = []

    def add(self, timing: Timing) -> None:
        """Count one answer."""
        if timing.itl_s:
            self._gaps.append(statistics.median(timing.itl_s))
            self._spans.append(math.fsum(timing.itl_s))
        if timing.ttft_s is not None:
            self._ttfts.append(timing.ttft_s)

    def typical(self) -> Typical:
        """The medians of what was counted."""
        return Typical(*(statistics.median(all_) if all_ else None for all_ in (self._gaps, self._ttfts, self._spans)))


@dataclass(frozen=True, slots=True)
class Bound:
    """Why timings are the client's, in words; ``speeds``: tokens per second and time to first token, too."""

    why: str
    speeds: bool


def client_bound(load: ClientLoad, typical: Typical) -> Bound | None:
    """What of the timings made under this load is the client's; None when they are the server's.

    A stamp that is late shifts the end of one gap, so it spoils that gap. Tokens per second are taken between the
    first stamp and the last alone, and delays do not add up: there it counts only against the whole answer.
    """
    if load.cpu_share is not None and load.cpu_share > CPU_SHARE:
        return Bound(f"the client used {load.cpu_share:.0%} of a core (limit {CPU_SHARE:.0%})", speeds=True)
    if load.lag_p99_s is None:
        return None
    lag = f"the client's own delay reached {load.lag_p99_s * 1000:.2f} ms, over {LAG_SHARE:.0%} of the"
    for seconds, what in ((typical.ttft_s, "to the first token"), (typical.span_s, "of an answer")):
        if seconds and load.lag_p99_s > LAG_SHARE * seconds:
            return Bound(f"{lag} {seconds * 1000:.2f} ms {what}", speeds=True)
    if typical.gap_s and load.lag_p99_s > LAG_SHARE * typical.gap_s:
        why = f"only those of single gaps, not tokens/s or TTFT: {lag} {typical.gap_s * 1000:.2f} ms between deltas"
        return Bound(why, speeds=False)
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
