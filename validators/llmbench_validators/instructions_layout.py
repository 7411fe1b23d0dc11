"""The layout of an answer: marks, lists, sections, beginnings and ends.

Where the published program is looser or stricter by accident, these rules follow the instruction's words: a
highlight is Markdown emphasis and no bullet; a bullet is a list item and no rule; a section's label begins a line; a
placeholder is no link; ``***`` divides paragraphs only where it stands alone; an answer that holds two of the three
constrained phrases chooses none; JSON means an object or a list, alone or as the only fenced block around it.
"""

from __future__ import annotations

import re

from llmbench_validators import json_answer, show
from llmbench_validators.composed import nfc

_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_BULLET = re.compile(
    r"^[ \t]*(?:[-*+\u2022][ \t]+(?=\S)(?![-*_ \t]*$)|\*(?=[^\s*])(?!.*\*)|[-\u2022](?=[^\W\d_]))", re.MULTILINE
)
_HIGHLIGHT = re.compile(r"(?<![*A-Za-z0-9])\*{1,3}(?=[^\s*])[^*\n]*(?<=[^\s*])\*{1,3}(?!\*)")
_PLACEHOLDER = re.compile(r"\[([^\[\]\n]*)\](?!\()")
_DIVIDER = re.compile(r"(?<!\S)\*{3}(?!\S)")
_TITLE = re.compile(r"<<([^<>\n]*)>>")
_FENCE = re.compile(r"```[ \t]*(?:json)?[ \t]*\n", re.IGNORECASE)
_OPENING_QUOTES, _CLOSING_QUOTES = '"\u201c\u201e', '"\u201d\u201c'


def bullets(text: str) -> int:
    """The number of list items marked with -, *, + or a bullet, at any depth, a blank behind the mark or not."""
    return len(_BULLET.findall(text))


def highlights(text: str) -> int:
    """The number of passages between asterisks within a line."""
    return len(_HIGHLIGHT.findall(text))


def placeholders(text: str) -> int:
    """The number of texts in square brackets that are no Markdown links."""
    return sum(not inside.isspace() and inside != "" for inside in _PLACEHOLDER.findall(text))


def sections(text: str, label: str) -> int:
    """The number of lines that begin with the label and a number, case as asked, Markdown aside."""
    return len(re.findall(rf"^[^\w\n]*{re.escape(label)}\s?\d+", text, re.MULTILINE))


def divided_paragraphs(text: str) -> list[str] | None:
    """The paragraphs between ``***`` dividers; None when one in the middle is empty."""
    parts = _DIVIDER.split(text)
    if not all(part.strip() for part in parts[1:-1]):
        return None
    return [part for part in parts if part.strip()]


def blank_line_paragraphs(text: str) -> list[str]:
    """The paragraphs between blank lines."""
    return [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def no_postscript(text: str, marker: str) -> str | None:
    """Whether nothing begins with the marker, at a line's start or after a sentence or bracket, and says something."""
    spelt = r"\s?".join(re.escape(char) for char in marker if not char.isspace())
    found = re.search(rf"(?:^[^\w\n]*|[.!?)\u2026][\"'*_]*\s){spelt}.*\w", text, re.IGNORECASE | re.MULTILINE)
    return None if found else f"no postscript that begins with {show.value(marker)}"


def no_title(text: str) -> str | None:
    """Whether no title stands in double angular brackets."""
    return None if any(title.strip() for title in _TITLE.findall(text)) else "no title in double angular brackets"


def no_single_option(text: str) -> str | None:
    """Whether the text holds other than exactly one of the three constrained phrases."""
    found = [option for option in _OPTIONS if option in text]
    return None if len(found) == 1 else f"{len(found)} of the phrases to choose from"


def not_json(text: str) -> str | None:
    """Whether the text is more or less than one JSON object or list, bare or in one fence."""
    body = text.strip()
    opening = _FENCE.match(body)
    if opening and body.endswith("```"):
        body = body[opening.end() : -3]
    answer = json_answer.read(body, "text")
    if answer.problem is not None:
        return answer.problem
    return None if isinstance(answer.value, dict | list) else "the JSON is neither an object nor a list"


def not_two_responses(text: str) -> str | None:
    """Whether there are other than two different responses, divided by six asterisks."""
    parts = [part.strip() for part in re.split(r"\*{6,}", text)]
    if not all(parts[1:-1]):
        return "an empty response"
    given = [part for part in parts if part]
    if len(given) != 2:
        return f"{len(given)} responses, 2 wanted"
    return "the responses are the same" if given[0] == given[1] else None


def not_repeated(text: str, prompt: str) -> str | None:
    """Whether the text does not begin with the prompt; case and the kind of white space do not matter."""
    return None if _flat(text).startswith(_flat(prompt)) else "the request is not repeated first"


def not_ended(text: str, phrase: str) -> str | None:
    """Whether the text does not end with the phrase; closing quotes and case do not matter."""
    closing = _CLOSING_QUOTES + " "
    ended = _flat(text).rstrip(closing).endswith(_flat(phrase).rstrip(closing))
    return None if ended else "the text does not end with the phrase"


def not_quoted(text: str) -> str | None:
    """Whether the whole text does not stand in double quotation marks."""
    stripped = text.strip()
    quoted = len(stripped) > 2 and stripped[0] in _OPENING_QUOTES and stripped[-1] in _CLOSING_QUOTES
    return None if quoted else "not wrapped in double quotation marks"


def _flat(text: str) -> str:
    """In NFC, without case, on one line."""
    return " ".join(nfc(nfc(text).casefold()).split())
