"""Tasks in turns: the right calls of one turn are answered with given results, after which the next turn begins.

The calls of a turn may come in several answers, for not every server lets a model make more than one at a time. The
first answer that is not wholly right ends it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llmbench_validators.calls_found import Found
from llmbench_validators.calls_native import NATIVE
from llmbench_validators.tool_match import Outcome, compare
from llmbench_validators.tool_spec import Spec, read_specs
from llmbench_validators.tool_verdict import MAX_FINDINGS, MAX_GRADED, Answer, confidence, judge, read_answer
from llmbench_validators.types import Stage, Verdict

# What says nothing about the model's choice of calls earns nothing, however far it came.
_NO_LOOK = frozenset({"empty", "refusal", "malformed_call", "call_in_text", "format", "budget_exhausted"})


@dataclass(frozen=True, slots=True)
class Result:
    """What a call is answered with; ``native`` when the server returned the call, and not the text."""

    name: str
    content: str
    native: bool


def follow(block: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> tuple[Result, ...]:
    """The results for the calls of the last of ``answers``, in their order; none when the conversation is over.

    ``answers`` are ``{"text": str, "tool_calls": [...]}``, all that came so far. Raises ValidationSpecError.
    """
    tasks = read_specs(block)
    walk = _walk(tasks, read_earlier(tasks, answers))
    return walk.results if walk.goes_on else ()


def read_earlier(tasks: Sequence[Spec], answers: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Answers of a conversation as plain data, read."""
    return [read_answer(str(one.get("text", "")), one.get("tool_calls") or (), tasks[0].tools) for one in answers]


def judge_all(tasks: Sequence[Spec], answers: Sequence[Answer]) -> Verdict:
    """The verdict on a whole conversation: every turn counts the same, those never reached count 0."""
    walk = _walk(tasks, answers)
    verdicts = [judge(task, heard) for task, heard in zip(tasks, walk.heard, strict=False)]
    done = sum(verdict.passed for verdict in verdicts)
    last, passed = verdicts[-1], done == len(tasks)
    worth = 0.0 if last.failure in _NO_LOOK else sum(verdict.score for verdict in verdicts) / len(tasks)
    score = 1.0 if passed else round(worth, 6)
    stages = _stages(tasks, verdicts) | {"turns": Stage(done, len(tasks))}
    calls = stages["calls"]
    return replace(
        last,
        passed=passed,
        score=score,
        failure=None if passed else last.failure or "no_call",
        confidence=last.confidence if passed else confidence(score, passed=False),
        findings=tuple(_findings(tasks, verdicts)[:MAX_FINDINGS]),
        stages=stages,
        subscores={"calls": round(calls.passed / max(calls.total, 1), 6), **_native(verdicts)},
        graded_text="\n".join(filter(None, (verdict.graded_text for verdict in verdicts)))[:MAX_GRADED],
        extractor=next((one.extractor for one in reversed(verdicts) if one.extractor), None),
    )


@dataclass(slots=True)
class _Walk:
    """How far a conversation came: of each turn begun all that was heard, and the results for the last answer."""

    heard: list[Answer]
    results: tuple[Result, ...] = ()
    goes_on: bool = True


def _walk(tasks: Sequence[Spec], answers: Sequence[Answer]) -> _Walk:
    walk, turn, begun = _Walk([]), 0, False
    for answer in answers:
        if not walk.goes_on:
            break
        before = walk.heard.pop() if begun else None
        whole = _joined(before, answer) if before else answer
        walk.heard.append(whole)
        outcome = compare(tasks[turn], whole.found.calls)
        new = len(answer.found.calls)
        right = bool(answer.found.parsed) and not whole.found.broken and outcome.perfect == outcome.made
        begun = right and outcome.perfect < outcome.wanted
        walk.results = _results(tasks[turn], answer, outcome, outcome.made - new) if right else ()
        turn += right and not begun
        walk.goes_on = right and turn < len(tasks) and _may_go_on(tasks[0], answer)
    return walk


def _may_go_on(task: Spec, answer: Answer) -> bool:
    return answer.reading is None or not task.native_only


def _joined(before: Answer, answer: Answer) -> Answer:
    parsed = [*before.found.parsed, *answer.found.parsed]
    return replace(answer, found=Found(parsed, answer.found.extractor or before.found.extractor))


def _results(task: Spec, answer: Answer, outcome: Outcome, first: int) -> tuple[Result, ...]:
    partner = {made: wanted for wanted, made, _ in outcome.pairs}
    native = answer.found.extractor == NATIVE
    return tuple(
        Result(call.name, _content(task.wanted[partner[first + n]].result), native)
        for n, call in enumerate(answer.found.calls)
    )


def _content(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


# --- the verdict's parts


def _stages(tasks: Sequence[Spec], verdicts: Sequence[Verdict]) -> dict[str, Stage]:
    missed = sum(len(task.wanted) for task in tasks[len(verdicts) :])
    found = {name: [one.stages[name] for one in verdicts if name in one.stages] for name in ("calls", "arguments")}
    more = {"calls": missed}
    return {
        name: Stage(sum(one.passed for one in some), sum(one.total for one in some) + more.get(name, 0))
        for name, some in found.items()
        if some
    }


def _findings(tasks: Sequence[Spec], verdicts: Sequence[Verdict]) -> list[str]:
    findings = [
        f"Turn {number} of {len(tasks)}: {finding}"
        for number, verdict in enumerate(verdicts, 1)
        for finding in verdict.findings
    ]
    left = len(tasks) - len(verdicts)
    return [*findings, f"{left} of {len(tasks)} turns were not reached"] if left else findings


def _native(verdicts: Sequence[Verdict]) -> dict[str, float]:
    told = [verdict.subscores["native"] for verdict in verdicts if "native" in verdict.subscores]
    return {"native": min(told)} if told else {}
