"""How well suites tell imaginary models apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmbench_mcp.domain.reliability import ABILITIES, chance, kendall_tau, kr20, reliability, separation
from llmbench_mcp.domain.task import Difficulty, Load, Task

LEVELS: tuple[Difficulty, ...] = ("easy", "medium", "hard")


def suite(*levels: Difficulty) -> list[Task]:
    return [Task(f"t/{number}", "?", {}, difficulty=level) for number, level in enumerate(levels)]


def test_more_tasks_make_for_a_more_reliable_ranking() -> None:
    few, many = reliability(suite(*LEVELS * 4), {}, 8), reliability(suite(*LEVELS * 30), {}, 8)
    assert few is not None
    assert many is not None
    assert few.separation < many.separation
    assert few.kr20 < many.kr20
    assert few.tau < many.tau
    assert few.told_apart < many.told_apart < many.told_apart_1
    assert many.separation > 0.95
    assert many.tau > 0.92
    assert many.told_apart_1 > 0.9
    assert many.reversed < 0.01


def test_tasks_of_one_level_alone_tell_the_ends_apart_worse() -> None:
    spread, one = reliability(suite(*LEVELS * 8), {}, 2), reliability(suite(*LEVELS[2:] * 24), {}, 2)
    assert spread is not None
    assert one is not None
    assert one.separation < spread.separation


def test_the_figures_are_the_same_every_time() -> None:
    assert reliability(suite(*LEVELS * 5), {}, 5) == reliability(suite(*LEVELS * 5), {}, 5)


def test_what_is_not_passed_or_failed_has_no_reliability() -> None:
    speed = [Task("s/1", "?", {}, load=Load()), Task("s/2", "?", {}, load=Load())]
    assert reliability(speed, {}) is None
    assert reliability(suite("easy"), {}) is None


def test_a_model_as_able_as_a_task_is_difficult_passes_half_the_time() -> None:
    assert chance(1.2, 1.2) == 0.5
    assert chance(0.0, -1.5) == pytest.approx(0.8176, abs=1e-4)


def test_separation_is_the_share_of_real_variance() -> None:
    items = [0.0] * 40
    errors = [1 / (40 * chance(ability, 0) * (1 - chance(ability, 0))) for ability in ABILITIES]
    real = float(np.var(ABILITIES))
    assert separation(items) == pytest.approx(real / (real + math.fsum(errors) / len(errors)))


def test_kr20_is_the_textbook_value() -> None:
    answers = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    # p q sums to 0.16 + 0.24 + 0.24 + 0.16, the sums 4 3 2 1 0 have variance 2
    assert kr20(answers) == pytest.approx(4 / 3 * (1 - 0.8 / 2))
    assert kr20([[1, 0], [0, 1]]) == 0.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    one, other = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert kendall_tau(one, other) == pytest.approx(kendalltau(one, other).statistic)
    else:
        assert kendall_tau(one, other) == 0.0
