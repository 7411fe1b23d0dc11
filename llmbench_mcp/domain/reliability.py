"""How well a suite tells models apart: imaginary models of known ability sit it. Pure, and the same every time.

A task is an item of the Rasch model (Rasch 1960): a model of ability t passes an item of difficulty b, both in logits,
with probability 1 / (1 + exp(b - t)). Difficulties stand for a task's level; they are assumptions until answers of
many models are there to estimate them from.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.dice import Dice
from llmbench_mcp.domain.leaderboard import SIGNIFICANCE
from llmbench_mcp.domain.paired import sign_flip_p
from llmbench_mcp.domain.task import Difficulty, Task

LOGITS: Mapping[Difficulty, float] = {"easy": -1.5, "medium": 0.0, "hard": 1.5}
"""A model of ability 0 passes 82 %, 50 % and 18 % of tasks of these levels."""
ABILITIES = tuple(-2.25 + 0.5 * step for step in range(10))
"""Ten models, each half a logit better than the one before."""
SITTINGS = 50
"""How often each of them sits the suite."""
_CHANCES = 1_000_000


@dataclass(frozen=True, slots=True)
class Reliability:
    """What ten imaginary models show of a suite; figures are means over sittings.

    ``separation``: the share of the variance of estimated abilities that is real, from the items' information (Wright
    and Masters 1982, person separation reliability). ``kr20``: formula 20 of Kuder and Richardson (1937).
    ``tau``: rank correlation of true and observed order, ties corrected (Kendall 1945, tau-b). ``told_apart``: the
    share of pairs whose difference the paired test of rankings (docs/statistics.md) finds at 5 %, the better one ahead;
    ``told_apart_1`` that of pairs at least one logit apart; ``reversed``: of pairs found the wrong way round.
    """

    tasks: int
    levels: Mapping[Difficulty, int]
    separation: float
    kr20: float
    tau: float
    told_apart: float
    told_apart_1: float
    reversed: float


def reliability(tasks: Sequence[Task], weights: Mapping[str, float], sittings: int = SITTINGS) -> Reliability | None:
    """The figures of a suite; None when it has fewer than two tasks that are passed or failed."""
    items = [task for task in tasks if task.load is None]
    if len(items) < 2:
        return None
    found = [_sitting(items, weights, number) for number in range(sittings)]
    means = [statistics.fmean(values) for values in zip(*found, strict=True)]
    levels = Counter(task.difficulty for task in items)
    return Reliability(len(items), levels, separation([LOGITS[task.difficulty] for task in items]), *means)


def chance(ability: float, difficulty: float) -> float:
    """The Rasch model's probability of passing."""
    return 1 / (1 + math.exp(difficulty - ability))


def separation(difficulties: Sequence[float]) -> float:
    """Of abilities spread as ``ABILITIES``, estimated from one attempt at each item."""
    information = [
        math.fsum(chance(ability, item) * (1 - chance(ability, item)) for item in difficulties) for ability in ABILITIES
    ]
    error = statistics.fmean(1 / amount for amount in information)
    real = statistics.pvariance(ABILITIES)
    return real / (real + error)


def kr20(answers: Sequence[Sequence[int]]) -> float:
    """Of the right (1) and wrong (0) answers of each model; 0 where all models have the same sum."""
    count = len(answers[0])
    variance = statistics.pvariance([sum(row) for row in answers])
    if variance == 0:
        return 0.0
    rates = [statistics.fmean(column) for column in zip(*answers, strict=True)]
    return count / (count - 1) * (1 - math.fsum(rate * (1 - rate) for rate in rates) / variance)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-b; 0 where either has no order at all."""
    same = tied_one = tied_other = 0
    for (a, b), (c, d) in itertools.combinations(zip(one, other, strict=True), 2):
        same += _sign(a - c) * _sign(b - d)
        tied_one += a != c
        tied_other += b != d
    return same / math.sqrt(tied_one * tied_other) if tied_one and tied_other else 0.0


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _sitting(items: Sequence[Task], weights: Mapping[str, float], number: int) -> tuple[float, ...]:
    answers = [_answers(items, ability, Dice("reliability", number, place)) for place, ability in enumerate(ABILITIES)]
    shares = [weights.get(item.id, 1.0) for item in items]
    marks = [[share * right for share, right in zip(shares, given, strict=True)] for given in answers]
    return kr20(answers), kendall_tau(ABILITIES, [math.fsum(row) for row in marks]), *_told_apart(marks)


def _answers(items: Sequence[Task], ability: float, dice: Dice) -> list[int]:
    return [int(dice.below(_CHANCES) < chance(ability, LOGITS[item.difficulty]) * _CHANCES) for item in items]


def _told_apart(marks: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Shares of pairs: told apart, of those a logit apart or more, and told apart the wrong way round."""
    right, far, wrong = [], [], []
    for weak, strong in itertools.combinations(range(len(marks)), 2):
        differences = [a - b for a, b in zip(marks[strong], marks[weak], strict=True) if a != b]
        sign = _sign(math.fsum(differences)) if sign_flip_p(differences) < SIGNIFICANCE else 0
        right.append(sign > 0)
        wrong.append(sign < 0)
        if ABILITIES[strong] - ABILITIES[weak] >= 1:
            far.append(sign > 0)
    return statistics.fmean(right), statistics.fmean(far), statistics.fmean(wrong)
