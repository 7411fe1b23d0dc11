"""What ``run start`` takes from options and files: parameter lists and own tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from llmbench_mcp.cli.usage import UsageError
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Task

_MOST_BYTES = 50_000_000


def matrix_of(given: list[str], context: typer.Context) -> dict[str, tuple[Any, ...]]:
    """Values by parameter, from ``NAME=V1,V2``; ``default`` is the server's default. Raises UsageError."""
    matrix: dict[str, tuple[Any, ...]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not values or name in matrix:
            raise UsageError(f"--param {text!r} is not NAME=V1,V2, or names a parameter again.", context)
        matrix[name] = tuple(_value(value.strip()) for value in values.split(","))
    return matrix


def _value(text: str) -> int | float | str | None:
    if text == "default":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def tasks_in(path: Path | None) -> tuple[Task, ...]:
    """Tasks of a JSON list or of JSON lines.

    Raises:
        InputError: the file cannot be read, or says something else; names the line.
    """
    if path is None:
        return ()
    from llmbench_mcp.services.custom_tasks import custom_tasks

    tasks = custom_tasks(_entries(path))
    if not tasks:
        raise InputError(f"{path} holds no task.", "Write a JSON list, or one JSON object per line.")
    return tasks


def _entries(path: Path) -> list[Any]:
    try:
        with path.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)  # a device has no size
        if len(raw) > _MOST_BYTES:
            raise InputError(f"{path} is larger than {_MOST_BYTES} bytes.", "Split it.")
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Give a UTF-8 file.") from error
    if text.lstrip().startswith("["):
        return _parsed(path, 1, text)  # type: ignore[no-any-return]  # it begins as a list
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [_parsed(path, number, line) for number, line in lines]


def _parsed(path: Path, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = line + getattr(error, "lineno", 1) - 1
        raise InputError(f"{path}:{at}: is not valid JSON: {error}.", "Mend that line.") from error
