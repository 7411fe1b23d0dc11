"""The Python values that EvalPlus's JSON cannot hold: which items of MBPP+ want tuples, sets or complex numbers.

The numbers are those of ``evalplus/data/mbpp.py`` (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TUPLES = (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809)
_LISTS_OF_TUPLES = (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)
_TUPLES_OF_TUPLES = (259, 401, 445)
_FIRST_LIST_OF_TUPLES = (75, 413, 444, 753)
_FIRST_TUPLE = (250, 405, 446, 617, 720, 763, 808, 307)
_SECOND_TUPLE = (106, 750)
_ALL_THE_WAY = (580, 615, 791)


def revive(number: int, given: list[Any]) -> Sequence[Any]:
    """One input's arguments with their right types. Raises TypeError and the like for what does not fit."""
    change = _BY_NUMBER.get(number)
    return given if change is None else change(given)


def _tuples(given: list[Any]) -> list[Any]:
    return [tuple(one) for one in given]


def _lists_of_tuples(given: list[Any]) -> list[Any]:
    return [_tuples(one) for one in given]


def _tuples_of_tuples(given: list[Any]) -> list[Any]:
    return [tuple(_tuples(one)) for one in given]


def _first(change: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda given: [change(given[0]), *given[1:]]


def _mixed(given: list[Any]) -> list[Any]:
    return [tuple(tuple(one) if isinstance(one, list) else one for one in given[0])]


def _sets(value: list[Any]) -> list[Any]:
    return [set(one) if isinstance(one, list) and one else {} for one in value]


def _everywhere(value: Any) -> Any:
    return tuple(_everywhere(one) for one in value) if isinstance(value, list) else value


def _values(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(one) for key, one in value.items()}


_BY_NUMBER: dict[int, Callable[[list[Any]], Sequence[Any]]] = {
    **dict.fromkeys(_TUPLES, _tuples),
    **dict.fromkeys(_LISTS_OF_TUPLES, _lists_of_tuples),
    **dict.fromkeys(_TUPLES_OF_TUPLES, _tuples_of_tuples),
    **dict.fromkeys(_FIRST_LIST_OF_TUPLES, _first(_tuples)),
    **dict.fromkeys(_FIRST_TUPLE, _first(tuple)),
    **dict.fromkeys(_SECOND_TUPLE, lambda given: [given[0], tuple(given[1])]),
    **dict.fromkeys(_ALL_THE_WAY, _everywhere),
    115: _first(_sets),
    124: lambda given: (float(given[0]), complex(given[1])),
    252: _first(complex),
    278: _mixed,
    722: _first(_values),
}
