"""Tasks and suites as the catalog loads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Difficulty = Literal["easy", "medium", "hard"]
CHARS_PER_TOKEN = 4
"""Of plain English, roughly."""


@dataclass(frozen=True, slots=True)
class Load:
    """How a task that measures speed is asked: ``requests`` times, ``concurrency`` at once, nothing else meanwhile.

    ``warm_up`` requests go before and are counted nowhere. Each prompt begins with a line of its own, so that no
    server answers from a cache of prompts.
    """

    concurrency: int = 1
    requests: int = 8
    warm_up: int = 1

    def as_dict(self) -> dict[str, int]:
        """As plain data."""
        return {"concurrency": self.concurrency, "requests": self.requests, "warm_up": self.warm_up}


class Draws(Protocol):
    """What makes a task anew from a seed."""

    def draw(self, seed: int) -> Task:
        """The task of that seed."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a prompt and how its answer is graded.

    ``validation`` is the VALIDATION block with hidden tests merged in; it never leaves the server. ``template`` is
    there where the task was generated and can be drawn anew.
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
    load: Load | None = None
    template: Draws | None = field(default=None, compare=False, repr=False)

    @property
    def category(self) -> str:
        """The id's first part: ``coding`` of ``coding/is_even``."""
        return self.id.split("/", 1)[0]

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens the prompt has, by its characters; servers count what it really has."""
        return -(-(len(self.prompt) + len(self.system or "")) // CHARS_PER_TOKEN)

    @property
    def in_turns(self) -> bool:
        """Whether right calls are answered with given results, after which the model is asked on."""
        return "turns" in self.validation

    def content_hash(self) -> str:
        """Hash of everything that can change a verdict: 16 hex digits."""
        body: list[Any] = [self.prompt, self.system, self.expected, self.validation, list(self.needs)]
        if self.load is not None:
            body += [self.load.as_dict(), self.max_tokens]
        text = json.dumps(body, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SpeedLimits:
    """Seconds a good answer stays within: to its first token, and from one token to the next on average."""

    ttft_s: float = 2.0
    itl_s: float = 0.1


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """A task's place in a suite."""

    task_id: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Suite:
    """A named, weighted, versioned list of tasks. ``source`` is the file it came from.

    ``limits``: what an answer of a suite that measures speed must keep to be a good one. ``seed``: what its generated
    tasks were drawn with; None for the suite as it stands. ``origin``: of an imported suite, which files it was made
    of, how much of them, and under which licence.
    """

    name: str
    title: str
    description: str
    version: int
    items: tuple[SuiteItem, ...]
    source: str = field(default="", compare=False)
    limits: SpeedLimits = SpeedLimits()
    seed: int | None = None
    licence: str | None = None
    origin: Mapping[str, Any] | None = field(default=None, compare=False)
