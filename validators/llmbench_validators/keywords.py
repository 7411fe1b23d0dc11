"""The ``keyword`` validator: grades tasks that have nothing but an EXPECTED section, by its words.

Keys: ``expected``, the right answer in words. Each of its lines is a point:

* alternatives, "red, yellow or blue" (parts of at most three words): one of them must be mentioned;
* up to four words: must be mentioned as they are;
* longer: at least 60 % of its telling words must be mentioned.

At most 500 points, of at most 2000 characters each, with at most 5000 phrases in all.

See ``mentions`` for what a mention is. The score is the mean of the points, each by its share of words; a task
passes with every point. Confidence is always low: write a VALIDATION block for anything that matters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import final_text, mentions, show, spec_fields
from llmbench_validators.types import Completion, Stage, ValidationSpecError, Verdict

VERSION = "1"

_MARKER = re.compile(r"^[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+")
_PART = re.compile(r"\s*,\s*(?:or\s+)?|\s+or\s+")
_MAX_ALTERNATIVE = 3
_MAX_PHRASE = 4
_ENOUGH = 0.6
_MOST_POINTS = 500
_MOST_CHARACTERS = 2000
_MOST_PHRASES = 5000
_FUNCTION_WORDS = (
    "a an the and or but nor of in on at to for from by with as is are was were be been it its this that these those "
    "which who will would should can could may must has have had do does not no if then than so there their they he "
    "she we you i my your our into about over any each both such only also one"
)
_EMPTY_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Point:
    """Phrases of which the share ``enough`` must be mentioned; ``any_of``: one is as good as all."""

    phrases: tuple[str, ...]
    enough: float = 1.0
    any_of: bool = False


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade an answer by the words of the expected one. Raises ValidationSpecError for a wrong block."""
    wanted = points(_expected(spec))
    found = final_text.read(completion)
    if found.failure is not None:
        return _verdict(wanted, [0.0] * len(wanted), found)
    text = mentions.Text(found.text)
    shares = [_share(point, text) for point in wanted]
    if not any(shares):
        failure, note = final_text.why_short(completion, found.text, "wrong_answer")
        found = final_text.FinalText(found.text, failure, note)
    return _verdict(wanted, shares, found)


def points(expected: str) -> list[Point]:
    """The points an expected answer makes. Raises ValidationSpecError when it holds no word, or too much."""
    lines = [" ".join(_MARKER.sub("", line).split()) for line in expected.splitlines()]
    telling = [line.rstrip(".!") for line in lines if any(char.isalnum() for char in line)]
    if not telling:
        raise ValidationSpecError("keyword: expected holds no word to look for")
    _refuse_more("lines", len(telling), _MOST_POINTS)
    _refuse_more("characters in a line", max(map(len, telling)), _MOST_CHARACTERS)
    found = [_point(line) for line in telling]
    _refuse_more("words to look for", sum(len(point.phrases) for point in found), _MOST_PHRASES)
    return found


def _refuse_more(what: str, number: int, most: int) -> None:
    if number > most:
        raise ValidationSpecError(f"keyword: expected has {number} {what}; at most {most} are allowed")


def _expected(spec: Mapping[str, Any]) -> str:
    spec_fields.refuse_unknown(spec, ("type", "expected"), "keyword")
    return spec_fields.text(spec, "expected", "keyword")


def _point(line: str) -> Point:
    parts = [part for part in _PART.split(line) if any(char.isalnum() for char in part)]
    if re.search(r"\sor\s", line) and all(len(part.split()) <= _MAX_ALTERNATIVE for part in parts):
        return Point(tuple(parts), any_of=True)
    if len(line.split()) <= _MAX_PHRASE:
        return Point((line,))
    words = list(dict.fromkeys(re.findall(r"\w+(?:['.-]\w+)*", mentions.fold(line))))
    telling = [word for word in words if word not in _EMPTY_WORDS and (len(word) > 1 or word.isdigit())]
    return Point(tuple(telling or words), enough=_ENOUGH)


def _share(point: Point, text: mentions.Text) -> float:
    hits = [text.affirms(phrase) for phrase in point.phrases]
    return float(any(hits)) if point.any_of else sum(hits) / len(hits)


def _verdict(wanted: Sequence[Point], shares: Sequence[float], found: final_text.FinalText) -> Verdict:
    met = [share >= point.enough for point, share in zip(wanted, shares, strict=True)]
    passed = all(met)
    missing = [point for point, hit in zip(wanted, met, strict=True) if not hit]
    notes = [found.finding, *(f"Not mentioned: {show.cut(', '.join(point.phrases))}" for point in missing)]
    return Verdict(
        passed=passed,
        score=1.0 if passed else round(sum(shares) / len(shares), 6),
        confidence="low",
        validator="keyword",
        version=VERSION,
        failure=None if passed else found.failure or "wrong_answer",
        findings=tuple(note for note in notes if note),
        stages={"points": Stage(sum(met), len(met))},
        graded_text=found.text,
        extractor=None if not found.text else "final text",
    )
