from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators.registry import grade
from llmbench_validators.types import Completion, Verdict

from tests.unit.validators.tool_support import BOOK, block, graded, native, wanted


def booked(expected: dict[str, Any], given: dict[str, Any], **keys: Any) -> Verdict:
    """The verdict on one booking with these arguments beside the start."""
    return graded(
        [wanted("book_train", start="Graz", **expected)], [native("book_train", start="Graz", **given)], **keys
    )


def test_the_registry_knows_the_validator() -> None:
    verdict = grade(block(BOOK), Completion("", (native("book_train", start="Graz"),)))
    assert (verdict.passed, verdict.score, verdict.confidence, verdict.validator) == (True, 1.0, "high", "tool_use")
    assert (verdict.extractor, verdict.failure) == ("native", None)
    assert verdict.graded_text == '{"name": "book_train", "arguments": {"start": "Graz"}}'


@pytest.mark.parametrize(
    "call",
    [
        {"name": "book_train", "arguments": {"start": "Graz"}},
        {"name": "book_train", "arguments": '{"start": "Graz"}'},
        {"id": "1", "type": "function", "function": {"name": "book_train", "arguments": '{"start": "Graz"}'}},
        {"function": {"name": "book_train", "arguments": {"start": "Graz"}}},
        {"name": "book_train", "arguments": '"{\\"start\\": \\"Graz\\"}"'},
    ],
)
def test_native_calls_come_in_several_shapes(call: dict[str, Any]) -> None:
    assert graded([BOOK], [call], text="On my way to Linz, I call a tool.").passed


@pytest.mark.parametrize(
    "arguments", ['{"start": "Gr', '{"start": "Graz",}', "{'start': 'Graz'}", "[1]", 7, '{"start": NaN}', "[" * 9000]
)
def test_native_arguments_that_are_no_json_object_are_malformed(arguments: Any) -> None:
    verdict = graded([BOOK], [{"name": "book_train", "arguments": arguments}])
    assert (verdict.failure, verdict.score) == ("malformed_call", 0.0)


@pytest.mark.parametrize("entry", [{}, {"name": ""}, {"name": 3, "arguments": {}}, {"function": {}}])
def test_an_entry_without_a_function_is_malformed(entry: dict[str, Any]) -> None:
    assert graded([BOOK], [entry]).failure == "malformed_call"


