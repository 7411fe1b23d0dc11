"""The ``reasoning`` validator: finds the final answer in a text and compares it with the expected one.

Keys of its VALIDATION block: ``expected_answer``, ``answer_type`` (inferred when absent), ``tolerance`` (greatest
absolute difference of a number), ``accept`` (further right answers), ``extract_patterns`` (regular expressions,
without regard to case, that must all match; each is worth as much as the answer).

Rules where several would do: of a text without any announced answer the last number counts, with low
confidence; of a text that was cut off only an announced answer counts; a percentage equals its fraction for
``answer_type: percentage`` only; a comma between digits is a decimal comma unless it groups thousands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from llmbench_validators import latex_equal, patterns, thoughts
from llmbench_validators.answers import MARKERS, MAX_CHARACTERS, Candidate, candidates
from llmbench_validators.choices import judge_choice
from llmbench_validators.groups import judge_set, judge_tuple
from llmbench_validators.latex import judge_latex
from llmbench_validators.moments import judge_date, judge_time
from llmbench_validators.number_answers import Pick, pick_number
from llmbench_validators.outcome import Outcome, Wanted
from llmbench_validators.reasoning_spec import Spec, number_of, read_spec
from llmbench_validators.types import Completion, Confidence, Stage, Verdict
from llmbench_validators.wordings import judge_text

_SHOWN = 60
VERSION = "1"

Judge = Callable[[Candidate, Wanted], Outcome | None]

_GUESSES = frozenset({"conclusion", "whole"})
_REFUSAL = re.compile(
    r"^\W*(?:i(?:'m| am)\s+(?:really |very |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai)\b[^.\n]{0,120}"
    r"\b(?:can(?:'t|not)|unable|won't|not able|don't|decline)\b"
    r"|^\W*i\s+(?:can(?:'t|not)|won't|am unable to|am not able to|must decline|refuse)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Graded:
    """The candidate that decided and what came of it; both None where no answer was found."""

    candidate: Candidate | None = None
    outcome: Outcome | None = None


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade a completion by its final answer.

    Raises ValidationSpecError for a VALIDATION block with unknown keys or values that make no sense.
    """
    wanted = read_spec(spec)
    text, unclosed = thoughts.answer(completion.text)
    text = text[-MAX_CHARACTERS:]
    cut_off = completion.finish_reason == "length"
    graded = _Graded() if unclosed else _find(text, completion.prompt, wanted, cut_off=cut_off)
    matched = patterns.found(wanted.patterns, text)
    return _verdict(wanted, graded, matched, _missing(text, unclosed=unclosed, cut_off=cut_off))


def _find(text: str, prompt: str, wanted: Spec, *, cut_off: bool) -> _Graded:
    if wanted.kind is None:
        return _Graded()
    judge = _JUDGES[wanted.kind]
    for candidate in candidates(text, prompt):
        guess = candidate.rule in _GUESSES
        if guess and (cut_off or _REFUSAL.search(text.replace("\u2019", "'"))):
            continue
        if cut_off and candidate.at_end and candidate.rule not in MARKERS:
            continue  # of an answer that the cut may have shortened
        outcome = judge(candidate, wanted.wanted)
        if outcome is not None:
            return _Graded(candidate, outcome)
    return _Graded()


def _missing(text: str, *, unclosed: bool, cut_off: bool) -> tuple[str, str]:
    """The failure word, and its sentence, for a text in which no answer was found."""
    if cut_off:
        return "budget_exhausted", "The text was cut off before an answer."
    if unclosed:
        return "format", "The reasoning was never closed, so there is no answer."
    if not text.strip():
        return "empty", "The answer is empty."
    if _REFUSAL.search(text.replace("\u2019", "'")):
        return "refusal", "The model declined to answer."
    return "format", "No answer of the expected kind was found."


