"""Tasks and suites as the catalog loads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Difficulty = Literal["easy", "medium", "hard"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a prompt and how its answer is graded.

    ``validation`` is the VALIDATION block with hidden tests merged in; it never leaves the server.
    """

    id: str
    prompt: str
    validation: Mapping[str, Any]
    system: str | None = None
    expected: str | None = None
    title: str = ""
    difficulty: Difficulty = "medium"
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    max_tokens: int | None = None
    licence: str | None = None

    @property
    def category(self) -> str:
        """The id's first part: ``coding`` of ``coding/is_even``."""
        return self.id.split("/", 1)[0]

    def content_hash(self) -> str:
        """Hash of everything that can change a verdict: 16 hex digits."""
        body = [self.prompt, self.system, self.expected, self.validation, list(self.needs)]
        text = json.dumps(body, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """A task's place in a suite."""

    task_id: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, weighted, versioned list of tasks. ``source`` is the file it came from."""

    name: str
    title: str
    description: str
    version: int
    items: tuple[SuiteItem, ...]
    source: str = field(default="", compare=False)
