"""Schemas as short as they can be: every one is paid for in tokens by every agent."""

from __future__ import annotations

from typing import Any

_NAMED = ("properties", "$defs")
_NULL = {"type": "null"}


def slim_input(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument schema without generated titles, closed to unknown names."""
    slim: dict[str, Any] = _slim(schema)
    return slim | {"additionalProperties": False}


def slim_output(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """A result schema without generated titles, docstrings and defaults."""
    if schema is None:
        return None
    slim: dict[str, Any] = _slim(schema, drop=("default",))
    return slim


def _slim(node: Any, drop: tuple[str, ...] = ()) -> Any:
    if isinstance(node, list):
        return [_slim(item, drop) for item in node]
    if not isinstance(node, dict):
        return node
    short: dict[str, Any] = {}
    for key, value in _without_null(node).items():
        if key in _NAMED:
            short[key] = {name: _slim(item, drop) for name, item in value.items()}
        elif not (key == "title" and isinstance(value, str)) and key not in drop:
            short[key] = value if key in ("default", "enum", "const") else _slim(value, drop)
    if "properties" in short:  # a class docstring is for readers of the code
        short.pop("description", None)
    return short


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Optional fields are left out when unknown, never null."""
    arms = node.get("anyOf", [])
    real = [arm for arm in arms if arm != _NULL]
    if len(real) == 1 and len(arms) == 2:
        kept: dict[str, Any] = {key: value for key, value in node.items() if key != "anyOf"}
        return kept | real[0]
    return node
