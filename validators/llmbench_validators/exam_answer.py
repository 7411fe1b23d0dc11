"""The files of an exam's answer: named ones, else the blocks that look like the module and like its tests."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from llmbench_validators import multifile_answer, multifile_fences, project_tests, repair, thoughts
from llmbench_validators.exam_spec import ExamSpec
from llmbench_validators.types import MAX_TEXT

_PYTHON = frozenset({"python", "py", "python3", "py3", ""})


@dataclass(frozen=True, slots=True)
class Sheet:
    """The answer's files over the given ones; ``failure`` is the word for an answer without the module."""

    files: Mapping[str, str]
    extractor: str | None
    findings: tuple[str, ...]
    failure: str | None = None


def read(text: str, task: ExamSpec, finish_reason: str | None) -> Sheet:
    """The files in ``text``."""
    answer = multifile_answer.read(text, task.files, task.wanted, finish_reason)
    files = {path: code for path, code in answer.files.items() if code is not None}
    rule = answer.extractor
    missing = [path for path in task.wanted if path not in files]
    unnamed = _unnamed(text[:MAX_TEXT].replace("\r\n", "\n"), task, set(files.values())) if missing else {}
    for path in missing:
        if path in unnamed:
            files[path] = unnamed[path]
            rule = "blocks" if rule is None else rule if "blocks" in rule else f"{rule}+blocks"
    findings = list(answer.findings)
    findings += [f"there is no {path}" for path in task.wanted if path not in files]
    if task.module in files:
        return Sheet(files, rule, tuple(findings))
    failure = answer.failure or "no_code"
    return Sheet(files, rule, tuple(findings), failure)


def _unnamed(text: str, task: ExamSpec, taken: set[str]) -> dict[str, str]:
    remaining, _left_open = thoughts.answer(text)
    blocks = [block.text for block in multifile_fences.fences(remaining) if block.language in _PYTHON]
    found: dict[str, str] = {}
    best = 0
    for block in blocks or [remaining]:
        made = repair.repaired(block)
        if made is None or block in taken:
            continue
        code, _name, tree = made
        size = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body)
        if project_tests.known(code).any:
            found[task.tests or ""] = code
        elif size and size >= best:
            found[task.module], best = code, size
    return found
