"""Tool calls put together from stream fragments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from llmbench_mcp.domain.chat import ToolCall

MAX_CALLS = 256
MAX_LEVELS = 64
"""Arguments nested deeper stay text: walking them would overflow the stack of whoever copies or compares them."""


class _Call:
    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.pieces: list[str] = []
        self.ready: Any = None

    def finish(self) -> ToolCall:
        if self.ready is not None:
            return ToolCall(self.name, self.ready)
        text = "".join(self.pieces)
        try:
            arguments = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError):
            return ToolCall(self.name, text)
        return ToolCall(self.name, text if _too_deep(arguments) else arguments)


class ToolCallBuilder:
    """Joins fragments by ``index``; without one, an id or name begins a call and the rest goes to the last.

    Some servers send every whole call under index 0, so a new id with a name begins a new call too.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def add(self, fragments: Any) -> int:
        """Take a delta's ``tool_calls``; returns how many characters it brought (0: an empty delta)."""
        if not isinstance(fragments, list):
            return 0
        return sum(self._add_one(fragment) for fragment in fragments if isinstance(fragment, Mapping))

    def finish(self) -> tuple[ToolCall, ...]:
        """All calls in the order they began."""
        return tuple(call.finish() for call in self._calls)

    def _add_one(self, fragment: Mapping[str, Any]) -> int:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        call = self._find(fragment, function)
        if call is None:
            return 0
        if isinstance(fragment.get("id"), str):
            call.id = call.id or fragment["id"]
        return _append_name(call, function.get("name")) + _append_arguments(call, function.get("arguments"))

    def _find(self, fragment: Mapping[str, Any], function: Mapping[str, Any]) -> _Call | None:
        index, begins = fragment.get("index"), bool(fragment.get("id") or function.get("name"))
        if not isinstance(index, int):
            return self._calls[-1] if self._calls and not begins else self._begin(None)
        known = self._by_index.get(index)
        if known is None or _is_another(known, fragment, function):
            return self._begin(index)
        return known

    def _begin(self, index: int | None) -> _Call | None:
        if len(self._calls) >= MAX_CALLS:
            return None
        call = _Call()
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _is_another(known: _Call, fragment: Mapping[str, Any], function: Mapping[str, Any]) -> bool:
    new_id = fragment.get("id")
    return bool(new_id and known.id and new_id != known.id and function.get("name"))


def _append_name(call: _Call, name: Any) -> int:
    if not isinstance(name, str) or call.name == name:
        return 0
    call.name += name
    return len(name)


def _append_arguments(call: _Call, arguments: Any) -> int:
    if isinstance(arguments, str):
        call.pieces.append(arguments)
        return len(arguments)
    if arguments is not None:
        call.ready = _written(arguments) if _too_deep(arguments) else arguments
        return len(repr(call.ready))
    return 0


def _too_deep(value: Any) -> bool:
    """Whether objects and lists are nested in more than MAX_LEVELS levels."""
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _written(value: Any) -> str:
    """JSON of any depth, which ``json.dumps`` cannot write."""
    pieces: list[str] = []
    waiting: list[tuple[str, Any]] = [("value", value)]
    while waiting:
        kind, current = waiting.pop()
        if kind == "text":
            pieces.append(current)
        elif isinstance(current, dict | list):
            waiting += reversed(_parts(current))
        else:
            pieces.append(json.dumps(current))
    return "".join(pieces)


def _parts(value: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    """One level of JSON: text to write as it is, and values to write in their turn."""
    named = isinstance(value, dict)
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    parts: list[tuple[str, Any]] = [("text", "{" if named else "[")]
    for count, (name, inner) in enumerate(entries):
        comma = ", " if count else ""
        parts += [("text", f"{comma}{json.dumps(name)}: " if named else comma), ("value", inner)]
    return [*parts, ("text", "}" if named else "]")]