def test_no_arguments_at_all_are_an_empty_object() -> None:
    nothings: list[Any] = ["", None, {}, "{}"]
    for nothing in nothings:
        verdict = graded([BOOK], [{"name": "book_train", "arguments": nothing}])
        assert (verdict.failure, verdict.findings) == ("wrong_call", ("book_train: start is missing",))


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ({"seats": 2}, {"seats": 2}),
        ({"seats": 2}, {"seats": 2.0}),
        ({"price": 20.0}, {"price": 20}),
        ({"price": 20}, {"price": 20.0}),
        ({"quiet": True}, {"quiet": True}),
        ({"stops": ["A", "B"]}, {"stops": ["A", "B"]}),
        ({"rider": {"name": "Eva", "age": 7}}, {"rider": {"age": 7, "name": "Eva"}}),
        ({"class": None}, {"class": None}),
        ({}, {"class": "second"}),
        ({}, {"quiet": None}),
        ({"class": {"any_of": ["first", "1st"]}}, {"class": "1st"}),
        ({"class": {"any_of": ["first"], "optional": True}}, {}),
        ({"class": {"any_of": ["first"], "optional": True}}, {"class": "second"}),
        ({"quiet": {"any_of": [], "optional": True}}, {"quiet": None}),
        ({"stops": {"any_of": [["A"], ["A", "B"]]}}, {"stops": ["A", "B"]}),
        ({"rider": {"any_of": [{"fields": {"name": {"any_of": ["Eva", "Ewa"]}}}]}}, {"rider": {"name": "Ewa"}}),
        (
            {"rider": {"any_of": [{"fields": {"name": "Eva", "age": {"any_of": [7], "optional": True}}}]}},
            {"rider": {"name": "Eva"}},
        ),
        ({"stops": {"any_of": [{"items": ["A", {"any_of": ["B", "b"]}]}]}}, {"stops": ["A", "b"]}),
        ({"stops": {"any_of": [{"items": [{"fields": {"n": {"any_of": [1, 2]}}}]}]}}, {"stops": [{"n": 2}]}),
    ],
)
def test_these_arguments_are_right(expected: dict[str, Any], given: dict[str, Any]) -> None:
    verdict = booked(expected, given)
    assert (verdict.passed, verdict.findings) == (True, ())


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ({"seats": 2}, {"seats": 3}),
        ({"seats": 2}, {"seats": "2"}),
        ({"seats": 1}, {"seats": True}),
        ({"quiet": True}, {"quiet": 1}),
        ({"quiet": True}, {"quiet": "true"}),
        ({"seats": 2}, {}),
        ({"seats": 2}, {"seats": None}),
        ({"stops": ["A", "B"]}, {"stops": ["B", "A"]}),
        ({"stops": ["A", "B"]}, {"stops": ["A"]}),
        ({"stops": ["A"]}, {"stops": "A"}),
        ({"rider": {"name": "Eva"}}, {"rider": {"name": "Eva", "age": 7}}),
        ({"rider": {"name": "Eva"}}, {"rider": "Eva"}),
        ({}, {"class": "first"}),
        ({}, {"meal": None}),
        ({}, {"meal": "none"}),
        ({"class": {"any_of": ["first"], "optional": True}}, {"class": "third"}),
        ({"class": "second"}, {}),
        ({"rider": {"any_of": [{"fields": {"name": "Eva"}}]}}, {"rider": {"name": "Eva", "age": 7}}),
        ({"rider": {"any_of": [{"fields": {"name": "Eva", "age": 7}}]}}, {"rider": {"name": "Eva"}}),
        ({"stops": {"any_of": [{"items": ["A"]}]}}, {"stops": ["A", "B"]}),
        ({"class": "first"}, {"class": " First "}),
    ],
)
def test_these_arguments_are_wrong(expected: dict[str, Any], given: dict[str, Any]) -> None:
    verdict = booked(expected, given)
    assert (verdict.passed, verdict.failure) == (False, "wrong_call")
    assert 0 < verdict.score < 1
    assert verdict.confidence == "medium"


def test_matching_as_bfcl_does_is_loose_on_strings_and_strict_on_whole_numbers() -> None:
    assert booked({"class": "1st Class"}, {"class": "1ST-class"}, match="bfcl").passed
    assert booked({"rider": {"name": "E. Va"}}, {"rider": {"name": "eva"}}, match="bfcl").passed
    assert booked({"price": 3}, {"price": 3.0}, match="bfcl").passed
    assert not booked({"seats": 3}, {"seats": 3.0}, match="bfcl").passed
    assert not booked({"class": "first"}, {"class": "first!"}, match="bfcl").passed


def test_a_dotted_name_may_come_with_underscores_only_when_matching_as_bfcl_does() -> None:
    calls, made = [wanted("notes.add", text="x")], [native("notes_add", text="x")]
    assert graded(calls, made, match="bfcl").passed
    verdict = graded(calls, made)
    assert (verdict.failure, verdict.score) == ("wrong_call", 0.0)
    assert "notes_add is no tool here" in verdict.findings


def test_one_call_cannot_serve_for_two() -> None:
    verdict = graded([BOOK, BOOK], [native("book_train", start="Graz")])
    assert (verdict.failure, verdict.score) == ("wrong_call", 0.5)
    assert verdict.findings == ("A call of book_train is missing",)
    assert verdict.stages["calls"].passed == 1


def test_a_call_too_many_is_unexpected() -> None:
    verdict = graded([BOOK], [native("book_train", start="Graz")] * 2)
    assert (verdict.failure, verdict.score) == ("unexpected_call", 0.5)


def test_calls_are_paired_so_that_as_many_as_possible_fit() -> None:
    """Taking the first fit for the first call would leave the second without one."""
    either = wanted("book_train", start={"any_of": ["Graz", "Linz"]})
    verdict = graded([either, BOOK], [native("book_train", start="Graz"), native("book_train", start="Linz")])
    assert verdict.passed


