"""What goes into a validator and what comes out of it: plain, frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MAX_TEXT = 400_000
"""Characters of an answer in which code and calls are looked for; more is a model in a loop."""

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer as graded: the final text (reasoning excluded by the server, or still inside tags).

    ``tool_calls`` holds ``{"name": str, "arguments": dict | str}`` items the server returned natively. ``earlier``
    holds, of a task in turns, the answers before this one: ``{"text": str, "tool_calls": [...]}`` each.
    """

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str | None = None
    prompt: str = ""
    earlier: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """How many of a stage's checks passed."""

    passed: int
    total: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of grading one completion.

    ``score`` is in 0..1; ``failure`` is one word of the failure table or None when passed;
    ``graded_text`` is the exact text that was judged and ``extractor`` the rule that found it.
    ``isolation`` names the sandbox level code ran under, None when no code ran.
    """

    passed: bool
    score: float
    confidence: Confidence
    validator: str
    version: str
    failure: str | None = None
    findings: tuple[str, ...] = ()
    stages: Mapping[str, Stage] = field(default_factory=dict)
    subscores: Mapping[str, float] = field(default_factory=dict)
    graded_text: str = ""
    extractor: str | None = None
    isolation: str | None = None


class ValidationSpecError(ValueError):
    """A task's VALIDATION block is wrong; the message names the key and says what is allowed."""


class SandboxFault(RuntimeError):
    """The sandbox itself failed, or this machine cannot give the isolation asked for.

    Says nothing about the completion: never a verdict, always an error of ours.
    """


class Validator(Protocol):
    """A validator module's two public members, reached through the ``llmbench.validators`` entry points.

    The entry point names ``validate``; its module also holds ``VERSION`` (changes whenever a verdict can).
    """

    def __call__(self, spec: Mapping[str, Any], completion: Completion) -> Verdict:
        """Grade ``completion`` against a VALIDATION block. Raises ValidationSpecError for a wrong block.

        The whole block is read before the completion, and no code is run for an empty one: so are blocks checked.
        """
        ...
