"""A small language of exact expressions for generated tasks: whole numbers and fractions, text, lists, comparisons.

Python's notation, read with ``ast`` and evaluated here: no attribute of any object, no import, no loop. Division is
exact (``7 / 2`` is the fraction), and every value is bounded, so that a task file cannot hang whoever reads it.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

LONGEST = 500
"""Characters of an expression."""
_MOST_BITS = 2048
_MOST_ITEMS = 2_000_000
_LARGEST_POWER = 1000


class ExpressionError(ValueError):
    """An expression that cannot be read or has no value; says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as read."""

    text: str
    tree: ast.expr

    def value(self, names: Mapping[str, Any]) -> Any:
        """Its value with these names. Raises ExpressionError."""
        try:
            return _bounded(_value(self.tree, names))
        except ExpressionError as error:
            raise ExpressionError(f"{self.text!r}: {error}") from error
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise ExpressionError(f"{self.text!r} has no value: {error}") from error


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Read an expression. Raises ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError(f"is longer than {LONGEST} characters")
    try:
        return Expression(text, ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} is no expression") from error


def spelled(value: Any) -> str:
    """A value as a prompt shows it: a fraction as a decimal where that ends, a list with commas.

    Raises ExpressionError for what has no spelling, such as a mapping.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return _decimal(value)
    if isinstance(value, list):
        return ", ".join(map(spelled, value))
    if isinstance(value, str | int):
        return str(value)
    raise ExpressionError(f"a {type(value).__name__} cannot be written out")


