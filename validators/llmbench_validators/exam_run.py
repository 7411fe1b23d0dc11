"""Carrying out an exam's checks: everything that needs the sandbox goes there in two batches."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmbench_validators import (
    compare,
    exam_mutants,
    exam_rules,
    multifile_tamper,
    project_run,
    project_tests,
    repair,
    show,
)
from llmbench_validators.exam_spec import Check, ExamSpec
from llmbench_validators.project_run import Limits, Reply, Work

_PROBE, _TESTS = "exam_probe.py", "exam_tests.py"
_MUTANT_S = 3.0
_MAX_NAMED = 3
_INSIDES = frozenset({"__code__", "co_code", "co_consts", "getsource", "getsourcelines", "getsourcefile", "dis"})


@dataclass(frozen=True, slots=True)
class Mark:
    """What a check came to: the share of its points (0 to 1), why not all, and a failure word that voids all."""

    share: float
    text: str = ""
    word: str | None = None


class Sitting:
    """One answer's files under the checks of one exam."""

    def __init__(self, task: ExamSpec, files: Mapping[str, str]) -> None:
        self._task = task
        self._files = {**task.files, **files}
        self._own_code = files.get(task.tests or "", "")
        self._trees: dict[str, ast.Module | None] = {}
        self.level: str | None = None

    def marks(self, checks: Sequence[Check]) -> list[Mark]:
        """A mark for each of ``checks``, in order. Raises as the sandbox does."""
        works = {number: work for number, check in enumerate(checks) if (work := self._work(check)) is not None}
        mutating = any(check.kind == "mutation" for check in checks)
        neutral = self._neutral() if mutating else None
        batch = [*works.values(), *([neutral] if neutral else [])]
        replies = self._run(batch, self._task.limits)
        reply_of = dict(zip(works, replies, strict=False))
        reason = self._unfit(neutral, replies[-1] if neutral else None) if mutating else ""
        found = []
        for number, check in enumerate(checks):
            if check.kind == "rule":
                found.append(self._ruled(check))
            elif check.kind == "mutation":
                found.append(Mark(0.0, reason) if reason else self._mutated(check))
            elif number in works:
                found.append(_marked(check, works[number], reply_of[number]))
            else:
                found.append(Mark(0.0, "the answer has no tests of its own"))
        return found

    def _run(self, works: Sequence[Work], limits: Limits) -> list[Reply]:
        if not works:
            return []
        replies, self.level = project_run.run(works, limits)
        return replies

    def _work(self, check: Check) -> Work | None:
        own = (*self._task.files, self._task.module)
        if check.kind == "probe":
            return Work("probe", _PROBE, check.code, self._files, self._task.support, own)
        if check.kind == "tests":
            return Work("tests", _TESTS, check.code, self._files, self._task.support, own)
        if check.kind == "own_tests" and self._own_code:
            return self._own_work(self._files[self._task.module])
        return None

    def _own_work(self, module: str, *, stop: bool = False) -> Work:
        files = {**self._files, self._task.module: module}
        own = (*self._task.files, self._task.module)
        return Work("tests", self._task.tests or "", self._own_code, files, {}, own, stop)

    # --- rules

    def _ruled(self, check: Check) -> Mark:
        if check.file not in self._trees:
            self._trees[check.file] = repair.parsed(self._files.get(check.file, ""))
        tree = self._trees[check.file]
        if tree is None or not tree.body:
            return Mark(0.0, f"there is no {check.file} that parses")
        try:
            broken = exam_rules.RULES[check.rule].broken(tree, check.option)
        except RecursionError:
            return Mark(0.0, "the code is nested too deeply")
        more = f" and {len(broken) - _MAX_NAMED} more" if len(broken) > _MAX_NAMED else ""
        return Mark(0.0, "; ".join(broken[:_MAX_NAMED]) + more) if broken else Mark(1.0)

    # --- the answer's own tests under faults in its own code

    def _neutral(self) -> Work | None:
        code = exam_mutants.neutral(self._files[self._task.module])
        return self._own_work(code) if code is not None and self._own_code else None

    def _unfit(self, work: Work | None, reply: Reply | None) -> str:
        """Why the answer's own tests cannot be tried on faults, empty when they can."""
        if work is None or reply is None or not project_tests.known(self._own_code).any:
            return "the answer has no tests of its own"
        if tampering := [*multifile_tamper.found({work.path: self._own_code}), *_readings(self._own_code)]:
            return tampering[0]
        report = project_run.report(work, reply)
        if report.failure is None and report.passed == report.total:
            return ""
        return f"its own tests do not pass on its own code: {'; '.join(report.findings[:1])}"

    def _mutated(self, check: Check) -> Mark:
        made = exam_mutants.mutants(self._files[self._task.module], check.option)
        if not made:
            return Mark(0.0, "the code has no place to put a fault")
        works = [self._own_work(mutant.code, stop=True) for mutant in made]
        limits = Limits(min(_MUTANT_S, self._task.limits.timeout_s), self._task.limits.memory_mb, len(works))
        reports = [project_run.report(w, r) for w, r in zip(works, self._run(works, limits), strict=True)]
        missed = [mutant for mutant, report in zip(made, reports, strict=True) if report.failure is None]
        share = min(1.0, (1 - len(missed) / len(made)) / check.kill)
        named = "; ".join(f"line {mutant.line}: {mutant.change}" for mutant in missed[:_MAX_NAMED])
        return Mark(share, f"{len(missed)} of {len(made)} faults went unnoticed: {named}" if missed else "")


def _readings(code: str) -> list[str]:
    """Where tests look at how a program is written, which would notice any fault without testing anything."""
    parts = ast.walk(repair.parsed(code) or ast.Module([], []))
    used = [(part.lineno, part.attr) for part in parts if isinstance(part, ast.Attribute) and part.attr in _INSIDES]
    return [f"line {line} of its own tests reads {name}" for line, name in used]


def _marked(check: Check, work: Work, reply: Reply) -> Mark:
    if check.kind == "probe":
        return _probed(check, reply)
    report = project_run.report(work, reply)
    word = "cheating" if report.failure == "cheating" and check.kind == "tests" else None
    text = "; ".join(finding.partition(": ")[2] for finding in report.findings[:_MAX_NAMED])
    right = report.passed == report.total and report.failure is None
    if check.kind == "tests":
        return Mark(report.passed / report.total, text, word)
    known = project_tests.known(work.code)
    if not known.any or report.total < check.option:
        return Mark(0.0, f"{report.total if known.any else 0} tests of its own, at least {check.option} are asked for")
    return Mark(1.0) if right else Mark(0.0, text)


def _probed(check: Check, reply: Reply) -> Mark:
    if reply.word is not None:
        return Mark(0.0, reply.text or reply.word, "cheating" if reply.word == "cheating" else None)
    value = reply.body.get("value")
    if compare.same(value, check.option, check.comparison):
        return Mark(1.0)
    return Mark(0.0, f"the probe returned {show.value(value)}, expected {show.value(check.option)}")
