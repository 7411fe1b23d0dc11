"""The tools a task offers, as their JSON schemas describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Data sets made for Python functions name types in Python's words.
_ALIASES = {
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "float": "number",
    "double": "number",
    "int": "integer",
    "long": "integer",
    "str": "string",
    "bool": "boolean",
}
_KINDS = frozenset({"object", "array", "number", "integer", "string", "boolean", "null"})


@dataclass(frozen=True, slots=True)
class Tool:
    """One function: its parameters' schemas by name (None when the tool declares none) and the required names."""

    name: str
    properties: Mapping[str, Any] | None = None
    required: frozenset[str] = field(default_factory=frozenset)

    def schema(self, parameter: str) -> Mapping[str, Any]:
        """The parameter's schema, empty when there is none."""
        found = (self.properties or {}).get(parameter)
        return found if isinstance(found, Mapping) else {}

    def declares(self, parameter: str) -> bool:
        """Whether the tool has a parameter of this name."""
        return parameter in (self.properties or {})


Tools = Mapping[str, Tool]


def kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types a schema allows by its ``type``; empty when it leaves that open."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list | tuple) else [declared]
    found = {_ALIASES.get(name, name) for name in names if isinstance(name, str)}
    return frozenset(found) if found <= _KINDS else frozenset()


def part(schema: Mapping[str, Any], key: str, name: str | None = None) -> Mapping[str, Any]:
    """The schema of a part of a value: its ``items``, or one of its ``properties``; empty when there is none."""
    inner = schema.get(key)
    if name is not None and isinstance(inner, Mapping):
        inner = inner.get(name)
    return inner if isinstance(inner, Mapping) else {}
