"""Grades the case files from outside the repository where they are present.

A line is an input line of the score format with ``expected`` = ``{passed, score?, also_failure?, may_pass?,
may_fail?}`` and, where either verdict is right, ``judgement: true``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from llmbench_validators import lines

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

FILES = [
    "score/planning.jsonl",
    "score/reasoning.jsonl",
    "score/reasoning_gsm8k.jsonl",
    "score/tool_use.jsonl",
    "score/tool_use_bfcl.jsonl",
    pytest.param("score/coding_extraction.jsonl", marks=needs_full_isolation),
    pytest.param("score/coding_humaneval.jsonl", marks=needs_full_isolation),
    pytest.param("sandbox.jsonl", marks=needs_full_isolation),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", FILES)
def test_every_case_gets_its_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = COLLECTED / "cases" / name
    if not file.exists():
        pytest.skip(NOTICE)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("BENCH_SECRET", "canary")
    given = file.read_bytes().splitlines()
    cases = [json.loads(line) for line in given]

    results = list(lines.grade_lines(given, jobs=2))

    assert [case["id"] for case, result in zip(cases, results, strict=True) if not right(case, result)] == []


def right(case: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    if "error" in result:
        return False
    return bool(case.get("judgement")) or (passed_rightly(case["expected"], result) and scored_rightly(case, result))


def passed_rightly(wanted: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    if result["passed"] == wanted["passed"]:
        return True
    return bool(wanted.get("may_pass") if result["passed"] else wanted.get("may_fail"))


def scored_rightly(case: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Scores are part of the planning cases only: the other validators weigh in their own way."""
    score = case["expected"].get("score")
    if case["validation"]["type"] != "planning" or score is None:
        return True
    return bool(result["score"] == pytest.approx(score, abs=0.005))
