"""Intervals for rates. Pure. What is used where, and why, is in docs/statistics.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959963984540054
"""The standard normal's 97.5 % point."""


def wilson_interval(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a rate (Wilson 1927), both ends within 0..1; (0, 1) for no trials.

    Both may be fractional: a sum of per-task means, an effective number of trials.
    """
    if trials <= 0:
        return (0.0, 1.0)
    p = min(1.0, max(0.0, successes / trials))
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    centre, scale = p + z * z / (2 * trials), 1 + z * z / trials
    # At the ends, where the formula gives exactly 0 or 1, its rounding would leave 1e-17.
    return (
        max(0.0, (centre - spread) / scale) if p > 0 else 0.0,
        min(1.0, (centre + spread) / scale) if p < 1 else 1.0,
    )


def clustered_interval(rates: Sequence[float], trials: Sequence[int]) -> tuple[float, float]:
    """95 % interval of the mean of per-task rates, each over that many attempts; (0, 1) for no tasks.

    Attempts at one task are alike, so tasks are clusters: the variance is the clustered one of Miller 2024
    (arXiv:2411.00640), and the interval is Wilson's on the number of independent attempts that would have that
    variance, at most all of them, then corrected for few clusters by Student's t (Korn and Graubard 1998; Dean and
    Pagano 2015), and at least the tasks. With one attempt per task it is Wilson's interval itself.
    """
    tasks = len(rates)
    if not tasks:
        return (0.0, 1.0)
    mean = math.fsum(rates) / tasks
    spread = math.fsum((rate - mean) ** 2 for rate in rates)
    effective = float(tasks)
    if tasks >= 2 and 0 < mean < 1:
        alike = mean * (1 - mean) * tasks * tasks / spread if spread > 0 else math.inf
        # First the limit, then the correction: that few tasks look alike by luck must not outweigh that they are few.
        effective = max(effective, min(alike, sum(trials)) * (Z95 / student_t95(tasks - 1)) ** 2)
    return wilson_interval(mean * effective, effective)


_T95 = (12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818)


def student_t95(freedom: int) -> float:
    """Student's 97.5 % point for 1 or more degrees of freedom, to 2e-4 (Abramowitz and Stegun 1964, 26.7.5)."""
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z, n = Z95, freedom
    return math.fsum(
        (
            z,
            (z**3 + z) / (4 * n),
            (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2),
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3),
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4),
        )
    )
