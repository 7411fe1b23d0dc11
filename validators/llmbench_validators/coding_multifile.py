"""The validator for answers of several files: lays them over the project and runs the integration tests on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_validators import multifile_answer, multifile_spec, multifile_tamper, project_run, repair, show
from llmbench_validators.multifile_answer import Answer
from llmbench_validators.multifile_spec import MultifileSpec
from llmbench_validators.project_run import Report
from llmbench_validators.types import Completion, Stage, Verdict

VERSION = "1"
NAME = multifile_spec.NAME

_OWN_TEST = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|conftest)\.py")
_MAX_FINDINGS = 12
_EXPLAINED = {
    "empty": "the answer is empty",
    "refusal": "the answer refuses the task",
    "no_code": "the answer names no file with its content",
    "syntax_error": "the answer names no file with its content",
    "budget_exhausted": "the answer was cut off before a file was complete",
    "format": "nothing in the answer can be laid over the project",
}


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade ``completion`` against a coding_multifile block: ``score`` is the share of its tests that pass,
    hidden ones included.

    Raises ValidationSpecError for a wrong block, SandboxFault when the sandbox fails or this machine cannot
    isolate code as required.
    """
    task = multifile_spec.parse(spec)
    answer = multifile_answer.read(completion.text, task.files, task.modified, completion.finish_reason)
    if answer.failure is not None:
        return _unrun(answer, answer.failure, [_EXPLAINED.get(answer.failure, answer.failure), *answer.findings])
    changed, notes = _usable(task, answer)
    if fault := _unparsed(changed):
        return _unrun(answer, "syntax_error", [fault, *notes])
    written = {path: text for path, text in changed.items() if text is not None}
    if tampering := multifile_tamper.found(written, task.held):
        return _unrun(answer, "cheating", [*tampering, *notes])
    return _graded(task, answer, changed, notes)


def _usable(task: MultifileSpec, answer: Answer) -> tuple[dict[str, str | None], list[str]]:
    """The files that count, and what is to be said of the others and of those that are missing."""
    notes = list(answer.findings)
    known = {*task.files, *task.modified}
    changed: dict[str, str | None] = {}
    for path, text in answer.files.items():
        if path in task.held:
            notes.append(f"{path} belongs to the tests; the answer's version is left out")
        elif _OWN_TEST.fullmatch(path) and path not in known:
            notes.append(f"{path} is a test of the answer's own and is left out")
        else:
            changed[path] = text
    notes += [f"expected file {path} was not touched" for path in task.modified if path not in changed]
    same = [path for path, text in changed.items() if path in task.files and text == task.files[path]]
    notes += [f"{path} is unchanged" for path in same]
    others = [path for path in changed if task.modified and path in task.files and path not in task.modified]
    return changed, notes + [f"{path} was changed too" for path in others]


def _unparsed(changed: Mapping[str, str | None]) -> str:
    for path, text in changed.items():
        fault = repair.why_not(text) if text is not None and path.endswith(".py") else ""
        if fault:
            return f"{path} does not parse: {fault}"
    return ""


def _graded(task: MultifileSpec, answer: Answer, changed: Mapping[str, str | None], notes: list[str]) -> Verdict:
    merged = {path: text for path, text in {**task.files, **changed}.items() if text is not None}
    own = (*task.files, *task.modified)
    tests = (*task.tests, *task.hidden)
    works = [project_run.Work("tests", test.path, test.code, merged, test.held, own) for test in tests]
    replies, level = project_run.run(works, task.limits)
    reports = [project_run.report(work, reply) for work, reply in zip(works, replies, strict=True)]
    stages = _stages(reports[: len(task.tests)], reports[len(task.tests) :])
    passed, total = sum(stage.passed for stage in stages.values()), sum(stage.total for stage in stages.values())
    failure = next((report.failure for report in reports if report.failure), None)
    right = passed == total and failure is None
    cheated = any(report.failure == "cheating" for report in reports)
    if not right:
        failure = "cheating" if cheated else "format" if answer.broken else failure or "wrong_answer"
    return Verdict(
        passed=right,
        score=0.0 if cheated else round(passed / total, 6),
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure=failure,
        findings=_findings([*notes, *_told(reports[: len(task.tests)], stages), project_run.TRUST]),
        stages=stages,
        graded_text=_shown(changed),
        extractor=answer.extractor,
        isolation=level,
    )


def _stages(shown: Sequence[Report], hidden: Sequence[Report]) -> dict[str, Stage]:
    stages = {"integration": shown, "hidden": hidden}
    return {
        name: Stage(sum(report.passed for report in reports), sum(report.total for report in reports))
        for name, reports in stages.items()
        if reports
    }


def _told(shown: Sequence[Report], stages: Mapping[str, Stage]) -> list[str]:
    """What failed; of hidden tests only how many, for the words could hold what they ask."""
    findings = [finding for report in shown for finding in report.findings]
    hidden = stages.get("hidden")
    if hidden is not None and hidden.passed < hidden.total:
        findings.append(f"hidden: {hidden.total - hidden.passed} of {hidden.total} tests failed")
    return findings


def _unrun(answer: Answer, failure: str, findings: Sequence[str]) -> Verdict:
    return Verdict(
        passed=False,
        score=0.0,
        confidence="high",
        validator=NAME,
        version=VERSION,
        failure="no_code" if failure == "syntax_error" and not answer.files else failure,
        findings=_findings(findings),
        graded_text=_shown(answer.files),
        extractor=answer.extractor,
    )


def _findings(findings: Sequence[str]) -> tuple[str, ...]:
    """The first of them and always the last, which says how far to trust the rest."""
    kept = findings if len(findings) <= _MAX_FINDINGS else [*findings[: _MAX_FINDINGS - 1], findings[-1]]
    return tuple(dict.fromkeys(show.line(finding) for finding in kept))


def _shown(files: Mapping[str, str | None]) -> str:
    """The graded files as one text, each under a line with its path."""
    return "\n".join(f"### {path}\n{'(removed)' if text is None else text}" for path, text in files.items())
