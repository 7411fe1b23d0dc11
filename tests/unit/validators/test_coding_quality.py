from __future__ import annotations

import ast

import pytest
from llmbench_validators import coding_quality, coding_speed, scoring, syntax
from llmbench_validators.types import Stage

GOOD = '''
def running_totals(amounts: list[int]) -> list[int]:
    """The sums of the first one, two, three … amounts."""
    totals = []
    total = 0
    for amount in amounts:
        total += amount
        totals.append(total)
    return totals
'''
NESTED = """
def running_totals(amounts):
    if amounts:
        if len(amounts) > 1:
            for n in range(len(amounts)):
                if n > 0:
                    while True:
                        if amounts[n] > 0:
                            if amounts[n - 1] > 0:
                                try:
                                    if amounts[n] > 3:
                                        return [1]
                                except ValueError:
                                    if amounts[n] > 7:
                                        return [2]
"""


def quality(code: str) -> dict[str, float]:
    return coding_quality.measure(code, syntax.nodes(ast.parse(code)))


def test_well_written_code_has_full_quality() -> None:
    assert quality(GOOD) == {"quality": 1.0, **dict.fromkeys(coding_quality.WEIGHTS, 1.0)}


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("structure", NESTED),
        ("naming", GOOD.replace("totals = []", "TotalsList = []").replace("totals.append", "TotalsList.append")),
        ("naming", GOOD.replace("total ", "t ").replace("(total)", "(t)")),
        (
            "repetition",
            GOOD + "".join(f"def f{n}(a):\n    return sum(x * x + {n} for x in a if x > {n})\n" for n in "123"),
        ),
        ("readability", GOOD.replace("    totals = []\n    total = 0\n", "    totals = []; total = 0\n")),
        ("readability", GOOD.replace("amount in", "amount in " + "amounts and " * 10)),
        ("readability", GOOD.replace("return totals", "return None if total == None else totals")),
        ("documentation", GOOD.replace('    """The sums of the first one, two, three … amounts."""\n', "")),
    ],
)
def test_each_part_falls_for_what_it_is_about_and_the_whole_with_it(part: str, code: str) -> None:
    found = quality(code)

    assert found[part] < 1
    assert found["quality"] < 1


def test_quality_stays_in_its_range_for_any_code_however_odd() -> None:
    for code in ("", "x = 1", "pass\n" * 5000, "f = lambda: 0", "x" + ".a" * 900, "if 1:\n a = b == None; c = 2\n"):
        assert all(0 <= value <= 1 for value in quality(code).values())


def test_the_score_weighs_its_parts_and_does_without_performance_where_there_is_none() -> None:
    stages = {"base": Stage(1, 2), "edge": Stage(1, 1)}
    correctness = (0.5 * 0.5 + 0.2 * 1) / 0.7

    both = scoring.score(stages, 0.0, 0.8, 0.5)
    alone = scoring.score(stages, 0.0, 0.8, None)

    assert both.total == pytest.approx(0.5 * correctness + 0.2 + (0.15 * 0.8 + 0.15 * 0.5) * correctness, abs=1e-6)
    assert alone.total == pytest.approx((0.5 * correctness + 0.2 + 0.15 * 0.8 * correctness) / 0.85, abs=1e-6)


def test_neat_and_fast_code_that_is_wrong_earns_nothing() -> None:
    assert scoring.score({"base": Stage(0, 3)}, 0.0, 1.0, 1.0).total == 0


@pytest.mark.parametrize(
    ("ratio", "reached"),
    [(3.0, 1.0), (0.67, 1.0), (0.66, 0.75), (0.33, 0.75), (0.32, 0.5), (0.1, 0.5), (0.02, 0.25), (0.009, 0.0)],
)
def test_performance_comes_in_steps(ratio: float, reached: float) -> None:
    assert coding_speed.step(ratio) == reached


def test_a_ratio_near_a_step_is_measured_again_and_the_best_round_counts() -> None:
    rounds: list[int] = []

    def candidate(times: int) -> float:
        rounds.append(times)
        return 0.01 * times * (1.0 if len(rounds) > coding_speed.ROUNDS + 3 else 1.45)  # noise at first

    assert coding_speed.performance(lambda times: 0.01 * times, candidate) == 1.0
    assert len(rounds) == 1 + coding_speed.ROUNDS + coding_speed.MORE_ROUNDS
