"""Schemas as short as they can be: every one is paid for in tokens by every agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_LITERAL = ("default", "enum", "const", "required", "type")
_NULL = {"type": "null"}
_WIDE = 100


def slim_input(schema: Schema) -> Schema:
    """An argument schema without generated titles and defaults that say nothing, closed to unknown names."""
    short = _slim(schema, schema.get("$defs", {}))
    arguments = {name: _without_the_obvious(argument) for name, argument in short["properties"].items()}
    return short | {"properties": arguments, "additionalProperties": False}


def _without_the_obvious(argument: Schema) -> Schema:
    """That an argument may be left out is seen from ``required``; that it is then empty, off, or the first of the words
    it may be goes without saying, and so do bounds that only nonsense meets. What comes is checked by the whole schema.
    """
    default, first = argument.get("default"), argument.get("enum", [None])[0]
    needless = {"default"} if default is False or default in ("", [], {}, first) else set()
    if not 0 <= argument.get("minimum", -1) < argument.get("maximum", _WIDE) < _WIDE:
        needless |= {"minimum", "maximum"}
    return {name: value for name, value in argument.items() if name not in needless}


def slim_output(schema: Schema | None) -> Schema | None:
    """A result schema without generated titles, defaults and class docstrings, its parts written in place.

    Fields of the result stand under their names without a type, lists with ``items``; what lies deeper is told by name
    in the description. Results show their own shape, and a row told in words costs a third of what it does as a schema.
    Nothing is called required: what is not known is left out of any result. The server checks its results against the
    whole schema, not this one.
    """
    if schema is None:
        return None
    root = {key: value for key, value in schema.items() if key != "description"}
    slim = _slim(root, schema.get("$defs", {}), drop=("default", "required"))
    return slim | {"properties": {name: _told(field) for name, field in slim["properties"].items()}}


def _told(field: Schema) -> Schema:
    parts = _parts(field)
    description = ": ".join(text for text in (field.get("description"), parts) if text)
    short: Schema = {"items": {}} if "items" in field else {}
    return short | {"description": description} if description else short


def _parts(field: Schema) -> str:
    """The names of what a field is made of, each with its description."""
    inside = [field.get(key) for key in ("items", "additionalProperties")]
    named: Mapping[str, Schema] = next(
        (node["properties"] for node in (field, *inside) if isinstance(node, dict) and "properties" in node), {}
    )
    return ", ".join(_named(name, part) for name, part in named.items())


def _named(name: str, field: Schema) -> str:
    parts = _parts(field)
    listed = f"{name} [{parts}]" if parts else name
    return f"{listed} ({field['description']})" if "description" in field else listed


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
