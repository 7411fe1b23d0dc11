"""BFCL's function descriptions as the tools of an OpenAI request, and its ground truth as a validator's calls.

Sources: the types and the rule that dots in names become underscores are those of the published handlers
(gorilla, berkeley-function-call-leaderboard, Apache-2.0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.catalog.importers.rows import Row

_TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "int": "integer"}
_KNOWN = frozenset({"object", "array", "number", "integer", "string", "boolean", "null"})
_KEPT = ("description", "enum", "default", "required", "format", "minimum", "maximum")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MAX_DEPTH = 30


def tool_name(name: str) -> str:
    """The name as servers accept it."""
    return _UNFIT.sub("_", name)[:64]


def tool(row: Row, function: Any) -> dict[str, Any]:
    """One function as a tool."""
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise row.error("function must hold objects with a name.", "As BFCL's own files do.")
    parameters = function.get("parameters") or {}
    described: dict[str, Any] = {"name": tool_name(function["name"]), "parameters": _schema(row, parameters, 0)}
    if isinstance(function.get("description"), str):
        described["description"] = function["description"]
    return {"type": "function", "function": described}


def _schema(row: Row, given: Any, depth: int) -> dict[str, Any]:
    if not isinstance(given, Mapping) or depth > _MAX_DEPTH:
        raise row.error("parameters must be a schema, and not nested too deep.", "As in BFCL's own files.")
    schema: dict[str, Any] = {key: given[key] for key in _KEPT if key in given}
    kind = _TYPES.get(str(given.get("type")), given.get("type"))
    if isinstance(kind, str) and kind in _KNOWN:  # "any" is no type of JSON schema; without a type, anything goes
        schema["type"] = kind
    if isinstance(given.get("properties"), Mapping):
        schema["properties"] = {
            str(name): _schema(row, inner, depth + 1) for name, inner in given["properties"].items()
        }
    if isinstance(given.get("items"), Mapping):
        schema["items"] = _schema(row, given["items"], depth + 1)
    return schema


def calls(row: Row, truth: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The calls a validator wants, and one set of right calls."""
    if not isinstance(truth, Sequence) or not all(isinstance(one, Mapping) and len(one) == 1 for one in truth):
        raise row.error("ground_truth must be a list of calls, each {function: {argument: [values]}}.")
    wanted, given = [], []
    for name, arguments in (next(iter(one.items())) for one in truth):
        if not isinstance(arguments, Mapping) or not all(isinstance(one, list) for one in arguments.values()):
            raise row.error("ground_truth must list the values of each argument.")
        choices = {str(key): _choice(values, 0) for key, values in arguments.items()}
        wanted.append({"function": tool_name(name), "arguments": choices})
        given.append({"name": tool_name(name), "arguments": _first(arguments)})
    return wanted, given


def _choice(values: list[Any], depth: int) -> dict[str, Any]:
    """An empty string among the allowed values means that the argument may be left out."""
    return {"any_of": [_option(value, depth) for value in values if value != ""], "optional": "" in values}


def _option(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        fields = {key: one if isinstance(one, list) else [one] for key, one in value.items()}
        return {"fields": {key: _choice(one, depth + 1) for key, one in fields.items()}}
    nested = isinstance(value, list) and any(isinstance(item, dict) for item in value)
    return {"items": [_option(item, depth + 1) for item in value]} if nested else value


def _first(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(key): _plain(real[0])
        for key, values in arguments.items()
        if (real := [one for one in (values if isinstance(values, list) else [values]) if one != ""])
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _first(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value
