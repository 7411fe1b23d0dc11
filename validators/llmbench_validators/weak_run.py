"""Runs test code in the answer's own process, where plain data cannot serve it, and says what came of it.

Used only for tasks that :mod:`trust` names. The reply counts only with the nonce the process was given and one result
for each test; nothing else ties it to the tests, which is why such verdicts are marked.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import asserts, child_code, clock, multifile_tamper, project_run, project_tests, sandbox, show
from llmbench_validators import tests_syntax as reading
from llmbench_validators.coding_spec import CodingSpec
from llmbench_validators.types import Stage

TRUST = project_run.TRUST
"""The finding that marks the verdict."""

_CHILD_MODULES = ("project_guard", "project_child", "weak_child")
_OVERHEAD_S = 60.0
_MAX_FINDINGS = 10


@dataclass(frozen=True, slots=True)
class Weak:
    """What the tests came to: the stage, the first failure's word, what to tell, and the isolation level."""

    stage: Stage
    failure: str | None
    findings: tuple[str, ...]
    level: str | None


def tampering(code: str) -> list[str]:
    """What the answer does that could decide its own verdict, found in its syntax."""
    return [text.partition(":")[2] for text in multifile_tamper.found({"answer.py": code}, ["tests.py"])]


def run(task: CodingSpec, code: str) -> Weak:
    """Run the task's test code beside ``code``. Raises as ``sandbox.run``, ValidationSpecError for unreadable tests."""
    total = asserts.count(task.test_code, task.function)
    if found := tampering(code):
        told = [show.line(f"line {text}") for text in found[:_MAX_FINDINGS]]
        return Weak(Stage(0, total), "cheating", tuple(told), None)
    nonce = secrets.token_hex(16)
    job = {
        "code": child_code.assembled(*_CHILD_MODULES),
        "function": "run",
        "imports": [],
        "timeout_s": task.timeout_s,
        "memory_mb": task.memory_mb,
        "patience": 1,
        "load_s": child_code.LOAD_S,
        "replies": [[[_request(task, code, nonce)], {}]],
    }
    outcome, level = sandbox.run(job, (task.timeout_s + child_code.LOAD_S) * clock.STRETCH + _OVERHEAD_S)
    reply = project_run.read_reply(outcome["replies"][0], nonce)
    if reply.word is not None:
        return Weak(Stage(0, total), reply.word, (_line(1, total, reply.text or reply.word),), level)
    return _read(reply.body["results"], str(reply.body["note"]), total, level)


def _request(task: CodingSpec, code: str, nonce: str) -> dict[str, Any]:
    before = reading.wanted_names(task.setup_code, "", task.function)
    tests = f"{task.setup_code}\n{task.test_code}"
    return {
        "nonce": nonce,
        "code": code,
        "imports": list(task.imports),
        "setup": task.setup_code,
        "late": bool(before),
        "wanted": list(reading.wanted_names(tests, "", task.function)),
        "function": task.function,
        "statements": [list(one) for one in asserts.statements(task.test_code, task.function)],
        "preload": project_tests.imported(tests, ()),
    }


def _read(results: Sequence[Any], note: str, total: int, level: str) -> Weak:
    if len(results) != total:
        return Weak(Stage(0, total), "cheating", ("wrote to the result channel",), level)
    failed = [(number, str(word), str(text)) for number, (word, text) in enumerate(results, 1) if word is not None]
    told = list(dict.fromkeys(text for _, _, text in failed))
    numbers = {text: [number for number, _, other in failed if other == text] for text in told}
    findings = [_line(numbers[text][0], numbers[text][-1], text) for text in told[:_MAX_FINDINGS]]
    if note:
        findings.append(show.line(f"after the definition the code ended with {note}"))
    word = failed[0][1] if failed else None
    known = word is None or word in project_run.WORDS
    return Weak(Stage(total - len(failed), total), word if known else "runtime_error", tuple(findings), level)


def _line(first: int, last: int, text: str) -> str:
    which = f"test {first}" if first == last else f"tests {first}-{last}"
    return show.line(f"base {which}: {text}")
