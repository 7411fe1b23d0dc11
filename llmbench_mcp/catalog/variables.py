"""The VARIABLES section of a task file: what a generated task's values are drawn from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from llmbench_mcp.catalog import generators
from llmbench_mcp.catalog.block import Block
from llmbench_mcp.catalog.source import listed, quoted
from llmbench_mcp.domain.dice import Dice
from llmbench_mcp.domain.expressions import Expression, ExpressionError, parse
from llmbench_mcp.domain.variants import Make, Variable

KINDS: Mapping[str, tuple[str, ...]] = {
    "from": ("from", "to", "step"),
    "choice": ("choice",),
    "sample": ("sample", "count"),
    "shuffle": ("shuffle",),
    "value": ("value",),
    "generator": (),
}
"""By the key that makes a variable's kind, all its keys; a generator's are its own."""
REQUIRE = "require"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST = 100


def parse_variables(block: Block) -> tuple[tuple[Variable, ...], tuple[Expression, ...]]:
    """The variables in their order, and the conditions they must meet. Raises TaskFormatError at the value's line."""
    fields = block.fields(None, "VARIABLES")
    if len(fields) > _MOST:
        raise block.error(f"VARIABLES has {len(fields)} entries.", f"Use up to {_MOST}.")
    conditions = fields.pop(REQUIRE, None)
    require = tuple(_expression(item) for item in conditions.items(REQUIRE)) if conditions else ()
    if not fields:
        raise block.error("VARIABLES names no variable.", "Add one, such as  n: {from: 3, to: 9}.")
    return tuple(_variable(name, entry) for name, entry in fields.items()), require


def _variable(name: str, block: Block) -> Variable:
    if not _NAME.fullmatch(name):
        raise block.error(
            f"{quoted(name)} cannot be a variable's name.", "Use a-z, 0-9 and _, beginning with a letter."
        )
    fields = block.fields(None, f"variable {name}")
    kind = next((word for word in KINDS if word in fields), None)
    if kind is None:
        raise block.error(f"variable {name} has none of the kinds.", f"Use one of: {listed(KINDS)}.")
    if KINDS[kind]:
        fields = block.fields(KINDS[kind], f"variable {name}")
    return Variable(name, _MAKERS[kind](block, fields))


def _range(block: Block, fields: Mapping[str, Block]) -> Make:
    if "to" not in fields:
        raise block.error("a range lacks to.", "Write {from: 3, to: 9}.")
    first, last = _limit(fields["from"]), _limit(fields["to"])
    step = fields["step"].whole("step") if "step" in fields else 1

    def make(dice: Dice, names: Mapping[str, Any]) -> int:
        low, high = _whole(first, names), _whole(last, names)
        if high < low:
            raise ExpressionError(f"the range from {low} to {high} is empty")
        return low + step * dice.below((high - low) // step + 1)

    return make


def _limit(block: Block) -> Expression:
    return _expression(block) if isinstance(block.plain(), str) else parse(str(block.plain()))


def _whole(limit: Expression, names: Mapping[str, Any]) -> int:
    value = limit.value(names)
    if not isinstance(value, int) or abs(value) > 10**9:
        raise ExpressionError(f"{limit.text!r} is no whole number of a usable size")
    return value


def _choice(block: Block, fields: Mapping[str, Block]) -> Make:
    items = _items(fields["choice"])
    return lambda dice, names: dice.pick(items)


def _sample(block: Block, fields: Mapping[str, Block]) -> Make:
    items = _items(fields["sample"])
    count = fields["count"].whole("count") if "count" in fields else 2
    if count > len(items):
        raise block.error(f"count is {count}, but there are {len(items)} values.")
    return lambda dice, names: dice.sample(items, count)


def _shuffle(block: Block, fields: Mapping[str, Block]) -> Make:
    items = _items(fields["shuffle"])
    return lambda dice, names: dice.shuffled(items)


def _value(block: Block, fields: Mapping[str, Block]) -> Make:
    expression = _expression(fields["value"])
    return lambda dice, names: expression.value(names)


def _generated(block: Block, fields: Mapping[str, Block]) -> Make:
    name = fields["generator"].text("generator")
    options = {key: value.plain() for key, value in fields.items() if key != "generator"}
    generate = generators.find(name)
    if generate is None:
        raise fields["generator"].error(
            f"there is no generator {quoted(name)}.", f"There are: {listed(generators.names())}."
        )
    return lambda dice, names: _made(name, generate, dice, options)


def _made(name: str, generate: Callable[..., Any], dice: Dice, options: Mapping[str, Any]) -> Any:
    try:
        return generate(dice, **options)
    except Exception as error:  # a plug-in: whatever it raises is its fault
        raise ExpressionError(f"the generator {name!r} failed: {type(error).__name__}: {error}") from error


def _items(block: Block) -> list[Any]:
    items = [item.plain() for item in block.items("the values of a variable")]
    if not items:
        raise block.error("a variable has no values to choose from.")
    return items


def _expression(block: Block) -> Expression:
    text = str(block.plain()) if isinstance(block.plain(), int) else block.text("an expression")
    try:
        return parse(text)
    except ExpressionError as error:
        raise block.error(f"{error}.", "See docs/writing-tasks.md for what an expression may hold.") from error


_MAKERS: Mapping[str, Callable[[Block, Mapping[str, Block]], Make]] = {
    "from": _range,
    "choice": _choice,
    "sample": _sample,
    "shuffle": _shuffle,
    "value": _value,
    "generator": _generated,
}
