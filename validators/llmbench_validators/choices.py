"""Multiple choice: which letter an answer gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmbench_validators.answers import MARKERS, Candidate
from llmbench_validators.outcome import Outcome, Wanted
from llmbench_validators.wordings import same_words

LETTER = re.compile(r"\s*\(?\s*([A-Z]|[a-z](?=\s*\)?\s*$|\))|[0-9]{1,2})\s*[).:]?\s*(?:[-:.)]|$)")

_FIRST = re.compile(
    r"[\s\"'*_\[]*(?:\b(?:option|choice|answer|letter|number)\b\s*:?\s*)?"
    r"(?:\(\s*([A-Za-z0-9]{1,2})\s*\)|([A-Z]|[0-9]{1,2})(?![\w'])|([b-hj-z])(?=\s*[).:\]]|\s*$))(\s*[).:,;\]\-]|\s*$)?",
)
_ANYWHERE = re.compile(
    r"(?<!\w)(?i:option|choice|answer)\s+(?:\(\s*([A-Za-z])\s*\)|([A-Z])(?![\w']))\s+(?:is|would be|must be|seems)\b"
    r"(?!\s+(?:not|wrong|incorrect|false))"
    r"|(?<![\w(])\(?([A-Z])\)?\s+is\s+(?:the\s+)?(?:correct|right|best|answer)\b"
    r"|(?<!\w)I(?:'d|\s+would|\s+will)?\s+(?i:choose|pick|select|go with|say)\s+(?i:option\s+|choice\s+)?"
    r"\(?([A-Z])(?![\w'])"
)
_SECOND = re.compile(r"\s*[).:\]]?\s*(?:or|and|/|&|oder)\s+(?:(?:option|choice)\s+)?\(?([A-Z])(?![\w'])")
_DENIED = re.compile(r"^\s*(?:not|never|neither|cannot be|can't be|isn't)\b", re.IGNORECASE)
_AFTER_A = re.compile(r"\s+(?:because|since|as|for|is|which|and)\b|\s*$")
_BRACKETED = re.compile(r"\(([A-Z])\)|(?<![\w'])([A-HJ-Z])(?=[).:])")


def judge_choice(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare the letter; an accepted wording of the right option counts like its letter."""
    text = candidate.text.strip()
    for option in wanted.answers:
        if len(option) > 1 and same_words(text.strip(" .*"), option):
            return Outcome(right=True)
    found = _letter(candidate, text)
    if found is None:
        return None
    if found == "":
        return Outcome(right=False, note="gives more than one choice")
    letters = {letter_of(option) for option in wanted.answers}
    return Outcome(right=found in letters, exact=candidate.rule != "whole")


def letter_of(option: str) -> str | None:
    """``B`` of ``B``, ``(b)`` or ``B) eagle``; None for a wording without a letter."""
    match = LETTER.match(option)
    return match[1].upper() if match else None


def _letter(candidate: Candidate, text: str) -> str | None:
    """The letter, "" for more than one, None when the text names none."""
    if candidate.rule == "conclusion":
        return _last(text) or _at_start(text)
    if candidate.rule == "whole":
        return _last(text) or _at_start(text) or _only(text)
    match = _FIRST.match(text)
    if match is None or _DENIED.match(text):
        return _last(text) if candidate.rule not in MARKERS else None
    letter = (match[1] or match[2] or match[3]).upper()
    if letter in ("A", "I") and not match[1] and not match[4] and not _AFTER_A.match(text, match.end()):
        return None
    second = _SECOND.match(text, match.end(4) if match[4] else match.end())
    return "" if second and second[1] != letter else letter


def _last(text: str) -> str | None:
    found = [next(filter(None, match.groups())).upper() for match in _ANYWHERE.finditer(text)]
    return found[-1] if found else None


def _at_start(text: str) -> str | None:
    match = _FIRST.match(text)
    if match is None or not (match[1] or (match[4] or "").strip()):
        return None
    letter = (match[1] or match[2] or match[3]).upper()
    return letter if len({letter, *_letters(text)}) == 1 else None


def _only(text: str) -> str | None:
    letters = set(_letters(text))
    return letters.pop() if len(letters) == 1 else None


def _letters(text: str) -> Iterator[str]:
    for match in _BRACKETED.finditer(text):
        yield match[1] or match[2]
