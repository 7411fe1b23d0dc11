"""Schemas as short as they can be: every one is paid for in tokens by every agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_LITERAL = ("default", "enum", "const", "required", "type")
_NULL = {"type": "null"}


def slim_input(schema: Schema) -> Schema:
    """An argument schema without generated titles and defaults that say nothing, closed to unknown names."""
    short = _slim(schema, schema.get("$defs", {}))
    arguments = {name: _without_empty_default(argument) for name, argument in short["properties"].items()}
    return short | {"properties": arguments, "additionalProperties": False}


def _without_empty_default(argument: Schema) -> Schema:
    """That an argument may be left out is seen from ``required``; that it is then empty or off goes without saying."""
    default = argument.get("default")
    return _without(argument, "default") if default is False or default in ("", []) else argument


def slim_output(schema: Schema | None) -> Schema | None:
    """A result schema without generated titles, defaults and class docstrings, its parts written in place.

    Below the root a field without a type is text, a list where it has ``items``, an object where it has
    ``properties``. Nothing is called required: what is not known is left out of any result.
    """
    if schema is None:
        return None
    root = {key: value for key, value in schema.items() if key != "description"}
    slim = _slim(root, schema.get("$defs", {}), drop=("default", "required"))
    return slim | {"properties": {name: _terse(field) for name, field in slim["properties"].items()}}


def _terse(node: Schema) -> Schema:
    plain = node.get("type") == "string" or "items" in node or "properties" in node
    short = _without(node, "type") if plain else dict(node)
    if isinstance(short.get("items"), dict):
        short["items"] = _terse(short["items"])
    if "properties" in short:
        short["properties"] = {name: _terse(field) for name, field in short["properties"].items()}
    return short


def _slim(node: Schema, parts: Mapping[str, Schema], drop: tuple[str, ...] = ()) -> Schema:
    short: Schema = {}
    for key, value in _plain(node, parts).items():
        if key in ("title", "$defs", *drop) or (key == "additionalProperties" and value is True):
            continue
        if key == "properties":
            short[key] = {name: _slim(item, parts, drop) for name, item in value.items()}
        elif isinstance(value, dict) and key not in _LITERAL:
            short[key] = _slim(value, parts, drop)
        elif isinstance(value, list) and key not in _LITERAL:
            short[key] = [_slim(item, parts, drop) for item in value]
        else:
            short[key] = value
    return short


def _plain(node: Schema, parts: Mapping[str, Schema]) -> Schema:
    """The node with its reference resolved and without a null arm: what is unknown is left out, never null."""
    if "$ref" in node:
        part = parts[node["$ref"].rpartition("/")[2]]
        return {key: value for key, value in part.items() if key != "description"} | _without(node, "$ref")
    arms = [arm for arm in node.get("anyOf", ()) if arm != _NULL]
    if len(arms) == 1:
        return _plain(arms[0], parts) | _without(node, "anyOf")
    return node


def _without(node: Schema, key: str) -> Schema:
    return {name: value for name, value in node.items() if name != key}
