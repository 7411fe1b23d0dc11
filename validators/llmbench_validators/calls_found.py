"""Calls as they were found in a completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators.tool_schema import Tools

# Not part of a function's name: how some families write that a name is a function's.
_NAMESPACES = ("functions.", "default_api.", "tools.")


MAX_FOUND = 512
"""Calls after which a text is not searched any further."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that could be read."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """Something meant to be a call that cannot be read as one, and why."""

    text: str
    reason: str


Parsed = list[Call | Broken]


@dataclass(frozen=True, slots=True)
class Found:
    """All calls of a completion, in order; ``extractor`` names the form they have, None when there is none."""

    parsed: Sequence[Call | Broken] = ()
    extractor: str | None = None

    @property
    def calls(self) -> list[Call]:
        """Those that could be read."""
        return [one for one in self.parsed if isinstance(one, Call)]

    @property
    def broken(self) -> list[Broken]:
        """Those that could not."""
        return [one for one in self.parsed if isinstance(one, Broken)]


def bare_name(name: str, tools: Tools) -> str:
    """A function's name as text forms write it, without a namespace that is no part of it."""
    if name in tools:
        return name
    for prefix in _NAMESPACES:
        if name.startswith(prefix) and (name[len(prefix) :] in tools or prefix == "functions."):
            return name[len(prefix) :]
    return name
