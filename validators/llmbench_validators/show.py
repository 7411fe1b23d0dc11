"""Values as short text for findings."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

MAX_LENGTH = 160
MAX_LINE = 600

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")  # differs from run to run
_repr = reprlib.Repr()
_repr.maxlist = _repr.maxtuple = _repr.maxset = _repr.maxfrozenset = _repr.maxdict = 20
_repr.maxstring = _repr.maxother = _repr.maxlong = 120


def value(thing: Any) -> str:
    """``repr`` cut to MAX_LENGTH characters, at a cost that does not grow with the value."""
    try:
        return cut(_ADDRESS.sub("", _repr.repr(thing)))
    except ValueError:  # an int of more digits than Python converts
        return f"a {type(thing).__name__} too long to show"


def call(name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as it would be written."""
    parts = [value(arg) for arg in args] + [f"{key}={value(arg)}" for key, arg in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def cut(text: str) -> str:
    """``text`` with an ellipsis in place of what is over MAX_LENGTH characters."""
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def line(text: str) -> str:
    """``text`` on one line without control characters, at most MAX_LINE of them: parts of it are a model's."""
    safe = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:MAX_LINE])
    return safe if len(text) <= MAX_LINE else safe + "…"
