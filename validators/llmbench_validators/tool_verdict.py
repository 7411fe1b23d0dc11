"""What a ``tool_use`` answer is worth: its calls held against those that should have been made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import calls_native, calls_text, show
from llmbench_validators.calls_found import Call, Found
from llmbench_validators.calls_text import Reading
from llmbench_validators.tool_match import Outcome, compare
from llmbench_validators.tool_schema import Tools
from llmbench_validators.tool_spec import Spec
from llmbench_validators.types import Confidence, Stage, Verdict

VERSION = "2"
NAME = "tool_use"

MAX_FINDINGS = 20
MAX_GRADED = 20_000
_REFUSAL_REACH = 300
# Declining to help at all. "I cannot see the weather" with a weather tool at hand is no refusal but a missed call.
_REFUSAL = re.compile(
    r"^\W*(?:(?:i'?m|i am)\s+(?:\w+\s+)?sorry\b|sorry\b|i apologi[sz]e\b|as an ai\b)?[^.\n]{0,80}"
    r"\bi\s*(?:can(?:'t|not| not)|won't|will not|am (?:unable|not able)|'m (?:unable|not able)|must decline|refuse)"
    r"(?:\s+to)?\s+(?:\w+\s+)?(?:help|assist|comply|fulfil|support|participate|engage|do (?:that|this)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer with the calls found in it; ``reading`` is None where the server returned them."""

    text: str
    found: Found
    reading: Reading | None
    cut_off: bool


def read_answer(text: str, tool_calls: Sequence[Mapping[str, Any]], tools: Tools, *, cut_off: bool = False) -> Answer:
    """The calls of an answer: those the server returned, else those in the text."""
    found = calls_native.read(tool_calls)
    if found.parsed:
        return Answer(text, found, None, cut_off)
    reading = calls_text.read(text, tools)
    return Answer(text, reading.found, reading, cut_off)


def judge(task: Spec, answer: Answer) -> Verdict:
    """The verdict on one answer to one question."""
    found, reading, cut_off = answer.found, answer.reading, answer.cut_off
    if not task.wanted:
        return _none_wanted(found, answer.text, cut_off=cut_off)
    if not found.parsed:
        word, reason = _absence(reading, answer.text, cut_off=cut_off)
        return _failed(word, [reason], found, answer.text)
    if found.broken:
        return _unreadable(found, cut_off=cut_off)
    if reading is not None and task.native_only:
        return _only_text(task, found)
    return _compared(task, found, cut_off=cut_off)


def _none_wanted(found: Found, text: str, *, cut_off: bool) -> Verdict:
    if found.parsed:
        findings = [*(f"{show.cut(call.name)} was called" for call in found.calls), *_reasons(found)]
        return _failed("unexpected_call", ["No call may be made here.", *findings], found, text)
    if cut_off:
        reason = "The text was cut off before it could be said that no call is made."
        return _failed("budget_exhausted", [reason], found, text)
    return Verdict(
        passed=True,
        score=1.0,
        confidence="high" if text.strip() else "medium",
        validator=NAME,
        version=VERSION,
        stages={"calls": Stage(1, 1)},
        graded_text=text[:MAX_GRADED],
    )


def _absence(reading: Reading | None, text: str, *, cut_off: bool) -> tuple[str, str]:
    """The failure word, and its sentence, for a completion without any call."""
    if cut_off:
        return "budget_exhausted", "The text was cut off before any call."
    if reading is not None and reading.left_open:
        return "format", "The reasoning was never closed, so there is no answer."
    answer = reading.answer if reading is not None else text
    if not answer.strip():
        return "empty", "The answer is empty."
    if _REFUSAL.match(answer.strip()[:_REFUSAL_REACH].replace("\u2019", "'")):
        return "refusal", "The model declined to help."
    return "no_call", "No call was made."


def _unreadable(found: Found, *, cut_off: bool) -> Verdict:
    return _failed("budget_exhausted" if cut_off else "malformed_call", _reasons(found), found, "")


