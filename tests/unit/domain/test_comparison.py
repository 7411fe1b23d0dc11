from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llmbench_mcp.domain.comparison import Unlike, compare, unlike
from llmbench_mcp.domain.leaderboard import Row, TaskResult

MANIFEST = {"sampling": {"temperature": 0.0, "seed": 0}, "budget": {"default": 2048, "least": 0}}


def row(*rates: float, graded: int = 1, manifest: dict[str, Any] = MANIFEST, **facts: Any) -> Row:
    tasks = tuple(
        TaskResult(f"t{n}", graded, 0, rate, rate, task_hash="h", validator_version="1") for n, rate in enumerate(rates)
    )
    return replace(Row("k", "m", "box", "cpu", "s", manifest, 1, tasks), **facts)


def changed(a: Row, **facts: Any) -> Row:
    return replace(a, tasks=(*a.tasks[:-1], replace(a.tasks[-1], **facts)))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (row(1, 0, manifest=MANIFEST | {"device": "cpu", "quantisation": "Q4", "model_digest": "x"}), None),
        (row(1, 0, manifest={"sampling": {"seed": 0}}), Unlike("answer_budget", 2048, None)),
        (row(1, 0, manifest=MANIFEST | {"sampling": {"seed": 0, "temperature": 1}}), Unlike("temperature", 0.0, 1)),
        (row(1, 0, manifest=MANIFEST | {"repeats": 3}), Unlike("repeats", None, 3)),
        (changed(row(1, 0), task_hash="i"), Unlike("task_hash of t1", "h", "i")),
        (changed(row(1, 0), validator_version="2"), Unlike("validator_version of t1", "1", "2")),
        (changed(row(1, 0), validator_version="", graded=0), None),
    ],
)
def test_the_first_field_that_must_be_equal_and_is_not_is_named(other: Row, expected: Unlike | None) -> None:
    assert unlike(row(1, 0), other) == expected


def test_only_tasks_that_both_have_count() -> None:
    found = compare(row(1, 1, 0), changed(row(1, 0, 1), graded=0), 3)
    assert (found.shared, found.a_only, found.b_only, found.both, found.neither) == (2, 1, 0, 1, 0)
    assert found.remarks == ("only 2 of 3 tasks are graded for both",)


def test_with_repeats_the_rates_are_compared() -> None:
    found = compare(row(0.75, 0.5, 0.0, 0.25, graded=4), row(0.5, 0.5, 0.0, 1.0, graded=4), 4)
    assert (found.a_only, found.b_only, found.both, found.neither) == (1, 1, 1, 1)
    assert [(item.task_id, item.a, item.b) for item in found.items] == [("t0", 0.75, 0.5), ("t3", 0.25, 1.0)]
    assert (found.test, found.p, found.verdict) == ("paired randomisation", 1.0, "tie")
    assert found.difference == pytest.approx(-0.125)


def test_other_numbers_of_attempts_and_room_to_think_are_remarked() -> None:
    roomy = row(1, graded=2, manifest=MANIFEST | {"budget": {"default": 2048, "least": 8000}})
    assert compare(row(1), roomy, 1).remarks == (
        "the numbers of attempts per task differ: pass rates per task are compared",
        "room to think differs: 0 and 8000 tokens",
    )


def test_who_is_better_is_said_only_when_chance_is_unlikely() -> None:
    many, few = row(*[1.0] * 6), row(*[0.0] * 6)
    assert compare(many, few, 6).verdict == "a"
    assert compare(few, many, 6).verdict == "b"
    assert compare(row(*[1.0] * 5), row(*[0.0] * 5), 5).verdict == "tie"  # p = 2 / 2**5
