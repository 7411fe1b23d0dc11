"""Two models on the same tasks: tests and intervals for the difference. Pure; see docs/statistics.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from llmbench_mcp.domain.statistics import clustered_interval

_GRID = 27_720
"""Differences are counted in these parts: exact for rates over up to 12 attempts."""
_FEW_VALUES = 4
_FEW_TASKS = 10
_MANY_TASKS = 30
_DISTRIBUTIONS = 4_096


@lru_cache(_DISTRIBUTIONS)
def mcnemar_exact(first_only: int, second_only: int) -> float:
    """Exact two-sided p of McNemar's test: the binomial one on the pairs that differ; 1 where none does."""
    differ = first_only + second_only
    tail = sum(math.comb(differ, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / (1 << differ))


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided p of the paired randomisation test (Fisher 1935): were all signs of the differences chance?

    Where every difference is of one size, as with one attempt per task, it is McNemar's exact test. It is exact up to
    10 tasks that differ, and up to 30 with 4 sizes of difference; beyond, the flipped sum is taken as normal.
    """
    parts: Sequence[float] = [difference for difference in differences if difference]
    if len(set(map(abs, parts))) > 1:
        parts = [part for part in (round(part * _GRID) for part in parts) if part]
    sizes = sorted(map(abs, parts))
    kinds = len(set(sizes))
    if kinds <= 1:
        ahead = sum(part > 0 for part in parts)
        return mcnemar_exact(ahead, len(parts) - ahead)
    total = abs(sum(parts))
    if len(sizes) <= (_MANY_TASKS if kinds <= _FEW_VALUES else _FEW_TASKS):
        return _flipped(tuple(sizes), total)
    return math.erfc(total / math.sqrt(2 * sum(size * size for size in sizes)))


@lru_cache(_DISTRIBUTIONS)
def _flipped(sizes: tuple[int, ...], total: int) -> float:
    """The share of all choices of signs whose sum is at least as far from 0."""
    ways = {0: 1}
    for size in sizes:
        step: dict[int, int] = {}
        for at, count in ways.items():
            step[at + size] = step.get(at + size, 0) + count
            step[at - size] = step.get(at - size, 0) + count
        ways = step
    return sum(count for at, count in ways.items() if abs(at) >= total) / (1 << len(sizes))


def paired_interval(
    first: Sequence[float], second: Sequence[float], trials: Sequence[Sequence[int]]
) -> tuple[float, float]:
    """95 % interval of the difference of two mean rates over the same tasks, first minus second, within -1..1.

    Newcombe 1998 (Statistics in Medicine 17:2635), method 10: each rate's own interval, joined by the correlation of
    the pairs with its continuity correction. With repeats the rates' intervals are the task-clustered ones (the same
    construction: Zou and Donner 2008). ``trials``: attempts per task, of the first and of the second.
    """
    tasks = len(first)
    if not tasks:
        return (-1.0, 1.0)
    p, q = math.fsum(first) / tasks, math.fsum(second) / tasks
    (low_p, high_p), (low_q, high_q) = clustered_interval(first, trials[0]), clustered_interval(second, trials[1])
    together = _correlation(first, second)
    down = _joined(p - low_p, high_q - q, together)
    up = _joined(high_p - p, q - low_q, together)
    return (max(-1.0, p - q - down), min(1.0, p - q + up))


def _joined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Of the pairs, a positive one reduced by half a pair; 0 where one of them never varies."""
    n = len(first)
    p, q = math.fsum(first) / n, math.fsum(second) / n
    shared = math.fsum((x - p) * (y - q) for x, y in zip(first, second, strict=True)) / n
    spread = math.sqrt(math.fsum((x - p) ** 2 for x in first) * math.fsum((y - q) ** 2 for y in second)) / n
    if spread <= 0:
        return 0.0
    return (max(0.0, shared - 1 / (2 * n)) if shared > 0 else shared) / spread