def _only_text(task: Spec, found: Found) -> Verdict:
    right = "would have been right" if compare(task, found.calls).passed else "would not have been right either"
    reason = f"The calls stand in the text ({found.extractor}) and were not made; made, they {right}."
    return _failed("call_in_text", [reason], found, "")


def _native(found: Found) -> dict[str, float]:
    """1 where the server returned the calls, 0 where they stand in the text; nothing where there are none."""
    return {"native": float(found.extractor == calls_native.NATIVE)} if found.parsed else {}


def _reasons(found: Found) -> list[str]:
    return [f"A call cannot be read, {one.reason}: {show.value(one.text)}" for one in found.broken]


def _failed(word: str, findings: Sequence[str], found: Found, text: str) -> Verdict:
    return Verdict(
        passed=False,
        score=0.0,
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=word,
        findings=tuple(findings[:MAX_FINDINGS]),
        stages={"calls": Stage(0, max(1, len(found.parsed)))},
        subscores=_native(found),
        graded_text=_shown(found) or text[:MAX_GRADED],
        extractor=found.extractor,
    )


def _compared(task: Spec, found: Found, *, cut_off: bool) -> Verdict:
    outcome = compare(task, found.calls)
    failure = None if outcome.passed else _failure(outcome, cut_off=cut_off)
    score = 0.0 if failure == "budget_exhausted" else round(outcome.credit, 6)
    return Verdict(
        passed=outcome.passed,
        score=score,
        confidence=confidence(score, passed=outcome.passed),
        validator=NAME,
        version=VERSION,
        failure=failure,
        findings=tuple(_findings(task, found, outcome)[:MAX_FINDINGS]),
        stages=_stages(outcome),
        subscores={"calls": round(outcome.perfect / max(outcome.wanted, outcome.made), 6), **_native(found)},
        graded_text=_shown(found),
        extractor=found.extractor,
    )


def _failure(outcome: Outcome, *, cut_off: bool) -> str:
    if outcome.perfect == outcome.wanted:
        return "unexpected_call"
    if cut_off and outcome.perfect == outcome.made:
        return "budget_exhausted"
    return "wrong_call"


def confidence(score: float, *, passed: bool) -> Confidence:
    """High, and medium where partial credit was given."""
    return "medium" if score > 0 and not passed else "high"


def _stages(outcome: Outcome) -> dict[str, Stage]:
    stages = {"calls": Stage(outcome.perfect, max(outcome.wanted, outcome.made))}
    if outcome.all_arguments:
        stages["arguments"] = Stage(outcome.right_arguments, outcome.all_arguments)
    return stages


def _findings(task: Spec, found: Found, outcome: Outcome) -> list[str]:
    paired, used = {i for i, _, _ in outcome.pairs}, {j for _, j, _ in outcome.pairs}
    findings = [fault for _, _, pair in outcome.pairs for fault in pair.faults]
    findings += [f"A call of {one.function} is missing" for i, one in enumerate(task.wanted) if i not in paired]
    findings += [_extra(task, call) for j, call in enumerate(found.calls) if j not in used]
    if task.ordered and not outcome.passed and compare(_unordered(task), found.calls).passed:
        findings = ["The calls are right but in the wrong order"]
    if outcome.passed and found.extractor != calls_native.NATIVE:
        findings.append(f"The calls stand in the text ({found.extractor}); the server returned none")
    return findings


def _unordered(task: Spec) -> Spec:
    return Spec(task.tools, task.wanted, False, task.loose, task.native_only)


def _extra(task: Spec, call: Call) -> str:
    name = show.cut(call.name)
    return (
        f"{name} was called once too often or is not wanted" if call.name in task.tools else f"{name} is no tool here"
    )


def _shown(found: Found) -> str:
    """The calls that were judged, one a line."""
    lines = [_line(one) if isinstance(one, Call) else one.text for one in found.parsed]
    return "\n".join(lines)[:MAX_GRADED]


def _line(call: Call) -> str:
    try:
        return json.dumps(
            {"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False, default=show.value
        )
    except (ValueError, TypeError, RecursionError):
        return f"{call.name}({show.value(call.arguments)})"
