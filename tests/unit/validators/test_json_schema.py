from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import json_schema
from llmbench_validators.types import Completion, SandboxFault, ValidationSpecError, Verdict

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
RIGHT = '{"name": "Ada", "age": 36}'


def grade(text: str, schema: Any = PERSON, finish: str | None = "stop") -> Verdict:
    return json_schema.validate({"type": "json_schema", "schema": schema}, Completion(text, finish_reason=finish))


SHAPES = {
    "bare": RIGHT,
    "fence": f"```json\n{RIGHT}\n```",
    "fence in prose": f"Here you are:\n\n```json\n{RIGHT}\n```\nAnything else?",
    "unmarked fence": f"```\n{RIGHT}\n```",
    "marked among others": f"```json\n{RIGHT}\n```\n```python\nprint(1)\n```\n```\nout\n```",
    "after reasoning": f"<think>{{}}</think>\n{RIGHT}",
    "byte order mark and CRLF": "\ufeff" + RIGHT.replace(" ", "\r\n"),
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_the_value_is_found_in_every_shape_of_answer(text: str) -> None:
    verdict = grade(text)

    assert (verdict.passed, verdict.score, verdict.failure, verdict.confidence) == (True, 1.0, None, "high")


NO_JSON = {
    "prose": "Ada is 36.",
    "prose around": f"Here: {RIGHT}",
    "two blocks": f"```json\n{RIGHT}\n```\n```json\n{RIGHT}\n```",
    "two values": RIGHT + RIGHT,
    "NaN": '{"name": "Ada", "age": NaN}',
    "single quotes": "{'name': 'Ada', 'age': 36}",
    "trailing comma": '{"name": "Ada", "age": 36,}',
    "too large a number": '{"name": "Ada", "age": 1e999}',
    "too deep": "[" * 100 + "]" * 100,
    "far too deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", NO_JSON.values(), ids=NO_JSON.keys())
def test_an_answer_without_one_json_value_fails_as_format(text: str) -> None:
    verdict = grade(text)

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.0, "format")
    assert verdict.findings[0].startswith("There is no JSON to check")


def test_why_there_is_no_answer_is_named() -> None:
    assert grade("").failure == "empty"
    assert grade('{"name": "Ad', finish="length").failure == "budget_exhausted"
    assert grade("I'm sorry, but I cannot provide personal data.").failure == "refusal"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"name": "Ada", "age": "36"}', 0.5),
        ('{"name": "Ada"}', 0.5),
        ('{"name": "Ada", "age": -1, "tags": ["x"]}', 0.666667),
        ('{"name": "Ada", "age": 36, "tags": [1, 2]}', 0.666667),
        ('{"name": "Ada", "age": 36, "extra": 1}', 0.666667),
        ("{}", 0.0),
        ("[]", 0.0),
        ('"Ada"', 0.0),
    ],
)
def test_a_value_that_does_not_fit_earns_the_share_of_its_right_properties(text: str, score: float) -> None:
    verdict = grade(text)

    assert (verdict.passed, verdict.score, verdict.failure) == (False, score, "wrong_answer")
    assert verdict.findings[0].startswith("$")


def test_findings_show_no_control_characters_of_the_answer() -> None:
    verdict = grade(r'{"\u001b[2J\ud800": "\u202e"}', {"additionalProperties": {"type": "integer"}})

    assert verdict.findings[0].isprintable()


def test_a_schema_may_refer_to_its_own_definitions() -> None:
    schema = {"$ref": "#/$defs/Person", "$defs": {"Person": PERSON}}

    assert grade(RIGHT, schema).passed
    assert grade('{"name": "Ada", "age": "36"}', schema).score == 0.5


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}}

    assert grade('{"$ref": "http://example.org/x", "pattern": "("}', schema).passed


def test_a_pattern_that_backtracks_without_end_is_stopped() -> None:
    schema = {"properties": {"a": {"pattern": "^(x+)+$"}}}

    assert grade('{"a": "xxx"}', schema).passed
    assert grade(json.dumps({"a": "x" * 60 + "!"}), schema).failure == "timeout"


def test_a_machine_that_cannot_start_the_checking_process_is_not_the_answers_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = {"properties": {"a": {"pattern": "^x$"}}}
    for program in ("/nowhere/python", "/bin/false"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(SandboxFault):
            grade('{"a": "x"}', schema)


WRONG: list[tuple[Any, str]] = [
    ([], "schema must be a mapping"),
    ({"type": "person"}, "schema is wrong at $.type"),
    ({"$ref": "https://example.org/person.json"}, "only #… within it may be used"),
    ({"properties": {"a": {"$ref": "other.json#/x"}}}, "only #… within it may be used"),
    ({"$ref": "#/$defs/Person"}, "which it lacks"),
    ({"$ref": "#"}, "refers to itself without end"),
    ({"properties": {"a": {"pattern": "("}}}, "has the pattern '('"),
    ({"patternProperties": {"[": {}}}, "has the pattern '['"),
    ({"const": {1, 2}}, "schema must be plain JSON"),
    ({"const": json.loads("[" * 80 + "]" * 80)}, "nested deeper"),
]


@pytest.mark.parametrize(("schema", "message"), WRONG)
def test_a_schema_that_cannot_be_used_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(ValidationSpecError) as caught:
        grade("{}", schema)

    assert message in str(caught.value)


def test_a_wrong_block_is_refused() -> None:
    with pytest.raises(ValidationSpecError, match="schema is missing"):
        json_schema.validate({"type": "json_schema"}, Completion("{}"))
    with pytest.raises(ValidationSpecError, match="unknown key 'scheme'; valid are type, schema"):
        json_schema.validate({"type": "json_schema", "scheme": {}}, Completion("{}"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "age", "tags", "x"]), inner),
    max_leaves=8,
)


@given(st.text() | json_values.map(json.dumps))
def test_no_text_makes_it_fail(text: str) -> None:
    verdict = grade(text)

    assert verdict.passed == (verdict.score == 1) == (verdict.failure is None)


@pytest.mark.parametrize(
    ("value", "step", "passed"),
    [
        ("0.3", 0.1, True),
        ("19.99", 0.01, True),
        ("0.07", 0.01, True),
        ("4.35", 0.01, True),
        ("0.0075", 0.0001, True),
        ("1e300", 0.1, True),
        ("12", 0.5, True),
        ("9" * 400, 0.5, True),
        ("9" * 400, 0.4, False),
        ("7.5", 2.5, True),
        ("0.35", 0.1, False),
        ("19.995", 0.01, False),
        ("7", 2, False),
        ("1e-7", 0.01, False),
    ],
)
def test_multiples_are_told_by_the_decimal_numbers_as_written(value: str, step: float, passed: bool) -> None:
    assert grade(value, {"multipleOf": step}).passed is passed
