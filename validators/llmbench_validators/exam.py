"""The exam validator: five pillars of deterministic checks, each worth up to 20 of 100 points.

The block format is in :mod:`exam_spec`. ``score`` is the sum of the pillars over 100; the answer passes with at
least ``pass_mark`` points when no pillar is below ``pillar_minimum``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators import exam_answer, exam_run, exam_spec, multifile_tamper, project_run, repair, show
from llmbench_validators.exam_answer import Sheet
from llmbench_validators.exam_run import Mark
from llmbench_validators.exam_spec import PILLAR_POINTS, Check, ExamSpec
from llmbench_validators.types import Completion, Stage, Verdict

VERSION = "1"
NAME = exam_spec.NAME

_MAX_FINDINGS = 20
_FULL = 100.0


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade ``completion`` against an exam block; ``subscores`` hold the points of each pillar (0 to 20).

    Raises ValidationSpecError for a wrong block, SandboxFault when the sandbox fails or this machine cannot
    isolate code as required.
    """
    task = exam_spec.parse(spec)
    sheet = exam_answer.read(completion.text, task, completion.finish_reason)
    if sheet.failure is not None:
        return _unmarked(task, sheet, sheet.failure, [f"the answer holds no {task.module}"])
    if fault := repair.why_not(sheet.files[task.module]):
        return _unmarked(task, sheet, "syntax_error", [f"{task.module} does not parse: {fault}"])
    tests = {task.tests} if task.tests else set()
    code = {path: text for path, text in sheet.files.items() if path not in tests}
    if tampering := multifile_tamper.found(code, {*tests, *task.support}):
        return _unmarked(task, sheet, "cheating", tampering)
    return _marked(task, sheet)


def _marked(task: ExamSpec, sheet: Sheet) -> Verdict:
    checks = [check for pillar in task.pillars.values() for check in pillar]
    sitting = exam_run.Sitting(task, sheet.files)
    marks = sitting.marks(checks)
    if cheats := [mark.text for mark in marks if mark.word == "cheating"]:
        return _unmarked(task, sheet, "cheating", cheats, sitting.level)
    paired = list(zip(checks, marks, strict=True))
    pillars = {}
    for name, of_pillar in task.pillars.items():
        pillars[name], paired = paired[: len(of_pillar)], paired[len(of_pillar) :]
    points = {name: _points(pairs) for name, pairs in pillars.items()}
    total = sum(points.values())
    passed = total >= task.pass_mark and min(points.values()) >= task.pillar_minimum
    return Verdict(
        passed=passed,
        score=round(total / _FULL, 6),
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=None if passed else "missed_criteria",
        findings=_findings([*sheet.findings, *_missed(pillars), *([project_run.TRUST] if sitting.level else [])]),
        stages={name: Stage(sum(mark.share >= 1 for _, mark in p), len(p)) for name, p in pillars.items()},
        subscores=points,
        graded_text=_shown(sheet),
        extractor=sheet.extractor,
        isolation=sitting.level,
    )


def _points(pairs: Sequence[tuple[Check, Mark]]) -> float:
    earned = sum(check.points * mark.share for check, mark in pairs)
    return round(PILLAR_POINTS * earned / sum(check.points for check, _ in pairs), 4)


def _missed(pillars: Mapping[str, Sequence[tuple[Check, Mark]]]) -> list[str]:
    return [
        f"{name}: {check.name}: {mark.text}"
        for name, pairs in pillars.items()
        for check, mark in pairs
        if mark.share < 1
    ]


def _unmarked(task: ExamSpec, sheet: Sheet, failure: str, findings: Sequence[str], level: str | None = None) -> Verdict:
    return Verdict(
        passed=False,
        score=0.0,
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=failure,
        findings=_findings([*findings, *sheet.findings]),
        subscores=dict.fromkeys(task.pillars, 0.0),
        graded_text=_shown(sheet),
        extractor=sheet.extractor,
        isolation=level,
    )


def _findings(findings: Sequence[str]) -> tuple[str, ...]:
    kept = findings if len(findings) <= _MAX_FINDINGS else [*findings[: _MAX_FINDINGS - 1], findings[-1]]
    return tuple(dict.fromkeys(show.line(finding) for finding in kept))


def _shown(sheet: Sheet) -> str:
    return "\n".join(f"### {path}\n{text}" for path, text in sheet.files.items())
