"""Grading one text as a reasoning answer."""

from __future__ import annotations

from typing import Any

from llmbench_validators.reasoning import validate
from llmbench_validators.types import Completion, Verdict


def grade(expected: object, text: str, kind: str | None = None, **more: Any) -> Verdict:
    completion = Completion(text, finish_reason=more.pop("finish_reason", "stop"), prompt=more.pop("prompt", ""))
    spec = {"type": "reasoning", "expected_answer": expected, **more}
    return validate(spec if kind is None else spec | {"answer_type": kind}, completion)


def check(cases: list[tuple[str, str, bool]], kind: str) -> None:
    for expected, text, right in cases:
        verdict = grade(expected, text, kind)
        assert verdict.passed is right, (expected, text, verdict)
        assert verdict.score == float(right)
