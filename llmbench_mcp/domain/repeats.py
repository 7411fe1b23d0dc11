"""What several attempts at one task tell: any of k right, all of k right. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from llmbench_mcp.domain.statistics import clustered_interval


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """Unbiased chance that at least one of k attempts passes (Chen et al. 2021, arXiv:2107.03374, eq. 1).

    ``k`` is at most ``attempts``.
    """
    return 1 - math.comb(attempts - passed, k) / math.comb(attempts, k)


def pass_hat_k(attempts: int, passed: int, k: int) -> float:
    """Unbiased chance that all of k attempts pass, written pass^k (Yao et al. 2024, arXiv:2406.12045)."""
    return math.comb(passed, k) / math.comb(attempts, k)


def mean_over_tasks(tasks: Sequence[tuple[int, int]], k: int) -> tuple[float, float]:
    """(pass@k, pass^k), each the mean over tasks given as (attempts, passed), of which there is at least one."""
    any_right = math.fsum(pass_at_k(attempts, passed, k) for attempts, passed in tasks)
    all_right = math.fsum(pass_hat_k(attempts, passed, k) for attempts, passed in tasks)
    return any_right / len(tasks), all_right / len(tasks)


def intervals_over_tasks(tasks: Sequence[tuple[int, int]], k: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """95 % intervals of both means: each task gives one value, so it counts once, however often it was attempted."""
    once = [1] * len(tasks)
    any_right = clustered_interval([pass_at_k(attempts, passed, k) for attempts, passed in tasks], once)
    return any_right, clustered_interval([pass_hat_k(attempts, passed, k) for attempts, passed in tasks], once)
