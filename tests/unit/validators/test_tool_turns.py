"""Tool use in turns: what is refused in a block, what goes on, what a conversation is worth."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llmbench_validators.lines import grade_line
from llmbench_validators.tool_turns import follow
from llmbench_validators.tool_use import validate
from llmbench_validators.types import Completion, ValidationSpecError, Verdict

from tests.unit.validators.tool_support import TOOLS, native, wanted

GRAZ = {**wanted("book_train", start="Graz"), "result": {"seat": 7}}
LINZ = {**wanted("book_train", start="Linz"), "result": "no seats left"}
NOTE = wanted("notes.add", text="Graz 7")
CALLS: dict[str, list[dict[str, Any]]] = {
    "graz": [native("book_train", start="Graz")],
    "linz": [native("book_train", start="Linz")],
    "both": [native("book_train", start="Linz"), native("book_train", start="Graz")],
    "note": [native("notes.add", text="Graz 7")],
    "wrong": [native("notes.add", text="Graz 8")],
    "broken": [{"name": "notes.add", "arguments": "{"}],
}


def block(*turns: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tools": TOOLS, "turns": [{"expected_calls": turn} for turn in turns], **keys}


TRIP = block([GRAZ, LINZ], [NOTE])


def said(*names: str) -> list[dict[str, Any]]:
    """Answers by name; other words are text."""
    return [{"text": "", "tool_calls": CALLS[n]} if n in CALLS else {"text": n, "tool_calls": []} for n in names]


def graded(*names: str, spec: dict[str, Any] = TRIP, finish: str = "stop") -> Verdict:
    *earlier, last = said(*names)
    return validate(spec, Completion(last["text"], tuple(last["tool_calls"]), finish, earlier=tuple(earlier)))


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (block([GRAZ]), "turns: must be a list of 2 to 16"),
        (block(*[[GRAZ]] * 17), "turns: must be a list of 2 to 16"),
        (block([GRAZ], [NOTE], expected_calls=[]), "turns: stand in place of expected_calls"),
        (block([], [NOTE]), "turns[0].expected_calls: only the last turn may be without calls"),
        (block([NOTE], [NOTE]), "turns[0].expected_calls[0]: needs a result"),
        (block([GRAZ], [LINZ]), "turns[1].expected_calls[0]: needs no result"),
        (block([{**GRAZ, "arguments": {"town": "Graz"}}], [NOTE]), "turns[0].expected_calls[0].arguments.town"),
        ({**block([GRAZ], [NOTE]), "turns": [[GRAZ], [NOTE]]}, "turns[0]: must be a mapping"),
        ({"type": "tool_use", "tools": TOOLS, "expected_calls": [GRAZ]}, "a result needs turns"),
    ],
)
def test_a_block_of_turns_that_cannot_be_played_is_refused(spec: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationSpecError) as caught:
        validate(spec, Completion(""))
    assert part in str(caught.value)


def test_results_come_in_the_order_of_the_calls_made() -> None:
    results = follow(TRIP, said("both"))
    assert [(result.name, result.content, result.native) for result in results] == [
        ("book_train", "no seats left", True),
        ("book_train", '{"seat": 7}', True),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("wrong",),
        ("Which train?",),
        ("broken",),
        ("both", "note"),
        ("both", "wrong"),
        ("graz", "graz"),
        ("wrong", "both"),
    ],
)
def test_a_conversation_ends_with_its_task_or_the_first_answer_that_is_not_right(names: tuple[str, ...]) -> None:
    assert follow(TRIP, said(*names)) == ()


@pytest.mark.parametrize("names", [("both", "note"), ("graz", "linz", "note"), ("linz", "graz", "note")])
def test_the_calls_of_a_turn_may_come_in_several_answers(names: tuple[str, ...]) -> None:
    verdict = graded(*names)
    assert (verdict.passed, verdict.score, verdict.confidence, verdict.failure) == (True, 1.0, "high", None)
    assert {name: (stage.passed, stage.total) for name, stage in verdict.stages.items()} == {
        "calls": (3, 3),
        "arguments": (3, 3),
        "turns": (2, 2),
    }


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_turns_that_were_not_reached_are_told_and_count_nothing(finish: str) -> None:
    verdict = graded("graz", "What next?", finish=finish)
    failure, score = ("wrong_call", 0.25) if finish == "stop" else ("budget_exhausted", 0.0)
    assert (verdict.passed, verdict.failure, verdict.score) == (False, failure, score)
    assert verdict.findings[-1] == "1 of 2 turns were not reached"
    assert verdict.findings[0].startswith("Turn 1 of 2: ")
    assert (verdict.stages["calls"].total, verdict.stages["turns"].passed) == (3, 0)


@pytest.mark.parametrize(
    ("names", "failure", "score"),
    [
        (("both", "wrong"), "wrong_call", 0.666667),
        (("both", "All booked."), "no_call", 0.5),
        (("both", "broken"), "malformed_call", 0.0),
        (("both", ""), "empty", 0.0),
        (("both",), "no_call", 0.5),
    ],
)
def test_what_was_right_before_counts_unless_the_end_is_no_fair_look(
    names: tuple[str, ...], failure: str, score: float
) -> None:
    verdict = graded(*names)
    assert (verdict.passed, verdict.failure, verdict.score) == (False, failure, score)


def test_a_last_turn_without_calls_wants_an_answer() -> None:
    spec = block([GRAZ], [])
    assert graded("graz", "You have seat 7.", spec=spec).passed
    assert graded("graz", "linz", spec=spec).failure == "unexpected_call"


def test_where_calls_must_be_native_a_written_one_ends_the_conversation() -> None:
    spec = block([GRAZ], [NOTE], calls="native")
    written = json.dumps({"name": "book_train", "arguments": {"start": "Graz"}})
    assert follow(spec, said(written)) == ()
    assert graded(written, spec=spec).failure == "call_in_text"
    assert [result.native for result in follow(block([GRAZ], [NOTE]), said(written))] == [False]


def test_a_line_to_score_may_hold_the_answers_before() -> None:
    earlier = [{"completion": None, "tool_calls": CALLS["both"]}]
    line = {"id": 1, "validation": TRIP, "completion": "", "tool_calls": CALLS["note"], "earlier": earlier}
    assert grade_line(json.dumps(line).encode(), 1)["passed"] is True
    line["earlier"] = [{"tool_calls": []}]
    assert grade_line(json.dumps(line).encode(), 1)["error"] == "line 1: completion must be text"
    line["earlier"] = ["both"]
    assert grade_line(json.dumps(line).encode(), 1)["error"] == "line 1: earlier must be a list of objects"
