"""Is a returned value the expected one? Both sides are plain data of builtin types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

REL_TOLERANCE, ABS_TOLERANCE = 1e-6, 1e-9
MODES = ("exact", "approx", "unordered")
_MAX_UNORDERED = 1_000


def same(actual: Any, expected: Any, mode: str = "exact") -> bool:
    """Whether ``actual`` counts as ``expected``.

    exact: types and values; floats with tolerance where ``expected`` is a float; an int and a float of the very
    same value are equal; a list stands for a tuple because JSON knows no tuples, a tuple only for a tuple.
    approx: every number with tolerance, tuples and lists alike. unordered: as approx, and the order of
    sequences does not matter at any level.
    """
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None:
        return type(actual) is type(expected) and bool(actual == expected)
    if isinstance(expected, int | float):
        return _same_number(actual, expected, mode)
    if isinstance(expected, list | tuple):
        return _same_sequence(actual, expected, mode)
    if isinstance(expected, dict):
        return _same_dict(actual, expected, mode)
    if isinstance(expected, set | frozenset):
        return isinstance(actual, set | frozenset) and _same_members(actual, expected, mode)
    return type(actual) is type(expected) and bool(actual == expected)


def _same_number(actual: Any, expected: float, mode: str) -> bool:
    if not isinstance(actual, int | float):
        return False
    if actual == expected:
        return True
    if not isinstance(expected, float) and mode == "exact":
        return False
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(actual, float) and math.isnan(actual)
    try:
        return math.isclose(actual, expected, rel_tol=REL_TOLERANCE, abs_tol=ABS_TOLERANCE)
    except OverflowError:
        return False


def _same_sequence(actual: Any, expected: list[Any] | tuple[Any, ...], mode: str) -> bool:
    if mode == "unordered" and isinstance(actual, set | frozenset):
        return _same_members(actual, expected, mode)
    if not isinstance(actual, list | tuple) or len(actual) != len(expected):
        return False
    if mode == "exact" and isinstance(expected, tuple) and not isinstance(actual, tuple):
        return False
    if mode == "unordered":
        return _same_members(actual, expected, mode)
    return all(same(a, e, mode) for a, e in zip(actual, expected, strict=True))


def _same_dict(actual: Any, expected: dict[Any, Any], mode: str) -> bool:
    if not isinstance(actual, dict) or len(actual) != len(expected):
        return False
    keys = {_key(key): value for key, value in actual.items()}
    return all(_key(key) in keys and same(keys[_key(key)], value, mode) for key, value in expected.items())


def _key(key: Any) -> tuple[bool, Any]:
    """True and 1 are one key to Python, but not one answer."""
    return isinstance(key, bool), key


def _same_members(actual: Iterable[Any], expected: Iterable[Any], mode: str) -> bool:
    left, right = list(actual), list(expected)
    if len(left) != len(right) or len(left) > _MAX_UNORDERED:
        return len(left) == len(right) and sorted(map(repr, left)) == sorted(map(repr, right))
    return _all_taken(left, right, lambda a, e: same(a, e, mode))


def _all_taken(left: list[Any], right: list[Any], equal: Callable[[Any, Any], bool]) -> bool:
    for wanted in right:
        for position, candidate in enumerate(left):
            if equal(candidate, wanted):
                del left[position]
                break
        else:
            return False
    return True
