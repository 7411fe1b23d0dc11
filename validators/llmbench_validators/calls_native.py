"""The calls a server returned in their own field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators import calls_json, show
from llmbench_validators.calls_found import Broken, Call, Found

NATIVE = "native"


def read(entries: Sequence[Mapping[str, Any]]) -> Found:
    """The calls of ``{"name", "arguments"}`` or OpenAI's ``{"function": {…}}`` entries, names as they are."""
    return Found([_call(entry) for entry in entries], NATIVE) if entries else Found()


def _call(entry: Mapping[str, Any]) -> Call | Broken:
    function = entry.get("function")
    source = function if isinstance(function, Mapping) else entry
    name = source.get("name")
    if not isinstance(name, str) or not name:
        return Broken(show.value(entry), "it names no function")
    given = calls_json.arguments(source.get("arguments"))
    return Call(name, given) if given is not None else Broken(show.cut(name), "its arguments are no JSON object")
