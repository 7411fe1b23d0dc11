"""From the tests passed to the score of a coding answer.

Correctness C is the weighted pass rate of the stages that exist (base 0.5, random 0.3, edge 0.2), less a quarter
of the hidden tests' failure rate, times the hardcoding factor. Robustness R is the mean of the random, edge and
hidden pass rates that exist, else C. Q is the quality of the code, P its performance.

Score = 0.5 C + 0.2 R + 0.15 Q C + 0.15 P C. Where P does not exist (the task has no reference solution, or its speed
cannot be measured), the other weights keep their proportions: the sum is divided by 0.85.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from llmbench_validators import hardcoding
from llmbench_validators.types import Stage

WEIGHTS = {"base": 0.5, "random": 0.3, "edge": 0.2}
PARTS = {"correctness": 0.5, "robustness": 0.2, "quality": 0.15, "performance": 0.15}
WITHOUT_PERFORMANCE = "the other parts of the score weigh more instead, in their proportions"
_HIDDEN_PENALTY = 0.25


class Score(NamedTuple):
    """All between 0 and 1; ``performance`` is None where it does not exist."""

    total: float
    correctness: float
    robustness: float
    quality: float
    performance: float | None


def rates(stages: Mapping[str, Stage]) -> dict[str, float]:
    """The pass rate of each stage that has a test."""
    return {name: stage.passed / stage.total for name, stage in stages.items() if stage.total}


def score(stages: Mapping[str, Stage], hardcoded: float, quality: float, performance: float | None) -> Score:
    """The score of an answer; ``hardcoded`` is its degree of hardcoding."""
    rate = rates(stages)
    weights = {name: weight for name, weight in WEIGHTS.items() if name in rate}
    correctness = sum(rate[name] * weight for name, weight in weights.items()) / sum(weights.values())
    if "hidden" in rate:
        correctness = max(0.0, correctness - _HIDDEN_PENALTY * (1 - rate["hidden"]))
    correctness *= hardcoding.factor(hardcoded)
    beyond = [value for name, value in rate.items() if name != "base"]
    robustness = sum(beyond) / len(beyond) if beyond else correctness
    parts = {"correctness": correctness, "robustness": robustness, "quality": quality * correctness}
    if performance is not None:
        parts["performance"] = performance * correctness
    total = sum(PARTS[name] * value for name, value in parts.items()) / sum(PARTS[name] for name in parts)
    return Score(round(total, 6), round(correctness, 6), round(robustness, 6), quality, performance)
