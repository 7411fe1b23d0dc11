"""What the timings of one task's requests, asked side by side, say about a server. Pure; see docs/statistics.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.task import SpeedLimits


@dataclass(frozen=True, slots=True)
class Timed:
    """One request. Seconds; ``start_s`` on a clock that all requests share. None: not observed."""

    start_s: float
    ttft_s: float | None
    e2e_s: float | None
    decode_tps: float | None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def itl_s(self) -> float | None:
        """Mean time from one output token to the next."""
        return 1 / self.decode_tps if self.decode_tps else None

    def keeps(self, limits: SpeedLimits) -> bool:
        """Whether it was answered within the limits; of an answer of one token only the first counts."""
        if self.ttft_s is None or self.ttft_s > limits.ttft_s:
            return False
        return self.itl_s is None or self.itl_s <= limits.itl_s


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Median, 90th and 99th percentile, with linear interpolation (type 7 of Hyndman and Fan 1996)."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class SpeedFigures:
    """One level of load. Times in seconds, rates per second.

    ``stream_tps``: output tokens per second of one stream, the median. ``total_tps``: of all streams together, over
    the time in which any request was in flight. ``goodput_rps``: requests per second that kept both limits (Zhong et
    al. 2024, DistServe, arXiv:2401.09670); ``good`` their share of all that were asked, failed ones included.
    """

    requests: int
    failed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    ttft_s: Quantiles | None
    itl_s: Quantiles | None
    e2e_s: Quantiles | None
    stream_tps: float | None
    total_tps: float | None
    goodput_rps: float | None
    good: float


def quantiles(values: Iterable[float | None]) -> Quantiles | None:
    """Of those that are known; None when none is."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return Quantiles(*(_quantile(known, share) for share in (0.5, 0.9, 0.99)))


def speed_figures(timed: Sequence[Timed], failed: int, limits: SpeedLimits) -> SpeedFigures:
    """The figures of one task's answered requests and of ``failed`` others."""
    busy_s = busy([(one.start_s, one.start_s + one.e2e_s) for one in timed if one.e2e_s is not None])
    tokens = sum(one.completion_tokens or 0 for one in timed)
    good = sum(one.keeps(limits) for one in timed)
    return SpeedFigures(
        requests=len(timed) + failed,
        failed=failed,
        prompt_tokens=_middle([one.prompt_tokens for one in timed]),
        completion_tokens=_middle([one.completion_tokens for one in timed]),
        ttft_s=quantiles(one.ttft_s for one in timed),
        itl_s=quantiles(one.itl_s for one in timed),
        e2e_s=quantiles(one.e2e_s for one in timed),
        stream_tps=_median([one.decode_tps for one in timed]),
        total_tps=tokens / busy_s if busy_s > 0 else None,
        goodput_rps=good / busy_s if busy_s > 0 else None,
        good=good / (len(timed) + failed) if timed or failed else 0.0,
    )


def busy(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the spans lasted: the length of their union."""
    total, end = 0.0, -math.inf
    for begins, ends in sorted(spans):
        total += max(0.0, ends - max(begins, end))
        end = max(end, ends)
    return total


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _middle(values: Iterable[int | None]) -> int | None:
    median = _median(values)
    return None if median is None else round(median)
