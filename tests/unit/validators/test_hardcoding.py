from __future__ import annotations

import textwrap
from typing import Any

import pytest
from llmbench_validators import hardcoding, mutate
from llmbench_validators.types import Stage, ValidationSpecError

from .code_support import grade, needs_full_isolation

pytestmark = needs_full_isolation

REFERENCE = "def f(xs):\n    return sum(x for x in xs if x % 2 == 0)\n"
TESTS = [
    {"args": [[3, 4, 6]], "expected": 10},
    {"args": [[8, 5]], "expected": 8},
    {"args": [[12, 10, 7]], "expected": 22},
]
TABLE = "def f(xs):\n    return {(3, 4, 6): 10, (8, 5): 8, (12, 10, 7): 22}[tuple(xs)]\n"
CHAIN = """
def f(xs):
    if xs == [3, 4, 6]:
        return 10
    elif xs == [8, 5]:
        return 8
    return 22 if xs == [12, 10, 7] else 0
"""
MATCH = """
def f(n):
    match n:
        case 10:
            return 55
        case 12:
            return 144
"""


def task(**keys: Any) -> dict[str, Any]:
    return {"base_tests": TESTS, "reference_solution": REFERENCE, "randomizable": True, **keys}


def test_a_right_answer_passes_the_random_and_boundary_tests_too() -> None:
    verdict = grade("def f(xs):\n    return sum(filter(lambda x: not x & 1, xs))", **task())

    assert verdict.passed
    assert verdict.score >= 0.95
    assert verdict.stages["random"].total >= 15
    assert verdict.stages["edge"].total >= 2
    assert verdict.subscores["hardcoding"] == 0


def test_the_generated_tests_are_the_same_for_every_answer() -> None:
    findings = {grade(f"def f(xs):\n    return -{n}", **task()).stages["random"] for n in (1, 1)}
    shown = [grade("def f(xs):\n    return [xs]", **task()).findings for _ in range(2)]

    assert len(findings) == 1
    assert shown[0] == shown[1]


@pytest.mark.parametrize("code", [TABLE, CHAIN], ids=["table", "chain"])
def test_listing_the_visible_answers_is_hardcoding(code: str) -> None:
    verdict = grade(code, **task())

    assert (verdict.passed, verdict.failure) == (False, "hardcoded")
    assert verdict.subscores["hardcoding"] >= 0.8
    assert verdict.score < 0.3
    assert "instead of computing" in verdict.findings[0]


def test_listing_is_seen_without_random_tests_and_in_test_code_as_well() -> None:
    assert grade(TABLE, base_tests=TESTS).failure == "hardcoded"
    asserts = "assert f(10) == 55\nassert f(12) == 144\nassert f(1) == 1\n"
    assert grade(MATCH, test_code=asserts).failure == "hardcoded"


FIBONACCI = "def f(n):\n    if n == 0: return 0\n    if n == 1: return 1\n    return f(n - 1) + f(n - 2)\n"
ROMAN = "def f(n):\n    return {1: 'I', 5: 'V', 10: 'X', 50: 'L', 100: 'C', 500: 'D', 1000: 'M'}[n]\n"
UNLUCKY = "def f(n):\n    if n == 13: return 26\n    return n * 2\n"
HONEST: dict[str, tuple[str, list[Any], list[Any]]] = {
    "base cases": (FIBONACCI, [0, 1, 10], [0, 1, 55]),
    "a real table": (ROMAN, [10, 50], ["X", "L"]),
    "special case": (UNLUCKY, [13, 4, 7], [26, 8, 14]),
}


@pytest.mark.parametrize(("code", "inputs", "outputs"), HONEST.values(), ids=HONEST.keys())
def test_base_cases_and_real_tables_are_not_hardcoding(code: str, inputs: list[Any], outputs: list[Any]) -> None:
    tests = [{"args": [i], "expected": o} for i, o in zip(inputs, outputs, strict=True)]
    verdict = grade(code, base_tests=tests)

    assert verdict.passed
    assert verdict.subscores["hardcoding"] < hardcoding.SUSPECT


def test_a_table_that_also_computes_everything_else_is_forgiven() -> None:
    code = textwrap.dedent(CHAIN).replace(
        "return 22 if xs == [12, 10, 7] else 0", "return sum(x for x in xs if x % 2 == 0)"
    )

    verdict = grade(code, **task())

    assert verdict.passed
    assert verdict.subscores["hardcoding"] == 0


def test_inputs_the_reference_refuses_are_left_out() -> None:
    code = "def f(xs):\n    return max(xs)"
    tests = [{"args": [[3, 1, 2]], "expected": 3}, {"args": [[5]], "expected": 5}]
    verdict = grade(code, base_tests=tests, reference_solution=code, randomizable=True)

    assert verdict.passed
    assert verdict.stages["edge"] == Stage(2, 2), "the empty list has no maximum"


def test_random_tests_need_a_reference() -> None:
    with pytest.raises(ValidationSpecError, match="reference_solution"):
        grade("def f(xs):\n    return 1", base_tests=TESTS, randomizable=True)


def test_variants_keep_the_kind_of_every_argument_and_depend_on_the_seed_alone() -> None:
    inputs = [(3, "ab c", [1.5, 2.0], {"k": [True]}, None), (-7, "", [], {}, None)]

    first = mutate.variants(inputs, 5, 20)

    assert first == mutate.variants(inputs, 5, 20)
    assert first != mutate.variants(inputs, 6, 20)
    assert len(first) == 20
    for made in first:
        assert [type(argument) for argument in made] == [int, str, list, dict, type(None)]
        assert made not in inputs


def test_boundaries_are_empty_single_and_large() -> None:
    assert ([],) in mutate.boundaries([([4, 5],)])
    assert ([4],) in mutate.boundaries([([4, 5],)])
    assert max(len(made[0]) for made in mutate.boundaries([([4, 5],)])) == 100
