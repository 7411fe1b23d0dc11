"""The calls a model wrote into its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llmbench_validators import calls_json, calls_python, calls_tagged, repair, thoughts
from llmbench_validators.calls_found import Found, Parsed
from llmbench_validators.tool_schema import Tools
from llmbench_validators.types import MAX_TEXT


@dataclass(frozen=True, slots=True)
class Reading:
    """The calls of a text, the text outside its reasoning, and whether the reasoning was left open."""

    found: Found
    answer: str
    left_open: bool


def read(text: str, tools: Tools) -> Reading:
    """Find the calls in a text. The first form of the list that occurs decides; reasoning holds no calls.

    Marked calls; a text or a fenced block of Python calls; JSON objects anywhere; Python calls on their own lines.
    """
    text = text[:MAX_TEXT].removeprefix("\ufeff").replace("\r\n", "\n")
    if "<|channel|>" in text:
        found = calls_tagged.find(text, tools)
        if found.extractor == "harmony":
            return Reading(found, "", left_open=False)
    answer, left_open = thoughts.answer(text)
    return Reading(_find(answer, tools), answer, left_open)


def _find(answer: str, tools: Tools) -> Found:
    marked = calls_tagged.find(answer, tools)
    if marked.parsed:
        return marked
    plain = repair.SPECIAL_TOKEN.sub("", answer).strip()
    for name, form in _FORMS:
        parsed = form(plain, tools)
        if parsed:
            return Found(parsed, name)
    return Found()


_FORMS: tuple[tuple[str, Callable[[str, Tools], Parsed | None]], ...] = (
    ("python", calls_python.whole),
    ("python_fence", calls_python.fenced),
    ("json", calls_json.scan),
    ("python_line", calls_python.lines),
)
