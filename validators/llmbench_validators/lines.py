"""Grading JSON lines: one answer in, one verdict out, in order.

in: ``{"id", "validation": {…} or "task": "category/name", "completion", "tool_calls"?, "finish_reason"?, "prompt"?}``
out: ``{"id", "passed", "score", "confidence", "failure", "validator", "extractor", "subscores", "stages",
"findings"}``, or ``{"id", "error": "line N: …"}`` for a line that could not be graded. Unknown fields are ignored.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from llmbench_validators import registry
from llmbench_validators.types import Completion, SandboxFault, ValidationSpecError, Verdict

MAX_LINE = 64 << 20
"""Bytes of one line; a longer one is refused."""

Resolve = Callable[[str], Mapping[str, Any]]
"""Gives a task's VALIDATION block; raises KeyError (or LookupError) when there is no such task."""


class Unreadable(ValueError):
    """The line is no input of this format."""


def grade_lines(lines: Iterable[bytes], jobs: int = 1, resolve: Resolve | None = None) -> Iterator[dict[str, Any]]:
    """One result a non-empty line, in order, ``jobs`` at a time; lines are read only as they are needed."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grading") as pool:
        pending: deque[Future[dict[str, Any]]] = deque()
        for number, line in numbered:
            pending.append(pool.submit(grade_line, line, number, resolve))
            if len(pending) > 2 * jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def grade_line(line: bytes, number: int, resolve: Resolve | None = None) -> dict[str, Any]:
    """The result of one line; ``resolve`` finds the block of a line that names a task."""
    name = None
    try:
        data = _object(line)
        name = data.get("id")
        spec, completion = _block(data, resolve), _completion(data)
        return {"id": name, **as_json(registry.grade(spec, completion))}
    except (Unreadable, ValidationSpecError, SandboxFault) as exc:
        return {"id": name, "error": f"line {number}: {exc}"}


def as_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the output format, without the id."""
    return {
        "passed": verdict.passed,
        "score": verdict.score,
        "confidence": verdict.confidence,
        "failure": verdict.failure,
        "validator": verdict.validator,
        "extractor": verdict.extractor,
        "subscores": dict(verdict.subscores),
        "stages": {name: {"passed": s.passed, "total": s.total} for name, s in verdict.stages.items()},
        "findings": list(verdict.findings),
    }


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE:
        raise Unreadable(f"longer than {MAX_LINE >> 20} MiB")
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as exc:
        raise Unreadable(f"is no JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise Unreadable(f"must be a JSON object, not {type(data).__name__}")
    return data


def _block(data: Mapping[str, Any], resolve: Resolve | None) -> Mapping[str, Any]:
    block = data.get("validation")
    if isinstance(block, dict):
        return block
    task = data.get("task")
    if block is not None or not isinstance(task, str):
        raise Unreadable("needs validation (an object) or task (a name)")
    if resolve is None:
        raise Unreadable("names a task, but no data set is at hand here; give validation")
    try:
        return resolve(task)
    except LookupError as exc:
        raise Unreadable(f"there is no task {task!r}") from exc


def _completion(data: Mapping[str, Any]) -> Completion:
    text = data.get("completion")
    calls = data.get("tool_calls") or []
    if text is None and calls:
        text = ""
    if not isinstance(text, str):
        raise Unreadable("completion must be text")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Unreadable("tool_calls must be a list of objects")
    reason, prompt = data.get("finish_reason"), data.get("prompt")
    return Completion(
        text=text,
        tool_calls=tuple(calls),
        finish_reason=reason if isinstance(reason, str) else None,
        prompt=prompt if isinstance(prompt, str) else "",
    )
