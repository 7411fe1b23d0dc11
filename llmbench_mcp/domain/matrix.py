"""Parameter matrices: every combination of the values listed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from llmbench_mcp.domain.chat import Reasoning, Sampling
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 5.0),
    "top_p": (0.0, 1.0),
    "seed": (-(2**31), 2**32),
    "max_tokens": (1, 1_000_000),
    "context_length": (256, 10_000_000),
}
"""Least and largest value of every numeric parameter."""

NAMES = (*RANGES, "reasoning")
MOST_COMBINATIONS = 1_000
_WHOLE = ("seed", "max_tokens", "context_length")


def check_sampling(sampling: Sampling) -> None:
    """Raise InputError for a value out of range."""
    for name in NAMES:
        _checked(name, getattr(sampling, name))


def expand(base: Sampling, matrix: Mapping[str, Sequence[Any]]) -> tuple[Sampling, ...]:
    """One sampling per combination, in the order of the lists, the last parameter changing fastest.

    Args:
        base: what the matrix does not name.
        matrix: by parameter, its values; None is the server's default.

    Raises:
        InputError: an unknown parameter, an empty list, a value out of range, too many combinations.
    """
    for name, values in matrix.items():
        if name not in NAMES:
            raise InputError(f"There is no parameter '{one_line(name, 40)}'.", f"Use: {', '.join(NAMES)}.")
        if not values:
            raise InputError(f"The list of values for {name} is empty.", "Give at least one value.")
    columns = [list(dict.fromkeys(_checked(name, value) for value in values)) for name, values in matrix.items()]
    count = 1
    for column in columns:
        count *= len(column)
    if count > MOST_COMBINATIONS:
        raise InputError(f"That makes {count} combinations of parameters.", f"Stay within {MOST_COMBINATIONS}.")
    return tuple(replace(base, **dict(zip(matrix, values, strict=True))) for values in itertools.product(*columns))


def _checked(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "reasoning":
        if value not in get_args(Reasoning):
            raise InputError(f"reasoning is '{one_line(str(value), 40)}'.", f"Use: {', '.join(get_args(Reasoning))}.")
        return value
    low, high = RANGES[name]
    kinds = (int,) if name in _WHOLE else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number " if name in _WHOLE else ""
        raise InputError(f"{name} is {one_line(str(value), 40)}.", f"Use {kind}{low:g} to {high:g}.")
    return value
