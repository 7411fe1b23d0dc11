"""Grades reasoning case files from outside the repository where they are present."""

from __future__ import annotations

import json

import pytest
from llmbench_validators.reasoning import validate
from llmbench_validators.types import Completion

from tests.support.collected import COLLECTED, NOTICE


@pytest.mark.parametrize("name", ["reasoning.jsonl", "reasoning_gsm8k.jsonl"])
def test_the_collected_cases_come_out_right(name: str) -> None:
    file = COLLECTED / "cases" / "score" / name
    if not file.exists():
        pytest.skip(NOTICE)
    for line in file.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        completion = Completion(case["completion"], (), case.get("finish_reason"), case.get("prompt", ""))
        verdict = validate(case["validation"], completion)
        assert case["judgement"] or verdict.passed is case["expected"]["passed"], case["id"]
