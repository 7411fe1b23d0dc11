"""Answers of several parts: tuples, whose order counts, and sets, whose order does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from llmbench_validators.answers import MARKERS, Candidate, sentences
from llmbench_validators.numbers import find_numbers, whole_number
from llmbench_validators.outcome import Outcome, Wanted
from llmbench_validators.wordings import tokens

Part = Fraction | tuple[str, ...]

_BRACKETS = {
    "tuple": re.compile(r"[(\[\u27e8<]([^()\[\]{}]*[,;][^()\[\]{}]*)[)\]\u27e9>]"),
    "set": re.compile(r"\\?\{([^{}]*?)\\?\}"),
}
_LIST = re.compile(r"[(\[]([^()\[\]]*[,;][^()\[\]]*)[)\]]")
_SEPARATOR = re.compile(r"\s*(?:[,;]|(?<!\w)(?:and|or|und|oder)(?!\w))(?:\s*(?:and|or)(?!\w))?\s*", re.IGNORECASE)
_SPACED = re.compile(r"\s*(?:[;]|,\s|(?<!\w)(?:and|or|und|oder)(?!\w))(?:\s*(?:and|or)(?!\w))?\s*", re.IGNORECASE)
_NAME = re.compile(r"\s*[A-Za-z]\w{0,2}\s*=\s*(?=\S)|\s*[A-Za-z]\w?\s*\\in\s*")
_BEFORE_LIST = re.compile(r"^.*(?:[=:]|\b(?:is|are|be|equals?)\b)", re.IGNORECASE | re.DOTALL)


def judge_tuple(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare part by part, in order."""
    return _judge(candidate, wanted, "tuple")


def judge_set(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare as sets: order and repetition do not count."""
    return _judge(candidate, wanted, "set")


def _judge(candidate: Candidate, wanted: Wanted, kind: str) -> Outcome | None:
    if candidate.rule == "conclusion":
        return None
    text = sentences(candidate.text)[-1:] if candidate.rule == "whole" else [candidate.text]
    readings = [parts for parts in _readings(text[0], kind) if parts] if text else []
    if not readings or (candidate.rule not in MARKERS and not any(_countable(parts) for parts in readings)):
        return None
    close = wanted.tolerance or 0.0
    expected = [parts for option in wanted.answers for parts in _readings(option, kind)]
    exact = any(_same(parts, other, kind, 0.0) for parts in readings for other in expected)
    right = exact or any(_same(parts, other, kind, close) for parts in readings for other in expected)
    return Outcome(right=right, exact=exact or not right)


def _countable(parts: Sequence[Part]) -> bool:
    return len(parts) > 1 or isinstance(parts[0], Fraction)


def _readings(text: str, kind: str) -> list[list[Part]]:
    """The ways to read the text: its last bracket, or else what follows the last verb or equals sign.

    ``(1,250, 3)`` can be cut at every comma or only at commas followed by a space; both are tried.
    """
    brackets = _BRACKETS[kind].findall(text) or _LIST.findall(text)
    if not brackets and kind == "set":
        brackets = _BRACKETS["tuple"].findall(text)
    body = brackets[-1] if brackets else _without_lead(text)
    return [_parts(pattern, body) for pattern in (_SEPARATOR, _SPACED)]


def _without_lead(text: str) -> str:
    named = _NAME.search(text)
    if named:
        return text[named.start() :]
    return _BEFORE_LIST.sub("", text)


def _parts(separator: re.Pattern[str], body: str) -> list[Part]:
    pieces = (_NAME.sub("", piece, count=1).strip(" \t\n.*$") for piece in separator.split(body))
    return [_part(piece) for piece in pieces if piece]


def _part(piece: str) -> Part:
    number = whole_number(piece)
    if number is not None and number.value is not None:
        return number.value
    numbers = find_numbers(piece)
    if len(numbers) == 1 and numbers[0].value is not None and len(tokens(piece)) <= 3:
        return numbers[0].value
    return tuple(tokens(piece))


def _same(parts: list[Part], expected: list[Part], kind: str, close: float) -> bool:
    if kind == "tuple":
        return len(parts) == len(expected) and all(map(_near, parts, expected, [close] * len(parts)))
    covered = all(any(_near(part, other, close) for other in expected) for part in parts)
    return covered and all(any(_near(part, other, close) for part in parts) for other in expected)


def _near(part: Part, other: Part, close: float) -> bool:
    if isinstance(part, Fraction) and isinstance(other, Fraction):
        return abs(part - other) <= Fraction(close)
    return part == other
