"""Intervals for rates. Pure."""

from __future__ import annotations

import math

_Z95 = 1.959963984540054


def wilson_interval(successes: float, trials: int, z: float = _Z95) -> tuple[float, float]:
    """Wilson score interval of a rate (Wilson 1927), both ends within 0..1; (0, 1) for no trials.

    ``successes`` may be fractional: a sum of per-task means, so that repeats of one task count as one trial.
    """
    if trials <= 0:
        return (0.0, 1.0)
    p = min(1.0, max(0.0, successes / trials))
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    centre, scale = p + z * z / (2 * trials), 1 + z * z / trials
    return (max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))