def test_order_counts_only_where_it_is_asked_for() -> None:
    calls = [BOOK, wanted("notes.add", text="x")]
    made = [native("notes.add", text="x"), native("book_train", start="Graz")]
    assert graded(calls, made).passed
    verdict = graded(calls, made, order="strict")
    assert (verdict.failure, verdict.findings) == ("wrong_call", ("The calls are right but in the wrong order",))
    assert 0 < verdict.score < 1
    assert graded(calls, made[::-1], order="strict").passed


def test_partial_credit_counts_calls_and_arguments_over_wanted_and_given() -> None:
    calls = [wanted("book_train", start="Graz", seats=2, price=9)]
    verdict = graded(calls, [native("book_train", start="Graz", seats=3, price=9)])
    # right: the call, start, price; in all: the call, start, price, the wanted seats and the given ones
    assert verdict.score == pytest.approx(3 / 5)
    assert (verdict.stages["arguments"].passed, verdict.stages["arguments"].total) == (2, 4)


def test_more_given_arguments_never_raise_the_score() -> None:
    calls = [wanted("book_train", start="Graz", seats=2)]
    plain = graded(calls, [native("book_train", start="Graz")])
    padded = graded(calls, [native("book_train", start="Graz", a=1, b=2)])
    assert padded.score < plain.score


@pytest.mark.parametrize("text", ["", "No tool of mine books flights.", "Use book_train for that.", "[]"])
def test_where_no_call_is_wanted_none_is_right(text: str) -> None:
    verdict = graded([], text=text)
    assert (verdict.passed, verdict.score, verdict.extractor) == (True, 1.0, None)


@pytest.mark.parametrize(
    "made",
    [native("book_train", start="Graz"), native("fly"), {"name": "book_train", "arguments": "{broken"}],
)
def test_where_no_call_is_wanted_any_attempt_is_unexpected(made: dict[str, Any]) -> None:
    verdict = graded([], [made])
    assert (verdict.failure, verdict.score, verdict.confidence) == ("unexpected_call", 0.0, "high")


@pytest.mark.parametrize(
    ("text", "finish", "word"),
    [
        ("", None, "empty"),
        (" \n", "stop", "empty"),
        ("<think>hm</think>\n", None, "empty"),
        ("The train leaves at nine.", None, "no_call"),
        ("Sorry, I can't see any timetable.", None, "no_call"),
        ("I'm sorry, but I cannot help with that.", None, "refusal"),
        ("I\u2019m unable to assist you here.", None, "refusal"),
        ("<think>Which train", None, "format"),
        ("<think>Which train", "length", "budget_exhausted"),
        ("Well, let me", "length", "budget_exhausted"),
        ('<tool_call>{"name": "book_tr', "length", "budget_exhausted"),
        ('<tool_call>{"name": "book_tr', None, "malformed_call"),
    ],
)
def test_the_failure_word_says_why_there_is_no_call(text: str, finish: str | None, word: str) -> None:
    verdict = graded([BOOK], text=text, finish_reason=finish)
    assert (verdict.failure, verdict.score) == (word, 0.0)


def test_an_answer_cut_off_between_right_calls_ran_out_of_budget() -> None:
    calls = [BOOK, wanted("notes.add", text="x")]
    right, wrong = native("book_train", start="Graz"), native("book_train", start="Linz")
    assert graded(calls, [right], finish_reason="length").failure == "budget_exhausted"
    assert graded(calls, [wrong], finish_reason="length").failure == "wrong_call"
    assert graded([BOOK], [right], finish_reason="length").passed
    assert graded([], text="Well", finish_reason="length").failure == "budget_exhausted"


def test_hostile_native_calls_are_only_wrong() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    odd = native("book_train", start=deep, **{"\ud800": 10**400})
    verdict = graded([BOOK], [odd] * 300)
    assert verdict.failure == "wrong_call"
    assert len(verdict.graded_text) <= 20_000
    assert all(len(finding) < 400 for finding in verdict.findings)
