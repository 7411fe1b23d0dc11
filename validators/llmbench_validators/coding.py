"""The coding validator: finds the code in an answer, runs it in the sandbox and scores the tests it passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from llmbench_validators import (
    clock,
    coding_quality,
    coding_spec,
    extraction,
    hardcoding,
    reference,
    repair,
    sandbox,
    scoring,
    show,
    syntax,
    tests_syntax,
    trust,
    weak_run,
)
from llmbench_validators.coding_spec import CodingSpec, Test
from llmbench_validators.types import Completion, Stage, Verdict

VERSION = "4"
NAME = "coding"

_LOAD_STAGES = 1
_OVERHEAD_S = 60.0
_EXPLAINED = {
    "empty": "the answer is empty",
    "refusal": "the answer refuses the task",
    "no_code": "the answer holds no Python code",
    "budget_exhausted": "the answer was cut off before its code was complete",
}


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade ``completion`` against a coding block.

    Raises ValidationSpecError for a wrong block or tests that are themselves at fault, SandboxFault when the
    sandbox fails or this machine cannot isolate code as required.
    """
    task = coding_spec.parse(spec)
    found = extraction.extract(completion.text, task.function, completion.finish_reason)
    if found.failure is not None:
        return _unrun(found)
    weak = trust.is_weak(task, _passes)
    stages = _stages(task, task.test_code if not weak else "")
    style = _Style(found)
    outcome, level = _run(task, found.code, stages, style.look)
    if weak:
        outcome = _with_weak(outcome, tested := weak_run.run(task, found.code))
        level = level or tested.level
    return _verdict(task, found, style, outcome, level)


class _Style:
    """What can be said of the code without running it; looked at once, while it runs."""

    def __init__(self, found: extraction.Extraction) -> None:
        self._found = found
        self._seen: tuple[syntax.Nodes | None, dict[str, float]] | None = None

    def look(self) -> tuple[syntax.Nodes | None, dict[str, float]]:
        """The nodes of its syntax tree, None where there is none, and its quality."""
        if self._seen is None:
            tree = self._found.tree or repair.parsed(self._found.code)
            nodes = syntax.nodes(tree) if tree is not None else None
            self._seen = nodes, coding_quality.measure(self._found.code, nodes) if nodes else {"quality": 0.0}
        return self._seen


def _passes(task: CodingSpec, code: str) -> bool:
    """Whether the code passes the task's test code where it cannot reach it."""
    stages = [_stage("base", (), task.test_code)]
    return _run(replace(task, reference=""), code, stages)[0]["failure"] is None


def _run(
    task: CodingSpec, code: str, stages: list[dict[str, Any]], meanwhile: Callable[[], object] = lambda: None
) -> tuple[dict[str, Any], str | None]:
    if not stages:
        return {"stages": {}, "failure": None, "findings": [], "performance": None}, None
    seconds = (len(stages) + _LOAD_STAGES) * task.timeout_s * clock.STRETCH + _OVERHEAD_S
    return sandbox.run(_job(task, code, stages), seconds, meanwhile)


def _with_weak(outcome: Mapping[str, Any], tested: weak_run.Weak) -> dict[str, Any]:
    """The outcome with the test code's part of the base stage, which comes after the tests written as data."""
    passed, total = outcome["stages"].get("base", (0, 0))
    counts = passed + tested.stage.passed, total + tested.stage.total
    if tested.failure == "cheating":
        counts = 0, counts[1]
    first = tested.failure if passed == total or tested.failure == "cheating" else outcome["failure"]
    findings = [*outcome["findings"], *tested.findings]
    return {
        **outcome,
        "stages": {"base": counts, **{name: stage for name, stage in outcome["stages"].items() if name != "base"}},
        "failure": first or outcome["failure"],
        "findings": findings,
        "weak": True,
    }


def _unrun(found: extraction.Extraction) -> Verdict:
    failure = found.failure or "no_code"
    reason = _EXPLAINED.get(failure) or show.line(f"the code does not parse: {repair.why_not(found.code)}")
    return Verdict(
        passed=False,
        score=0.0,
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=failure,
        findings=(reason,),
        subscores={"correctness": 0.0},
        graded_text=found.code,
        extractor=found.extractor,
    )


def _stages(task: CodingSpec, test_code: str) -> list[dict[str, Any]]:
    varied, extremes = reference.generated(task, lambda job, seconds: sandbox.run(job, seconds)[0])
    stages = [
        _stage("base", task.base, test_code),
        _stage("random", varied),
        _stage("edge", (*task.edge, *extremes)),
        _stage("hidden", task.hidden),
    ]
    return [stage for stage in stages if stage["tests"] or stage["code"]]


def _stage(name: str, tests: tuple[Test, ...], code: str = "") -> dict[str, Any]:
    declared = [{"args": list(t.args), "kwargs": dict(t.kwargs), "expected": t.expected} for t in tests]
    return {"name": name, "tests": declared, "code": code or None, "secret": name == "hidden"}


def _job(task: CodingSpec, code: str, stages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "code": code,
        "function": task.function,
        "imports": list(task.imports),
        "setup": task.setup_code,
        "mode": task.comparison,
        "compare": task.compare,
        "watched": _watched(task),
        "timeout_s": task.timeout_s,
        "memory_mb": task.memory_mb,
        "stages": stages,
        "reference": task.reference,
    }


def _watched(task: CodingSpec) -> bool:
    """Whether what the function does to its arguments can matter."""
    return task.compare == "argument" or tests_syntax.holds_arguments(task.test_code, task.function)


def _verdict(
    task: CodingSpec, found: extraction.Extraction, style: _Style, outcome: Mapping[str, Any], level: str | None
) -> Verdict:
    stages = {name: Stage(*counts) for name, counts in outcome["stages"].items()}
    nodes, quality = style.look()
    listed = _hardcoded(task, nodes, scoring.rates(stages))
    marks = scoring.score(stages, listed, quality["quality"], outcome["performance"])
    correct = all(stage.passed == stage.total for stage in stages.values())
    severe = listed >= hardcoding.SEVERE
    findings = list(outcome["findings"])
    if listed >= hardcoding.SUSPECT:
        findings.insert(0, "the code lists answers of the visible tests instead of computing them")
    if task.reference and marks.performance is None:
        findings.append(f"speed was not measured; {scoring.WITHOUT_PERFORMANCE}")
    if outcome.get("weak"):
        findings.append(weak_run.TRUST)
    return Verdict(
        passed=correct and not severe,
        score=marks.total,
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure="hardcoded" if severe else None if correct else outcome["failure"] or "wrong_answer",
        findings=tuple(findings),
        stages=stages,
        subscores=_subscores(marks, quality, listed),
        graded_text=found.code,
        extractor=found.extractor,
        isolation=level,
    )


def _subscores(marks: scoring.Score, quality: Mapping[str, float], listed: float) -> dict[str, float]:
    """The parts of the score, then what they were made from; ``performance`` only where it was measured."""
    found = {"correctness": marks.correctness, "robustness": marks.robustness, **quality}
    if marks.performance is not None:
        found["performance"] = marks.performance
    return found | {"hardcoding": round(listed, 6)}


def _hardcoded(task: CodingSpec, nodes: syntax.Nodes | None, rates: Mapping[str, float]) -> float:
    examples: list[hardcoding.Example] = [(test.args, test.expected) for test in task.base if not test.kwargs]
    examples += hardcoding.examples_in(task.test_code, task.function)
    return hardcoding.degree(nodes, examples, rates.get("base", 0.0), rates.get("random"))
