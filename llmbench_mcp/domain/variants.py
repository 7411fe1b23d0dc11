"""Generated tasks: a template, its variables, and the task that a seed makes of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from llmbench_mcp.domain.dice import Dice
from llmbench_mcp.domain.errors import InputError, TaskFormatError
from llmbench_mcp.domain.expressions import Expression, ExpressionError, exact, parse, spelled
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line

DEFAULT_SEED = 0
"""The variant that is used when nobody asks for another."""
LARGEST_SEED = 2**53 - 1
_MARK = "@"
_TRIES = 500
_PLACE = re.compile(r"\{\{\s*(.+?)\s*\}\}", re.DOTALL)


def split_name(name: str) -> tuple[str, int | None]:
    """``long_context@7`` as name and seed; the seed is None where there is none.

    Raises:
        InputError: what follows the mark is no seed.
    """
    suite, mark, seed = name.rpartition(_MARK)
    if not mark:
        return name, None
    if not (seed.isascii() and seed.isdecimal()) or not DEFAULT_SEED < int(seed[:20]) <= LARGEST_SEED:
        raise InputError(
            f"'{one_line(seed, 40)}' is no seed to draw a suite with.", f"Write NAME@SEED, with 1 to {LARGEST_SEED}."
        )
    return suite, int(seed)


def drawn_name(name: str, seed: int | None) -> str:
    """The name of a suite drawn with that seed; as it is without one, or where the name has a seed of its own."""
    return name if seed is None or _MARK in name else f"{name}{_MARK}{seed}"


Make = Callable[[Dice, Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """A name and how its value is made from chance and the variables before it; may raise ExpressionError."""

    name: str
    make: Make


@dataclass(frozen=True, slots=True)
class Template:
    """A task with places ``{{expression}}`` in its texts, and what fills them.

    Every variable has its own stream of chance, keyed by seed, task and name: one more variable changes no other.
    Values for which a condition of ``require`` does not hold are drawn again.
    """

    task: Task
    variables: tuple[Variable, ...]
    require: tuple[Expression, ...] = ()

    def draw(self, seed: int) -> Task:
        """The task of that seed, the same on every machine. Raises TaskFormatError when none can be made."""
        try:
            return self._filled(self.values(seed))
        except ExpressionError as error:
            what = one_line(str(error), 300)
            raise TaskFormatError(f"{self.task.id}, drawn with seed {seed}: {what}.", "Mend VARIABLES.") from error

    def values(self, seed: int) -> Mapping[str, Any]:
        """What the variables are with that seed. Raises ExpressionError."""
        for again in range(_TRIES):
            values: dict[str, Any] = {}
            for variable in self.variables:
                values[variable.name] = variable.make(Dice(seed, self.task.id, variable.name, again), values)
            if all(condition.value(values) for condition in self.require):
                return values
        raise ExpressionError(f"no values in {_TRIES} draws meet require")

    def _filled(self, values: Mapping[str, Any]) -> Task:
        task = self.task
        return replace(
            task,
            prompt=_text(task.prompt, values),
            system=None if task.system is None else _text(task.system, values),
            expected=None if task.expected is None else _text(task.expected, values),
            validation=_data(task.validation, values),
        )


def _text(text: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda place: spelled(parse(place[1]).value(values)), text)


def _data(value: Any, values: Mapping[str, Any]) -> Any:
    """Plain data with its places filled; text that is one place and no more becomes the value itself."""
    if isinstance(value, Mapping):
        return {key: _data(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_data(item, values) for item in value]
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value.strip())
    return exact(parse(whole[1]).value(values)) if whole and "}}" not in whole[1] else _text(value, values)
