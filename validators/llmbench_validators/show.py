"""Values as short text for findings."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

MAX_LENGTH = 160
MAX_LINE = 600

# What differs from run to run: addresses, process numbers, and the folder an answer runs in.
_UNSTEADY = (
    (re.compile(r"\bat 0x[0-9a-fA-F]{6,}"), "at 0x…"),
    (re.compile(r"/proc/\d+"), "/proc/…"),
    (re.compile(r"[^\s'\"]*/llmbench-\w{8}(?:/\d+)?(?!\w)"), "."),
)
_repr = reprlib.Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxset = _repr.maxfrozenset = _repr.maxdict = 20
_repr.maxstring = _repr.maxother = _repr.maxlong = 120


def value(thing: Any) -> str:
    """``repr`` cut to MAX_LENGTH characters, at a cost that does not grow with the value."""
    try:
        return cut(steady(_repr.repr(thing)))
    except ValueError:  # an int of more digits than Python converts
        return f"a {type(thing).__name__} too long to show"


def call(name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as it would be written."""
    parts = [value(arg) for arg in args] + [f"{key}={value(arg)}" for key, arg in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def cut(text: str) -> str:
    """``text`` with an ellipsis in place of what is over MAX_LENGTH characters."""
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def steady(text: str) -> str:
    """``text`` without what would differ in the next run."""
    for pattern, instead in _UNSTEADY:
        text = pattern.sub(instead, text)
    return text


def line(text: str) -> str:
    """``text`` on one line without control characters, at most MAX_LINE of them: parts of it are a model's."""
    text = steady(text)
    safe = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:MAX_LINE])
    return safe if len(text) <= MAX_LINE else safe + "…"
