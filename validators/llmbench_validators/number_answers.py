"""Which number of a candidate text is the answer it gives."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from fractions import Fraction

from llmbench_validators.answers import MARKERS, Candidate
from llmbench_validators.numbers import Number, find_numbers, whole_number, word_number

_EQUALS = re.compile(r"[=≈]|(?<!\w)equals(?!\w)", re.IGNORECASE)
_REASON = re.compile(
    r"(?:,\s|\s)(?:because|since|as|so that|where|when|which|after|given|for|check)\b|,\s|\(|\s-\s(?![0-9])"
)
_ADVERBS = (
    r"[\s(*_\"'{]*(?:(?:that|about|around|approximately|roughly|exactly|only|just|now|actually|simply|still"
    r"|a total of|equal to|also|therefore|then|thus|x|indeed)\s+){0,3}[\s(*_\"'{≈~]*"
)
_DIRECT = re.compile(_ADVERBS + r"\Z", re.IGNORECASE)
_COPULA = re.compile(
    r"(?<!\w)(?:is|are|was|were|be|equals?|has|have|had|makes?|gives?|get|gets|needs?|takes?|costs?|pays?|will)(?!\w)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\brather than|\binstead of)\s+(?:(?!but\b)[^\W\d_]+\s+){0,2}\Z", re.I
)
_ALTERNATIVE = re.compile(
    r"(?:[^\W\d_]+\s+){0,2}(?:or|to|and|oder|ou|bis|-|/|until|±)(?:\s+(?:about|maybe|even|possibly|perhaps|rather))?\s*-?\s*\Z",
    re.I,
)
_OPERATOR = re.compile(r"\s*(?:[*\u00d7x+/÷·^]|-)\s*\Z")
_TAIL = 5000  # how many characters from the end the last number is looked for in
_MOVES_ON = re.compile(r"[.!?;](?=\s)|\n|,|(?<!\w)(?:and|then|so|plus|minus|which|but|or)(?!\w)", re.IGNORECASE)
_SPACED_GROUPS = re.compile(r"(?<![0-9.,])(?<![0-9.,] )([0-9]{1,3}(?: [0-9]{3})+)(?![0-9])(?! [0-9])")


@dataclass(frozen=True, slots=True)
class Pick:
    """The number an answer gives; ``value`` is None when it gives several or something that is no number."""

    value: Fraction | None
    percent: bool = False
    note: str = ""


def pick_number(candidate: Candidate) -> Pick | None:
    """The candidate's number; None when it holds none, and the next candidate should be tried."""
    text = _SPACED_GROUPS.sub(lambda match: match[1].replace(" ", ","), candidate.text)
    if candidate.rule == "bare":
        return _bare(text)
    if candidate.rule == "conclusion":
        return _conclusion(text)
    if candidate.rule == "whole":
        return _last(text)
    if candidate.rule == "correction" and not _starts_with_number(text):
        return None
    return _stated(text, strict=candidate.rule in MARKERS)


def _bare(text: str) -> Pick | None:
    number = whole_number(text)
    if number is not None:
        return Pick(number.value, number.percent)
    return _word(text)


def _word(text: str) -> Pick | None:
    value = word_number(text) if re.fullmatch(r"[A-Za-z\s.!*-]{3,60}", text.strip()) else None
    return None if value is None else Pick(Fraction(value))


def _starts_with_number(text: str) -> bool:
    numbers = find_numbers(text)
    return bool(numbers) and _DIRECT.match(text[: numbers[0].start]) is not None


def _stated(text: str, *, strict: bool) -> Pick | None:
    """The number of a marker or of what follows a cue: after the last ``=`` of its first clause, else the first."""
    numbers = [number for number in find_numbers(text) if not _NEGATED.search(text[: number.start])]
    if not numbers:
        return _word_in(text) if not find_numbers(text) else Pick(None, note="names only what it is not")
    clause_end = len(text) if strict else _clause_end(text, numbers[0])
    inside = [number for number in numbers if number.end <= clause_end]
    after = _after_equals(text[:clause_end], inside)
    chosen = after or inside
    return _unless_several(text, chosen, strict=strict)


def _word_in(text: str) -> Pick | None:
    words = re.findall(r"[A-Za-z]+(?:-[a-z]+)?", text)[:6]
    for length in (6, 5, 4, 3, 2, 1):
        for start in range(len(words) - length + 1):
            value = word_number(" ".join(words[start : start + length]))
            if value is not None:
                return Pick(Fraction(value))
    return None


def _clause_end(text: str, first: Number) -> int:
    match = _REASON.search(text, first.end)
    return match.start() if match else len(text)


def _after_equals(text: str, numbers: list[Number]) -> list[Number]:
    for match in reversed(list(_EQUALS.finditer(text))):
        after = [number for number in numbers if number.start >= match.end()]
        if after:
            return after
    return []


def _unless_several(text: str, numbers: list[Number], *, strict: bool) -> Pick:
    first = numbers[0]
    for previous, number in itertools.pairwise(numbers):
        between = text[previous.end : number.start]
        if number.value == first.value and number.value is not None:
            continue
        if _same_share(first, number):
            continue
        if strict or _OPERATOR.fullmatch(between) or _ALTERNATIVE.fullmatch(between.lstrip(" %*_")):
            return Pick(None, note="gives more than one number")
        break
    if first.value is None:
        return Pick(None, note="gives an expression, not a number")
    return Pick(first.value, first.percent)


def _same_share(first: Number, other: Number) -> bool:
    if first.value is None or other.value is None or first.percent == other.percent:
        return False
    return first.value == (other.value / 100 if other.percent else other.value * 100)


def _conclusion(text: str) -> Pick | None:
    numbers = find_numbers(text)
    after = _after_equals(text, numbers)
    if after:
        return _settled(_unless_several(text, after[:2], strict=False))
    for match in reversed(list(_COPULA.finditer(text))):
        following = [number for number in numbers if number.start >= match.end()]
        if following and _DIRECT.fullmatch(text[match.end() : following[0].start]):
            return _settled(_unless_several(text, following, strict=False))
    return None


def _settled(pick: Pick) -> Pick | None:
    return pick if pick.value is not None else None


def _last(text: str) -> Pick | None:
    text = text[-_TAIL:]
    numbers = find_numbers(text)
    if not numbers:
        return None
    last = numbers[-1]
    if last.value is None:
        return Pick(None, note="ends with an expression, not a number")
    if len(numbers) > 1 and _hedged(text, numbers[-2], last):
        return Pick(None, note="ends with more than one number")
    result = _result_of_last_sum(text, numbers)
    return Pick(result.value, result.percent)


def _result_of_last_sum(text: str, numbers: list[Number]) -> Number:
    """In "40 - 24 = 16 people in row 12" the sum's result; the last number unless both stand in one sentence."""
    last = numbers[-1]
    equals = max(text.rfind("=", 0, last.start), text.rfind("\u2248", 0, last.start))
    after = [number for number in numbers[-6:] if number.start > equals >= 0]
    if not after or after[0].value is None or _MOVES_ON.search(text, after[0].end, last.start):
        return last
    return after[0]


def _hedged(text: str, first: Number, second: Number) -> bool:
    between = text[first.end : second.start]
    if first.value == second.value or len(between) > 30:
        return False
    before = text[max(0, first.start - 12) : first.start].casefold()
    return " or " in between or ("between" in before and " and " in between)
