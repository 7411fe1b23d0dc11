"""Values drawn from a seed, the expressions over them, and the tasks they make."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.domain.dice import Dice
from llmbench_mcp.domain.errors import InputError, TaskFormatError
from llmbench_mcp.domain.expressions import ExpressionError, exact, parse, spelled
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.variants import LARGEST_SEED, Template, Variable, drawn_name, split_name


def value(text: str, **names: Any) -> Any:
    return parse(text).value(names)


def test_draws_are_the_ones_that_were_made_when_this_was_written() -> None:
    dice = Dice(7, "reasoning/apples", "n", 0)
    assert [dice.below(1000) for _ in range(6)] == DRAWN
    assert Dice(7, "x").shuffled("abcdefgh") == SHUFFLED


DRAWN = [572, 895, 607, 836, 524, 221]
SHUFFLED = list("cbdhaegf")


@given(st.integers(1, 50), st.integers(0, 10**9))
def test_a_draw_lies_within_its_bounds_and_a_sample_has_no_place_twice(count: int, seed: int) -> None:
    dice = Dice(seed)
    assert all(0 <= dice.below(count) < count for _ in range(20))
    found = dice.sample(range(count), min(5, count))
    assert len(set(found)) == min(5, count)


def test_every_number_is_drawn_about_as_often_as_any_other() -> None:
    dice = Dice("fair")
    counts = Counter(dice.below(7) for _ in range(7000))
    assert all(880 < counts[number] < 1120 for number in range(7))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2 + 3 * 4", 14),
        ("7 // 2 - 7 % 2", 2),
        ("2 ** 10", 1024),
        ("6 / 4", Fraction(3, 2)),
        ("6 / 3", 2),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("n > 3 and not n == 5", True),
        ("'even' if n % 2 == 0 else 'odd'", "even"),
        ("item.price * 2", 10),
        ("names[1]", "Edda"),
        ("names[0:1]", ["Jon"]),
        ("sum([1, 2, n])", 7),
        ("max(n, 9) + min(3, 2)", 11),
        ("join(sorted(names), ' and ')", "Edda and Jon"),
        ("comb(5, 2) + factorial(3) + gcd(12, 18)", 22),
        ("fixed(2 / 3, 2) + ' m'", "0.67 m"),
        ("fixed(-5 / 2, 0)", "-3"),
        ("'Jon' in names", True),
        ("-n", -4),
    ],
)
def test_an_expression_has_its_exact_value(text: str, wanted: object) -> None:
    names = {"n": 4, "item": {"price": 5}, "names": ["Jon", "Edda"]}
    assert value(text, **names) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "__import__('os')",
        "names.append(1)",
        "(1).real",
        "[x for x in names]",
        "lambda: 1",
        "open('f')",
        "'a' * 10",
        "[0] * 10 ** 9",
        "10 ** 10 ** 10",
        "2 ** 5000",
        "factorial(10 ** 9)",
        "1 / 0",
        "missing",
        "names[7]",
        "f'{n}'",
        "b'1'",
        "None",
        "max(names, key=len)",
        "1 " + "+ 1 " * 300,
    ],
)
def test_what_is_not_of_the_language_or_too_large_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text, n=4, names=["Jon"])


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (Fraction(3, 8), "0.375"),
        (Fraction(-1, 20), "-0.05"),
        (Fraction(1, 3), "1/3"),
        (True, "true"),
        ([1, "a", Fraction(1, 2)], "1, a, 0.5"),
        (12, "12"),
    ],
)
def test_a_value_is_spelled_as_people_write_it(made: object, shown: str) -> None:
    assert spelled(made) == shown


def test_a_value_goes_into_the_block_as_plain_data() -> None:
    assert exact([Fraction(4, 2), Fraction(1, 4), "x", 3]) == [2, "0.25", "x", 3]


def template(**changes: Any) -> Template:
    task = Task(
        "own/apples", "{{n}} apples and {{n + 1}} pears", {"type": "reasoning", "expected_answer": "{{2 * n + 1}}"}
    )
    number = Variable("n", lambda dice, names: 10 + dice.below(90))
    facts: dict[str, Any] = {"task": task, "variables": (number,)} | changes
    return Template(**facts)


def test_a_seed_gives_the_same_task_every_time_and_another_seed_another() -> None:
    assert template().draw(3) == template().draw(3)
    prompts = {template().draw(seed).prompt for seed in range(20)}
    assert len(prompts) > 10


def test_a_whole_place_keeps_its_kind_and_one_within_text_becomes_text() -> None:
    task = template().draw(1)
    n = int(task.prompt.split()[0])
    assert task.prompt == f"{n} apples and {n + 1} pears"
    assert task.validation["expected_answer"] == 2 * n + 1


def test_one_more_variable_changes_no_other() -> None:
    more = Variable("other", lambda dice, names: dice.below(5))
    number = template().variables[0]
    assert template(variables=(more, number)).draw(5) == template().draw(5)


def test_values_that_miss_a_condition_are_drawn_again_until_they_meet_it() -> None:
    for seed in range(30):
        drawn = template(require=(parse("n % 7 == 0"),)).draw(seed)
        assert int(drawn.prompt.split()[0]) % 7 == 0


def test_a_condition_that_nothing_meets_is_an_error_that_names_the_task() -> None:
    with pytest.raises(TaskFormatError, match=r"own/apples, drawn with seed 4: no values in 500 draws meet require"):
        template(require=(parse("n < 0"),)).draw(4)


@pytest.mark.parametrize(
    ("name", "wanted"), [("a@7", ("a", 7)), ("a", ("a", None)), (f"a@{LARGEST_SEED}", ("a", LARGEST_SEED))]
)
def test_a_suite_name_may_carry_a_seed(name: str, wanted: tuple[str, int | None]) -> None:
    assert split_name(name) == wanted
    assert drawn_name(*wanted) == name


@pytest.mark.parametrize(
    "name", ["a@", "a@0", "a@-1", "a@x", "a@1.5", f"a@{LARGEST_SEED + 1}", "a@²", "a@" + "9" * 5000]
)
def test_a_seed_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no seed to draw a suite with"):
        split_name(name)


def test_a_name_with_a_seed_keeps_it() -> None:
    assert drawn_name("a@7", 8) == "a@7"
