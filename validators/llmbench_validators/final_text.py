"""The text of a completion that is graded as text: without its reasoning, bounded, with LF line ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmbench_validators import thoughts
from llmbench_validators.types import Completion

MAX_CHARACTERS = 400_000
"""Longer answers are not read: their verdict is ``output_limit``."""

_REFUSAL = re.compile(
    r"\bi(?:(?:'m| am)\s+(?:not able|unable|not allowed)\s+to|\s+(?:cannot|can't|can not|won't|will not))"
    r"\s+(?:\w+\s+){0,2}?(?:help|assist|comply|do (?:that|this)|provide|fulfil\w*|answer|create|write|continue)\b",
    re.IGNORECASE,
)
_MAX_REFUSAL = 600


@dataclass(frozen=True, slots=True)
class FinalText:
    """``failure`` and ``finding`` say why there is nothing to grade; None and empty when there is."""

    text: str
    failure: str | None = None
    finding: str = ""


def read(completion: Completion) -> FinalText:
    """The text to grade.

    Failure words: output_limit, budget_exhausted (cut off within the reasoning, or before anything was said),
    format (reasoning that never ends), empty.
    """
    if len(completion.text) > MAX_CHARACTERS:
        return FinalText("", "output_limit", f"The answer is longer than {MAX_CHARACTERS} characters.")
    text, unclosed = thoughts.answer(plain(completion.text))
    if text.strip() and not unclosed:
        return FinalText(text)
    if completion.finish_reason == "length":
        return FinalText(text, "budget_exhausted", "The text was cut off before an answer.")
    if unclosed:
        return FinalText(text, "format", "The reasoning was never closed, so there is no answer.")
    return FinalText(text, "empty", "The answer is empty.")


def plain(text: str) -> str:
    """``text`` without a byte order mark, with LF line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_refusal(text: str) -> bool:
    """Whether a short text declines the task in so many words."""
    return len(text) <= _MAX_REFUSAL and _REFUSAL.search(text.replace("\u2019", "'")) is not None


def why_short(completion: Completion, text: str, usual: str) -> tuple[str, str]:
    """The failure word of an answer that earned nothing, and its sentence (empty for the ``usual`` word)."""
    if completion.finish_reason == "length":
        return "budget_exhausted", "The text was cut off."
    if is_refusal(text):
        return "refusal", "The model declined to answer."
    return usual, ""
