from __future__ import annotations

import math
from typing import Any

import pytest
from llmbench_validators.compare import same


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (3, 3),
        (3.0, 3),
        (3, 3.0),
        (0.1 + 0.2, 0.3),
        ((1, 2), [1, 2]),
        ([(1, "a")], [[1, "a"]]),
        ({"b": 1, "a": [2.0000000001]}, {"a": [2.0], "b": 1}),
        (float("nan"), math.nan),
        (math.inf, math.inf),
        (None, None),
        ({1, 2}, {2, 1}),
        (10**40, 10**40),
        ([True], [True]),
    ],
)
def test_equal_as_plain_data(actual: Any, expected: Any) -> None:
    assert same(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (True, 1),
        (1, True),
        ([1, 0], [True, False]),
        ({True: 1}, {1: 1}),
        (3.0000001, 3),
        (int(1e17), 10**17 + 1),
        ("3", 3),
        (3, "3"),
        (None, 0),
        (0, None),
        ([1, 2], (1, 2)),
        ([2, 1], [1, 2]),
        ([1, 2, 3], [1, 2]),
        ({"a": 1, "b": 2}, {"a": 1}),
        ("abc", ["a", "b", "c"]),
        (1.0, math.nan),
        (10**400, 1.5),
        ({1, 2}, [1, 2]),
    ],
)
def test_not_equal_although_it_looks_alike(actual: Any, expected: Any) -> None:
    assert not same(actual, expected)


def test_approx_tolerates_numbers_and_sequence_kinds() -> None:
    assert same([2.0000000001], (2,), "approx")
    assert not same([2.001], (2,), "approx")
    assert not same([2, 1], [1, 2], "approx")


def test_unordered_holds_at_every_level_and_counts_repeats() -> None:
    assert same([["b", "a"], ["c"]], [["c"], ["a", "b"]], "unordered")
    assert same({3, 1}, [1, 3], "unordered")
    assert not same([1, 1, 2], [1, 2, 2], "unordered")
