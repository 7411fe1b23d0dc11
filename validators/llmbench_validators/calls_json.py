"""Calls written as JSON objects, in the shapes the model families use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llmbench_validators import calls_python
from llmbench_validators.calls_found import MAX_FOUND, Broken, Call, Parsed, bare_name
from llmbench_validators.tool_schema import Tools

_NAME_KEYS = ("name", "function", "tool_name", "function_name", "tool")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "function")
_MAX_WRAPPERS = 4
_MAX_FAILURES = 200
_START = re.compile(r"\{\s*[\"']|\[\s*\{\s*[\"']")
_NAMED = re.compile(
    r"[\[{\s]*[\"'](?:name|function|tool_calls?|function_call|tool_name|function_name|tool|type|id)[\"']\s*:"
)
_ARGUED = re.compile(r"[\"'](?:arguments|parameters|args)[\"']\s*:")
_STRAY = re.compile(r"\s*\}")
_REACH = 2000


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def value_at(text: str, start: int, *, python: bool = True) -> tuple[Any, int] | None:
    """The JSON value (or, with ``python``, the Python literal) that begins at ``start``, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return calls_python.literal_at(text, start) if python else None
    return value, end


def decoded(text: str) -> Any:
    """``text`` as a JSON value; raises ValueError."""
    try:
        return _DECODER.decode(text)
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc


def arguments(value: Any) -> dict[str, Any] | None:
    """Arguments as an object, also from JSON text of one, written once or twice over; None for anything else."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = decoded(value) if value.strip() else {}
        except ValueError:
            return None
    if value is None:
        return {}
    return dict(value) if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) else None


def calls(value: Any, tools: Tools, *, marked: bool) -> Parsed:
    """The calls a value states; none when it states none.

    ``marked``: it stands where only calls stand, so that a name alone is one.
    """
    return _calls(value, tools, marked, _MAX_WRAPPERS)


def _calls(value: Any, tools: Tools, marked: bool, depth: int) -> Parsed:
    if isinstance(value, list):
        return _list(value, tools, marked, depth)
    if not isinstance(value, Mapping) or depth == 0:
        return []
    for key in _WRAPPERS:
        if isinstance(value.get(key), Mapping | list):
            return _calls(value[key], tools, True, depth - 1)
    return _object(value, tools, marked)


def _list(values: list[Any], tools: Tools, marked: bool, depth: int) -> Parsed:
    if depth == 0:
        return []
    each = [_calls(value, tools, marked, depth - 1) for value in values]
    if not any(each):
        return []
    return [call for value, found in zip(values, each, strict=True) for call in found or [_no_call(value)]]


def _no_call(value: Any) -> Broken:
    return Broken(f"{value!s:.400}" if isinstance(value, str | int | float) else type(value).__name__, "is no call")


def _object(value: Mapping[str, Any], tools: Tools, marked: bool) -> Parsed:
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")
    key = next((key for key in _ARGUMENT_KEYS if key in value), None)
    if not name or (key is None and not marked) or _is_definition(value):
        return []
    given = arguments(value[key]) if key is not None else {}
    if given is None:
        return [Broken(name, "its arguments are no object")]
    return [Call(bare_name(name, tools), given)]


def _is_definition(value: Mapping[str, Any]) -> bool:
    """Whether this is a tool's schema, told back."""
    schema = value.get("parameters")
    return isinstance(schema, Mapping) and schema.get("type") in ("object", "dict") and "properties" in schema


def scan(text: str, tools: Tools) -> Parsed | None:
    """The calls among the JSON values that stand in a text, in fences or bare.

    What begins like a call and cannot be read ends the search: no part of it counts.
    """
    found: Parsed = []
    position, failures = 0, 0
    while failures < _MAX_FAILURES and len(found) < MAX_FOUND and (match := _START.search(text, position)) is not None:
        start = match.start()
        attempt = _NAMED.match(text, start) is not None and _ARGUED.search(text, start, start + _REACH) is not None
        read = value_at(text, start, python=attempt)
        if read is not None and not (attempt and _STRAY.match(text, read[1])):
            found += calls(read[0], tools, marked=False)
            position = read[1]
        elif attempt:
            found.append(Broken(text[start : start + 400], "it is neither JSON nor a Python literal"))
            break
        else:
            position, failures = start + 1, failures + 1
    return found or None
