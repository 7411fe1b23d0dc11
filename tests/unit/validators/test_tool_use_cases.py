"""Grades tool use case files from outside the repository where they are present."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from llmbench_validators.tool_use import validate
from llmbench_validators.types import Completion

from tests.support.collected import COLLECTED, NOTICE

OURS = {"unexpected_call": "unexpected_call", "no_call": "no_call", "invalid_json": "malformed_call"}
BFCL = COLLECTED / "data" / "bfcl"
# Their ground truth allows no value for a required argument, or names a parameter the function does not have.
BAD_ITEMS = {"live_simple_106-63-0", "live_simple_112-68-0", "parallel_multiple_12", "parallel_multiple_26"}


@pytest.mark.parametrize("name", ["tool_use.jsonl", "tool_use_bfcl.jsonl"])
def test_the_collected_cases_come_out_right(name: str) -> None:
    file = COLLECTED / "cases" / "score" / name
    if not file.exists():
        pytest.skip(NOTICE)
    for case in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        verdict = validate(case["validation"], Completion(case["completion"], tuple(case.get("tool_calls") or ())))
        expected = case["expected"]
        assert case["judgement"] or verdict.passed is expected["passed"], case["id"]
        assert verdict.failure == OURS.get(expected["failure"], verdict.failure), case["id"]


def items() -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    for answers in sorted((BFCL / "possible_answer").glob("*.json")):
        questions = (BFCL / answers.name).read_text(encoding="utf-8").splitlines()
        truth = {
            row["id"]: row["ground_truth"] for row in map(json.loads, answers.read_text(encoding="utf-8").splitlines())
        }
        for item in map(json.loads, questions):
            if item["id"] not in BAD_ITEMS:
                yield item, truth[item["id"]]


def option(value: Any) -> Any:
    if isinstance(value, dict):
        return {"fields": {key: choice(values) for key, values in value.items()}}
    nested = isinstance(value, list) and any(isinstance(item, dict) for item in value)
    return {"items": [option(item) for item in value]} if nested else value


def choice(values: list[Any]) -> dict[str, Any]:
    """BFCL lists the allowed values; an empty string among them means that the argument may be left out."""
    return {"any_of": [option(value) for value in values if value != ""], "optional": "" in values}


def first(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: first(real[0]) for key, values in value.items() if (real := [one for one in values if one != ""])}
    return [first(item) for item in value] if isinstance(value, list) else value


def test_the_first_allowed_values_of_every_bfcl_item_pass() -> None:
    if not BFCL.exists():
        pytest.skip(NOTICE)
    failed = []
    for item, truth in items():
        calls = [(name, arguments) for call in truth for name, arguments in call.items()]
        spec = {
            "tools": item["function"],
            "match": "bfcl",
            "expected_calls": [
                {"function": name, "arguments": {key: choice(values) for key, values in arguments.items()}}
                for name, arguments in calls
            ],
        }
        made = tuple({"name": name, "arguments": json.dumps(first(arguments))} for name, arguments in calls)
        if not validate(spec, Completion("", made)).passed:
            failed.append(item["id"])
    assert failed == []
