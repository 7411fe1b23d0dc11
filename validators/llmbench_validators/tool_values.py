"""Which values of an argument are right, and whether a given value is one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_validators.tool_schema import kinds, part
from llmbench_validators.types import ValidationSpecError

_CHOICE_KEYS = ("any_of", "optional")
_IGNORED = str.maketrans("", "", " ,./-_*^")


@dataclass(frozen=True, slots=True)
class Literal:
    """This value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with these fields and no others."""

    fields: Mapping[str, Choice]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of as many items, each right at its place."""

    items: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of these options; ``optional`` when leaving it out is right too."""

    options: tuple[Literal | Fields | Items, ...]
    optional: bool = False


def read_argument(value: Any, where: str) -> Choice:
    """What an expected argument allows: a literal, or ``{any_of: [option, …], optional: bool}``.

    Raises ValidationSpecError naming ``where``.
    """
    choice = _choice(value, where)
    return Choice((Literal(value),)) if choice is None else choice


def _choice(value: Any, where: str) -> Choice | None:
    if not isinstance(value, Mapping) or not (set(value) & set(_CHOICE_KEYS) and _meant(value)):
        return None
    unknown = [key for key in value if key not in _CHOICE_KEYS]
    if unknown or "any_of" not in value:
        fault = f"unknown key {unknown[0]!r}" if unknown else "any_of is missing"
        raise ValidationSpecError(f"{where}: {fault} beside {_CHOICE_KEYS}; a literal goes into any_of: [...]")
    options, optional = value["any_of"], value.get("optional", False)
    if not isinstance(options, list | tuple) or not isinstance(optional, bool):
        raise ValidationSpecError(f"{where}: any_of must be a list and optional true or false")
    if not options and not optional:
        raise ValidationSpecError(f"{where}: any_of is empty, so nothing would be right; add a value or optional: true")
    return Choice(tuple(_option(item, f"{where}.any_of[{n}]") for n, item in enumerate(options)), optional)


def _meant(value: Mapping[Any, Any]) -> bool:
    """Whether the keys are ours: an object that merely has a field called ``optional`` is a literal."""
    return "any_of" in value or len(value) == 1


def _option(value: Any, where: str) -> Literal | Fields | Items:
    if isinstance(value, Mapping) and len(value) == 1:
        fields, items = value.get("fields"), value.get("items")
        if isinstance(fields, Mapping):
            return Fields({str(key): _nested(item, f"{where}.fields.{key}") for key, item in fields.items()})
        if isinstance(items, list | tuple):
            return Items(tuple(_nested(item, f"{where}.items[{n}]") for n, item in enumerate(items)))
    return Literal(value)


def _nested(value: Any, where: str) -> Choice:
    choice = _choice(value, where)
    return Choice((_option(value, where),)) if choice is None else choice


def allows(choice: Choice, given: Any, schema: Mapping[str, Any], *, loose: bool) -> bool:
    """Whether ``given`` is one of the options; ``loose`` compares strings as ``match: bfcl`` says."""
    return any(_fits(option, given, schema, loose) for option in choice.options)


def _fits(option: Literal | Fields | Items, given: Any, schema: Mapping[str, Any], loose: bool) -> bool:
    if isinstance(option, Literal):
        return equal(option.value, given, schema, loose=loose)
    if isinstance(option, Items):
        inner = part(schema, "items")
        return (
            isinstance(given, list | tuple)
            and len(given) == len(option.items)
            and all(allows(one, item, inner, loose=loose) for one, item in zip(option.items, given, strict=True))
        )
    return isinstance(given, Mapping) and _fields_fit(option.fields, given, schema, loose)


def _fields_fit(wanted: Mapping[str, Choice], given: Mapping[Any, Any], schema: Mapping[str, Any], loose: bool) -> bool:
    if any(key not in wanted for key in given):
        return False
    return all(
        allows(choice, given[key], part(schema, "properties", key), loose=loose) if key in given else choice.optional
        for key, choice in wanted.items()
    )


def equal(wanted: Any, given: Any, schema: Mapping[str, Any], *, loose: bool) -> bool:
    """Whether two values are the same JSON value: a boolean is no number, lists are ordered, 4 and 4.0 are equal.

    ``loose`` leaves case, spaces and ``,./-_*^`` out of account in strings, and refuses 4.0 for an integer.
    """
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    if isinstance(wanted, int | float) and isinstance(given, int | float):
        return wanted == given and not (loose and isinstance(given, float) and kinds(schema) == {"integer"})
    if isinstance(wanted, str) and isinstance(given, str):
        return wanted == given or (loose and _bare(wanted) == _bare(given))
    return _equal_parts(wanted, given, schema, loose)


def _equal_parts(wanted: Any, given: Any, schema: Mapping[str, Any], loose: bool) -> bool:
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        return set(wanted) == set(given) and all(
            equal(wanted[key], given[key], part(schema, "properties", str(key)), loose=loose) for key in wanted
        )
    if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
        inner = part(schema, "items")
        return len(wanted) == len(given) and all(
            equal(one, other, inner, loose=loose) for one, other in zip(wanted, given, strict=True)
        )
    return wanted is None and given is None


def _bare(text: str) -> str:
    return text.translate(_IGNORED).lower()
