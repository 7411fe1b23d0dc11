"""One item of a public data set or of a user's own, on its way to becoming a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmbench_mcp.domain.task import Difficulty


@dataclass(frozen=True, slots=True)
class Answer:
    """A right answer, as a model would give it: text, native calls ``{name, arguments}``, or both."""

    text: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A task without a suite. ``where`` is ``file:line`` for messages.

    ``marked`` says why the item is known to be bad: it is kept, and neither asked nor counted. ``answer`` is for
    checks alone and leaves the machine through nothing.
    """

    name: str
    prompt: str
    validation: Mapping[str, Any]
    where: str
    system: str | None = None
    title: str = ""
    difficulty: Difficulty = "medium"
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    max_tokens: int | None = None
    answer: Answer | None = field(default=None, repr=False)
    marked: str | None = None