def _verdict(wanted: Spec, graded: _Graded, matched: list[bool], missing: tuple[str, str]) -> Verdict:
    checks = list(matched)
    findings = [f"Pattern {number} did not match." for number, hit in enumerate(matched, 1) if not hit]
    right = graded.outcome is not None and graded.outcome.right
    if wanted.kind is not None:
        checks.insert(0, right)
        if not right:
            findings.insert(0, _wrong(graded) or missing[1])
    passed = all(checks)
    return Verdict(
        passed=passed,
        score=1.0 if passed else sum(checks) / len(checks),
        confidence=_confidence(wanted, graded),
        validator="reasoning",
        version=_version(wanted),
        failure=None if passed else _failure(wanted, graded, matched, missing[0]),
        findings=tuple(findings),
        stages=_stages(wanted, right, matched),
        graded_text=graded.candidate.text if graded.candidate else "",
        extractor=graded.candidate.rule if graded.candidate else None,
    )


def _version(wanted: Spec) -> str:
    """Where formulas are compared by value, verdicts can differ from those of an installation without it."""
    return f"{VERSION}+math" if wanted.kind == "latex" and latex_equal.available() else VERSION


def _wrong(graded: _Graded) -> str:
    """What was found and why it is wrong; nothing for a text without an answer."""
    if graded.outcome is None or graded.candidate is None:
        return ""
    found = " ".join(graded.candidate.text.split())
    shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1] + "…"
    return f"The answer found, {shown!r}, {graded.outcome.note or 'is not the expected one'}."


def _failure(wanted: Spec, graded: _Graded, matched: list[bool], missing: str) -> str:
    if wanted.kind is not None and graded.outcome is None and not any(matched):
        return missing
    if wanted.kind is None and not any(matched) and missing != "format":
        return missing
    return "wrong_answer"


def _confidence(wanted: Spec, graded: _Graded) -> Confidence:
    if graded.candidate is not None and graded.candidate.rule in _GUESSES:
        return "low"
    if wanted.patterns or (graded.outcome is not None and not graded.outcome.exact):
        return "medium"
    return "high"


def _stages(wanted: Spec, right: bool, matched: list[bool]) -> dict[str, Stage]:
    stages = {} if wanted.kind is None else {"answer": Stage(int(right), 1)}
    return stages | ({"patterns": Stage(sum(matched), len(matched))} if matched else {})


def _judge_value(candidate: Candidate, wanted: Wanted, read: Callable[[Pick], list[Fraction]]) -> Outcome | None:
    pick = pick_number(candidate)
    if pick is None:
        return None
    if pick.value is None:
        return Outcome(right=False, note=pick.note)
    gaps = [abs(value - number_of(option)) for value in read(pick) for option in wanted.answers]
    gap = min(gaps, default=None)
    right = gap is not None and gap <= Fraction(wanted.tolerance or 0)
    return Outcome(right=right, exact=not right or gap == 0)


def _as_number(pick: Pick) -> list[Fraction]:
    """A percent sign is a unit like any other."""
    return [] if pick.value is None else [pick.value]


def _as_percentage(pick: Pick) -> list[Fraction]:
    """60% equals 60 percent, a plain 60 and a plain 0.6; with a percent sign it is never a fraction."""
    if pick.value is None:
        return []
    return [pick.value] if pick.percent else [pick.value, pick.value * 100]


def _as_fraction(pick: Pick) -> list[Fraction]:
    """Any spelling of the value but a percentage."""
    return [] if pick.value is None or pick.percent else [pick.value]


_JUDGES: Mapping[str, Judge] = {
    "number": partial(_judge_value, read=_as_number),
    "fraction": partial(_judge_value, read=_as_fraction),
    "percentage": partial(_judge_value, read=_as_percentage),
    "choice": judge_choice,
    "text": judge_text,
    "date": judge_date,
    "time": judge_time,
    "tuple": judge_tuple,
    "set": judge_set,
    "latex": judge_latex,
}
