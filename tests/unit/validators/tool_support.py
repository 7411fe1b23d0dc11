"""Tools and shorthands for the tests of tool use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators.tool_use import validate
from llmbench_validators.types import Completion, Verdict


def function(name: str, properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": "…", "parameters": parameters}}


TRAIN = {
    "start": {"type": "string"},
    "seats": {"type": "integer"},
    "price": {"type": "number"},
    "class": {"type": "string", "default": "second"},
    "quiet": {"type": "boolean"},
    "stops": {"type": "array", "items": {"type": "string"}},
    "rider": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
}
TOOLS = [function("book_train", TRAIN, "start"), function("notes.add", {"text": {"type": "string"}}, "text")]


def wanted(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": name, "arguments": arguments}


def native(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


BOOK = wanted("book_train", start="Graz")


def block(*calls: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tools": TOOLS, "expected_calls": list(calls), **keys}


def graded(
    asked: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]] = (), text: str = "", **keys: Any
) -> Verdict:
    finish = keys.pop("finish_reason", None)
    return validate(block(*asked, **keys), Completion(text, tuple(made), finish))


def in_text(text: str, **keys: Any) -> Verdict:
    """The verdict on a text that should call book_train with Graz."""
    return graded([BOOK], text=text, **keys)


GRAZ = json.dumps({"start": "Graz"})
AS_JSON = json.dumps({"name": "book_train", "arguments": {"start": "Graz"}})
