"""The coding validator: finds the code in an answer, runs it in the sandbox and scores the tests it passes.

Stages and weights: base 0.5, edge 0.2, renormalised over those a task has; hidden tests only take away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmbench_validators import coding_spec, extraction, repair, sandbox, show
from llmbench_validators.coding_spec import CodingSpec, Test
from llmbench_validators.types import Completion, Stage, Verdict

VERSION = "1"
NAME = "coding"

_WEIGHTS = {"base": 0.5, "edge": 0.2}
_HIDDEN_PENALTY = 0.25
_CORRECTNESS_SHARE, _ROBUSTNESS_SHARE = 0.5, 0.2
_LOAD_STAGES = 1
_STRETCH = 4.0
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
    seconds = (len(_stages(task)) + _LOAD_STAGES) * task.timeout_s * _STRETCH + _OVERHEAD_S
    outcome, level = sandbox.run(_job(task, found.code), seconds)
    return _verdict(found, outcome, level)


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


def _stages(task: CodingSpec) -> list[dict[str, Any]]:
    stages = [_stage("base", task.base, task.test_code)]
    if task.edge:
        stages.append(_stage("edge", task.edge))
    if task.hidden:
        stages.append(_stage("hidden", task.hidden))
    return stages


def _stage(name: str, tests: tuple[Test, ...], code: str = "") -> dict[str, Any]:
    declared = [{"args": list(t.args), "kwargs": dict(t.kwargs), "expected": t.expected} for t in tests]
    return {"name": name, "tests": declared, "code": code or None, "secret": name == "hidden"}


def _job(task: CodingSpec, code: str) -> dict[str, Any]:
    return {
        "code": code,
        "function": task.function,
        "imports": list(task.imports),
        "setup": task.setup_code,
        "mode": task.comparison,
        "timeout_s": task.timeout_s,
        "memory_mb": task.memory_mb,
        "stages": _stages(task),
    }


def _verdict(found: extraction.Extraction, outcome: Mapping[str, Any], level: str) -> Verdict:
    stages = {name: Stage(*counts) for name, counts in outcome["stages"].items()}
    correctness, robustness = scores(stages)
    total = (_CORRECTNESS_SHARE * correctness + _ROBUSTNESS_SHARE * robustness) / (
        _CORRECTNESS_SHARE + _ROBUSTNESS_SHARE
    )
    passed = all(stage.passed == stage.total for stage in stages.values())
    return Verdict(
        passed=passed,
        score=1.0 if passed else round(total, 6),
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=None if passed else outcome["failure"] or "wrong_answer",
        findings=tuple(outcome["findings"]),
        stages=stages,
        subscores={"correctness": round(correctness, 6), "robustness": round(robustness, 6)},
        graded_text=found.code,
        extractor=found.extractor,
        isolation=level,
    )


def scores(stages: Mapping[str, Stage]) -> tuple[float, float]:
    """Correctness and robustness, each 0 to 1, of the stages that exist."""
    rates = {name: stage.passed / stage.total for name, stage in stages.items() if stage.total}
    weights = {name: weight for name, weight in _WEIGHTS.items() if name in rates}
    correctness = sum(rates[name] * weight for name, weight in weights.items()) / sum(weights.values())
    if "hidden" in rates:
        correctness = max(0.0, correctness - _HIDDEN_PENALTY * (1 - rates["hidden"]))
    beyond = [rate for name, rate in rates.items() if name != "base"]
    return correctness, sum(beyond) / len(beyond) if beyond else correctness
