"""Grades case files from outside the repository where they are present.

A line is an input line of the score format with ``expected`` = ``{passed, failure, also_failure?, may_pass?,
may_fail?}`` and, where either verdict is right, ``judgement: true``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from llmbench_validators import lines

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

FOLDER = COLLECTED / "cases"
FILES = ("score/coding_extraction.jsonl", "score/coding_humaneval.jsonl", "sandbox.jsonl")

pytestmark = [
    needs_full_isolation,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=NOTICE),
    pytest.mark.timeout(900),
]


def right(case: dict[str, Any], result: dict[str, Any]) -> bool:
    wanted = case["expected"]
    if case.get("judgement") or result.get("passed") == wanted["passed"]:
        return "error" not in result
    return bool(wanted.get("may_pass") if result.get("passed") else wanted.get("may_fail"))


@pytest.mark.parametrize("name", FILES)
def test_every_case_gets_its_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("BENCH_SECRET", "canary")
    given = (FOLDER / name).read_bytes().splitlines()
    cases = [json.loads(line) for line in given]

    results = list(lines.grade_lines(given, jobs=2))

    assert [case["id"] for case, result in zip(cases, results, strict=True) if not right(case, result)] == []
