"""Whether a task can be graded at all: its VALIDATION block, its reference solution, its secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.errors import ValidatorFault
from llmbench_mcp.domain.task import Task

LEAST_REFERENCE_SCORE = 0.95
_REFERENCE = "reference_solution"
_HIDDEN = "hidden_tests"
_TELLING = 12
"""Characters of a test's input from which on finding it in the prompt is no chance."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and the path in the VALIDATION block it is about, such as ``hidden_tests[2]``."""

    where: str
    what: str


def block_fault(task: Task) -> str | None:
    """What the validator has against the task's block, None for nothing; no hidden value is in it.

    Raises ValidatorFault when the validator itself fails.
    """
    from llmbench_validators.registry import check
    from llmbench_validators.types import ValidationSpecError

    try:
        check(task.validation)
    except ValidationSpecError as error:
        said = str(error)
        # A malformed hidden test is named by its number alone.
        return said.partition(":")[0] + ": is malformed" if said.startswith(_HIDDEN) else said
    except Exception as error:  # a plug-in: whatever it raises is its fault
        raise ValidatorFault(f"The validator of {task.id} failed: {type(error).__name__}: {error}") from error
    return None


def reference_fault(task: Task, min_isolation: str) -> Fault | None:
    """Why the task's reference solution would not do as an answer; None when it does or there is none.

    Raises ValidatorFault when the sandbox or the validator fails.
    """
    from llmbench_validators.registry import grade, require_isolation
    from llmbench_validators.types import Completion, SandboxFault, ValidationSpecError

    code = task.validation.get(_REFERENCE)
    if not isinstance(code, str) or not code:
        return None
    require_isolation(min_isolation)
    try:
        verdict = grade(task.validation, Completion(code, prompt=task.prompt))
    except ValidationSpecError as error:
        return Fault(str(error), str(error))
    except SandboxFault as error:
        raise ValidatorFault(f"The sandbox failed: {error}", "See llmbench-mcp doctor.") from error
    if verdict.passed and verdict.score >= LEAST_REFERENCE_SCORE:
        return None
    said = "; ".join(verdict.findings[:3]) or verdict.failure or "no reason given"
    return Fault(_REFERENCE, f"the reference solution scores {verdict.score:.2f} on its own tests: {said}")


def answer_fault(task: Task, text: str, calls: Sequence[Mapping[str, Any]], min_isolation: str) -> str | None:
    """Why an answer that should be right does not pass; None when it does. ``calls``: ``{name, arguments}`` each.

    Raises ValidatorFault when the sandbox or the validator fails.
    """
    from llmbench_validators.registry import grade, require_isolation
    from llmbench_validators.types import Completion, SandboxFault

    require_isolation(min_isolation)
    try:
        verdict = grade(task.validation, Completion(text, tuple(calls), "stop", task.prompt))
    except SandboxFault as error:
        raise ValidatorFault(f"The sandbox failed: {error}", "See llmbench-mcp doctor.") from error
    if verdict.passed:
        return None
    return f"the right answer does not pass: {'; '.join(verdict.findings[:3]) or verdict.failure or 'no reason given'}"


def shown_secrets(task: Task) -> list[Fault]:
    """The hidden tests that the prompt gives away: their call is written there, or their input and result are."""
    tests = task.validation.get(_HIDDEN)
    text = _squeezed(f"{task.system or ''}\n{task.prompt}")
    name = str(task.validation.get("function_name", ""))
    return [
        Fault(f"{_HIDDEN}[{number}]", f"hidden test {number + 1} stands in the prompt")
        for number, test in enumerate(tests if isinstance(tests, list) else [])
        if isinstance(test, Mapping) and _shown(test, name, text)
    ]


def _shown(test: Mapping[str, Any], name: str, text: str) -> bool:
    args = [test["input"]] if "input" in test else test.get("args")
    if not isinstance(args, list) or not args:
        return False
    spelt = [_squeezed(_spelling(arg)) for arg in args]
    if name and f"{name}({','.join(spelt)})" in text:
        return True
    telling = sum(map(len, spelt)) >= _TELLING
    return telling and all(part in text for part in (*spelt, _squeezed(_spelling(test.get("expected")))))


def _spelling(value: Any) -> str:
    """As Python writes it, JSON's three words included."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _squeezed(text: str) -> str:
    return "".join(text.replace("'", '"').split())