def exact(value: Any) -> Any:
    """A value as plain data: whole fractions as whole numbers, the others as their spelling."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else spelled(value)
    if isinstance(value, list):
        return [exact(item) for item in value]
    return value


def _decimal(value: Fraction) -> str:
    rest = value.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = next((n for n in range(64) if 10**n % value.denominator == 0), 64)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _bounded(value: Any) -> Any:
    if isinstance(value, float):
        value = Fraction(str(value))
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ExpressionError("the number is too large")
    if isinstance(value, str | list) and len(value) > _MOST_ITEMS:
        raise ExpressionError("the value is too long")
    return value


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    rule = _RULES.get(type(node))
    if rule is None:
        raise ExpressionError(f"{type(node).__name__} is not part of the language")
    return _bounded(rule(node, names))


def _constant(node: Any, names: Mapping[str, Any]) -> Any:
    if not isinstance(node.value, str | int | float | bool):
        raise ExpressionError(f"{node.value!r} is not part of the language")
    return node.value


def _name(node: Any, names: Mapping[str, Any]) -> Any:
    if node.id in names:
        return names[node.id]
    if node.id in ("true", "false"):
        return node.id == "true"
    raise ExpressionError(f"there is no variable {node.id!r} before this one")


def _list(node: Any, names: Mapping[str, Any]) -> list[Any]:
    return [_value(item, names) for item in node.elts]


def _operation(node: Any, names: Mapping[str, Any]) -> Any:
    left, right = _value(node.left, names), _value(node.right, names)
    kind = type(node.op)
    if kind is ast.Mult and (isinstance(left, str | list) or isinstance(right, str | list)):
        raise ExpressionError("only numbers can be multiplied")
    if kind is ast.Pow and (not isinstance(right, int) or abs(right) > _LARGEST_POWER):
        raise ExpressionError(f"a power must be a whole number of at most {_LARGEST_POWER}")
    if kind is ast.Mod and isinstance(left, str):
        raise ExpressionError("% is for numbers")
    if kind not in _OPERATIONS:
        raise ExpressionError(f"{kind.__name__} is not part of the language")
    return _OPERATIONS[kind](left, right)


def _unary(node: Any, names: Mapping[str, Any]) -> Any:
    value = _value(node.operand, names)
    if isinstance(node.op, ast.Not):
        return not value
    if isinstance(node.op, ast.USub):
        return -value
    raise ExpressionError(f"{type(node.op).__name__} is not part of the language")


def _comparison(node: Any, names: Mapping[str, Any]) -> bool:
    left = _value(node.left, names)
    for kind, other in zip(node.ops, node.comparators, strict=True):
        right = _value(other, names)
        if type(kind) not in _COMPARISONS:
            raise ExpressionError(f"{type(kind).__name__} is not part of the language")
        if not _COMPARISONS[type(kind)](left, right):
            return False
        left = right
    return True


def _logic(node: Any, names: Mapping[str, Any]) -> bool:
    parts = (_value(part, names) for part in node.values)
    return all(parts) if isinstance(node.op, ast.And) else any(parts)


def _choice(node: Any, names: Mapping[str, Any]) -> Any:
    return _value(node.body if _value(node.test, names) else node.orelse, names)


def _field(node: Any, names: Mapping[str, Any]) -> Any:
    """``item.price`` is a key of a mapping and nothing else."""
    value = _value(node.value, names)
    if not isinstance(value, Mapping):
        raise ExpressionError(f"only a mapping has fields, such as {node.attr!r}")
    if node.attr not in value:
        raise ExpressionError(f"there is no field {node.attr!r}; there are {', '.join(map(str, value))}")
    return value[node.attr]


def _item(node: Any, names: Mapping[str, Any]) -> Any:
    value = _value(node.value, names)
    if isinstance(node.slice, ast.Slice):
        ends = [None if end is None else _value(end, names) for end in (node.slice.lower, node.slice.upper)]
        return value[slice(*ends)]
    return value[_value(node.slice, names)]


def _call(node: Any, names: Mapping[str, Any]) -> Any:
    word = node.func.id if isinstance(node.func, ast.Name) else ""
    if word not in FUNCTIONS or node.keywords:
        raise ExpressionError(f"there is no such function; there are {', '.join(sorted(FUNCTIONS))}")
    return FUNCTIONS[word](*(_value(argument, names) for argument in node.args))


def _power(base: Any, exponent: int) -> Any:
    if isinstance(base, int | Fraction) and exponent * max(base.numerator.bit_length(), 1) > _MOST_BITS:
        raise ExpressionError("the number is too large")
    return Fraction(base) ** exponent


def _factorial(number: int) -> int:
    if number > 200:
        raise ExpressionError("the number is too large")
    return math.factorial(number)


def _combinations(count: int, chosen: int) -> int:
    if count > 1000:
        raise ExpressionError("the number is too large")
    return math.comb(count, chosen)


def _fixed(number: Any, places: int) -> str:
    """Rounded half away from zero, with that many decimals."""
    scaled = abs(Fraction(number)) * 10**places
    whole = math.floor(scaled + Fraction(1, 2))
    digits = str(whole).rjust(places + 1, "0")
    sign = "-" if Fraction(number) < 0 and whole else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: Fraction(left) / Fraction(right),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "comb": _combinations,
    "count": lambda items, wanted: items.count(wanted),
    "factorial": _factorial,
    "fixed": _fixed,
    "floor": math.floor,
    "gcd": math.gcd,
    "index": lambda items, wanted: items.index(wanted),
    "join": lambda items, mark: str(mark).join(map(spelled, items)),
    "lcm": math.lcm,
    "len": len,
    "lower": lambda text: str(text).lower(),
    "max": max,
    "min": min,
    "reversed": lambda items: items[::-1],
    "sorted": sorted,
    "sum": sum,
    "text": spelled,
    "upper": lambda text: str(text).upper(),
}
"""The functions of the language, by name."""
_RULES: Mapping[type, Callable[[Any, Mapping[str, Any]], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _list,
    ast.BinOp: _operation,
    ast.UnaryOp: _unary,
    ast.Compare: _comparison,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.Attribute: _field,
    ast.Subscript: _item,
    ast.Call: _call,
}
