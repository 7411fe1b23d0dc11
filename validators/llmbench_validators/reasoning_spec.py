"""The VALIDATION block of a ``reasoning`` task, checked and made uniform."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from llmbench_validators.choices import letter_of
from llmbench_validators.moments import dates, times
from llmbench_validators.numbers import whole_number, word_number
from llmbench_validators.outcome import Wanted
from llmbench_validators.plain_maths import plain
from llmbench_validators.types import ValidationSpecError

KEYS = ("type", "expected_answer", "answer_type", "tolerance", "accept", "extract_patterns")
KINDS = ("number", "fraction", "percentage", "choice", "text", "date", "time", "tuple", "set", "latex")
_NUMERIC = ("number", "fraction", "percentage")
_TOLERANT = (*_NUMERIC, "tuple", "set")


@dataclass(frozen=True, slots=True)
class Spec:
    """What counts as right. ``kind`` is None when only patterns are given."""

    kind: str | None
    wanted: Wanted
    patterns: tuple[re.Pattern[str], ...]


def read_spec(spec: Mapping[str, Any]) -> Spec:
    """Check a VALIDATION block; raises ValidationSpecError naming the key and what is allowed."""
    unknown = [str(key) for key in spec if key not in KEYS]
    if unknown:
        raise ValidationSpecError(f"reasoning: unknown key {unknown[0]!r}; allowed: {', '.join(KEYS)}")
    patterns = _patterns(spec.get("extract_patterns"))
    if spec.get("expected_answer") is None:
        return _without_answer(spec, patterns)
    answers = (_answer("expected_answer", spec["expected_answer"]), *_accepted(spec.get("accept")))
    kind = _kind(spec.get("answer_type"), answers[0])
    for key, answer in zip(("expected_answer", *["accept"] * len(answers)), answers, strict=False):
        if not _fits(kind, answer, key):
            raise ValidationSpecError(f"reasoning: {key} {answer!r} is no {kind}; write one or change answer_type")
    return Spec(kind, Wanted(answers, _tolerance(spec.get("tolerance"), kind)), patterns)


def number_of(text: str) -> Fraction:
    """The value of an expected number, whatever its spelling; raises ValidationSpecError."""
    number = whole_number(plain(text))
    if number is not None and number.value is not None:
        return number.value
    word = word_number(text)
    if word is None:
        raise ValidationSpecError(f"reasoning: {text!r} is not a number")
    return Fraction(word)


def _without_answer(spec: Mapping[str, Any], patterns: tuple[re.Pattern[str], ...]) -> Spec:
    if not patterns:
        raise ValidationSpecError("reasoning: expected_answer is missing; give it, or extract_patterns, or both")
    for key in ("answer_type", "tolerance", "accept"):
        if spec.get(key) is not None:
            raise ValidationSpecError(f"reasoning: {key} means nothing without expected_answer")
    return Spec(None, Wanted(()), patterns)


def _answer(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | list | tuple):
        raise ValidationSpecError(f"reasoning: {key} must be text, a number or a list, not {value!r}; quote yes and no")
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_answer(key, item) for item in value) + ")"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValidationSpecError(f"reasoning: {key} must be finite")
    text = str(value).strip()
    if not text:
        raise ValidationSpecError(f"reasoning: {key} is empty")
    return text


def _accepted(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not value:
        raise ValidationSpecError("reasoning: accept must be a list of further right answers, at least one")
    return tuple(_answer("accept", item) for item in value)


def _kind(value: object, answer: str) -> str:
    if value is None:
        return _inferred(answer)
    if value not in KINDS:
        raise ValidationSpecError(f"reasoning: answer_type {value!r} is unknown; allowed: {', '.join(KINDS)}")
    return str(value)


_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\\[A-Za-z]|\^|_\{"), "latex"),
    (re.compile(r"[(\[].*[,;].*[)\]]\Z", re.DOTALL), "tuple"),
    (re.compile(r"\{.*\}\Z", re.DOTALL), "set"),
    (re.compile(r"-?[0-9][0-9.,]*\s?(?:%|percent)\Z"), "percentage"),
    (re.compile(r"-?[0-9]+\s?/\s?[0-9]+\Z"), "fraction"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"), "date"),
    (re.compile(r"[0-9]{1,2}:[0-9]{2}(?:\s?[apAP]\.?[mM]\.?)?\Z"), "time"),
    (re.compile(r"\(?[A-J]\)?\Z"), "choice"),
)


def _inferred(answer: str) -> str:
    for pattern, kind in _SHAPES:
        if pattern.match(answer) or (kind == "latex" and pattern.search(answer)):
            return kind
    return "number" if whole_number(plain(answer)) is not None else "text"


_FITS: Mapping[str, Callable[[str], bool]] = {
    "choice": lambda answer: letter_of(answer) is not None,
    "date": lambda answer: any(True for _ in dates(answer)),
    "time": lambda answer: any(True for _ in times(answer)),
}


def _fits(kind: str, answer: str, key: str) -> bool:
    if kind in _NUMERIC:
        number = whole_number(plain(answer))
        return (number is not None and number.value is not None) or word_number(answer) is not None
    if kind == "choice" and key == "accept":
        return True
    return _FITS.get(kind, bool)(answer)


def _tolerance(value: object, kind: str) -> float | None:
    if value is None:
        return None
    if kind not in _TOLERANT:
        raise ValidationSpecError(f"reasoning: tolerance means nothing for answer_type {kind}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValidationSpecError(f"reasoning: tolerance must be a number of at least 0, not {value!r}")
    return float(value)


def _patterns(value: object) -> tuple[re.Pattern[str], ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not value:
        raise ValidationSpecError("reasoning: extract_patterns must be a list of regular expressions, at least one")
    return tuple(_pattern(item) for item in value)


def _pattern(value: object) -> re.Pattern[str]:
    if not isinstance(value, str) or not value:
        raise ValidationSpecError(f"reasoning: extract_patterns holds {value!r}; each entry must be text")
    try:
        return re.compile(value, re.IGNORECASE)
    except re.error as error:
        raise ValidationSpecError(f"reasoning: extract_patterns holds {value!r}: {error}") from error
