from __future__ import annotations

from dataclasses import replace

import pytest

from llmbench_mcp.domain.leaderboard import Row, TaskResult, rank
from llmbench_mcp.domain.statistics import wilson_interval


def row(model: str, passed: int, wrong: int = 0, errors: int = 0, speed: float = 10.0) -> Row:
    outcomes = [1.0] * passed + [0.0] * wrong
    graded = [TaskResult(f"t{n}", 1, 0, rate, rate, decode_tps=speed) for n, rate in enumerate(outcomes)]
    failed = [TaskResult(f"e{n}", 0, 1, 0.0, 0.0) for n in range(errors)]
    return Row(model, model, "box", "cpu", "suite", {}, 1, tuple(graded + failed))


@pytest.mark.parametrize(
    ("passed", "of", "low", "high"),
    [(31, 40, 0.625, 0.877), (29, 40, 0.572, 0.839), (40, 40, 0.912, 1.0), (0, 40, 0.0, 0.088), (0, 0, 0.0, 1.0)],
)
def test_rates_have_wilson_intervals_of_honest_width(passed: int, of: int, low: float, high: float) -> None:
    assert wilson_interval(passed, of) == pytest.approx((low, high), abs=0.0005)


def test_models_whose_intervals_overlap_share_a_rank_range() -> None:
    entries = rank([row("b", 29, 11), row("a", 31, 9), row("d", 40)], 40)
    assert [(e.row.model, e.rank_low, e.rank_high) for e in entries] == [("d", 1, 1), ("a", 2, 3), ("b", 2, 3)]


def test_a_model_that_was_asked_little_is_shown_but_not_ranked() -> None:
    entries = rank([row("c", 5), row("a", 31, 9)], 40)
    assert [(e.row.model, e.ranked) for e in entries] == [("a", True), ("c", False)]
    assert entries[1].coverage == pytest.approx(5 / 40)
    assert entries[1].note == "not ranked: only 5 of 40 tasks graded"


def test_infrastructure_errors_lower_coverage_and_not_the_score() -> None:
    (entry,) = rank([row("e", 20, 10, errors=10)], 40)
    assert entry.pass_rate == pytest.approx(20 / 30)
    assert (entry.coverage, entry.errors) == (0.75, 10)
    assert not entry.ranked


def test_equal_models_keep_one_rank_whatever_their_order() -> None:
    there = [(e.rank_low, e.rank_high) for e in rank([row("x", 5, 5), row("y", 5, 5)], 10)]
    back = [(e.rank_low, e.rank_high) for e in rank([row("y", 5, 5), row("x", 5, 5)], 10)]
    assert there == back == [(1, 2), (1, 2)]


def test_speed_ranks_by_tokens_per_second() -> None:
    entries = rank([row("slow", 9, 1, speed=5.0), row("fast", 1, 9, speed=50.0)], 10, "speed")
    assert [(e.row.model, e.rank_low) for e in entries] == [("fast", 1), ("slow", 2)]


def test_equal_speeds_share_a_range_and_unknown_ones_are_not_ranked() -> None:
    unknown = replace(row("unknown", 5), tasks=(TaskResult("t0", 1, 0, 1.0, 1.0),))
    entries = rank([row("x", 1), row("y", 1), row("slow", 1, speed=1.0), unknown], 1, "speed")
    assert [(e.row.model, e.rank_low, e.rank_high) for e in entries[:3]] == [("x", 1, 2), ("y", 1, 2), ("slow", 3, 3)]
    assert (entries[3].row.model, entries[3].note) == ("unknown", "not ranked: no speed is known")


def test_efficiency_ranks_by_joules_per_token() -> None:
    hungry, thrifty = (replace(row(name, 5), joules_per_token=j) for name, j in (("hungry", 9.0), ("thrifty", 0.5)))
    entries = rank([hungry, thrifty, row("unmetered", 5)], 5, "efficiency")
    assert [(e.row.model, e.rank_low) for e in entries] == [("thrifty", 1), ("hungry", 2), ("unmetered", None)]


def test_models_are_told_apart_on_shared_tasks_though_their_intervals_overlap() -> None:
    better, worse = rank([row("worse", 23, 17), row("better", 29, 11)], 40)
    assert better.interval[0] < worse.interval[1]
    assert (better.row.model, better.rank_high, worse.rank_low) == ("better", 1, 2)


def test_the_more_models_the_more_a_difference_must_be_to_count() -> None:
    pair = [row("worse", 23, 17), row("better", 29, 11)]  # p = 2 / 2**6
    assert [entry.rank_high for entry in rank(pair, 40)] == [1, 2]
    crowd = [row(f"other {n}", 26, 14) for n in range(3)]
    assert [entry.rank_high for entry in rank(pair + crowd, 40)] == [5, 5, 5, 5, 5]


def test_partial_scores_tell_models_apart_that_pass_alike() -> None:
    def scored(model: str, score: float) -> Row:
        tasks = tuple(TaskResult(f"t{n}", 1, 0, 0.0, score + n / 100) for n in range(10))
        return Row(model, model, "box", "cpu", "s", {}, 1, tasks)

    rows = [scored("half", 0.5), scored("third", 0.3)]
    assert [(e.row.model, e.rank_high) for e in rank(rows, 10)] == [("half", 1), ("third", 2)]
    assert [(e.rank_low, e.rank_high) for e in rank(rows, 10, "pass_rate")] == [(1, 2), (1, 2)]


def test_what_scored_without_logic_leaves_with_its_score() -> None:
    task = TaskResult("t", 4, 0, 0.5, 0.65, non_logic=2, non_logic_score=0.6)
    (entry,) = rank([Row("m", "m", "box", "cpu", "s", {}, 1, (task,))], 1, exclude_non_logic=True)
    assert (entry.pass_rate, entry.score, entry.left_out) == (1.0, 1.0, 2)


def test_a_task_with_nothing_but_failures_of_form_counts_as_not_graded() -> None:
    tasks = (TaskResult("a", 1, 0, 1.0, 1.0), TaskResult("b", 2, 0, 0.0, 0.0, non_logic=2))
    (entry,) = rank([Row("m", "m", "box", "cpu", "s", {}, 1, tasks)], 2, exclude_non_logic=True)
    assert (entry.pass_rate, entry.coverage) == (1.0, 0.5)
    assert entry.note == "not ranked: only 1 of 2 tasks graded (2 attempts left out)"


def test_weights_move_the_score_and_not_the_pass_rate() -> None:
    tasks = (TaskResult("a", 1, 0, 1.0, 1.0, weight=3.0), TaskResult("b", 1, 0, 0.0, 0.0))
    (entry,) = rank([Row("m", "m", "box", "cpu", "s", {}, 1, tasks)], 2)
    assert (entry.score, entry.pass_rate) == (0.75, 0.5)


def test_a_row_says_where_its_speeds_may_be_this_programs_own() -> None:
    some = replace(row("some", 5), runs=3, speed_bound=1)
    every = replace(row("every", 5), runs=2, speed_bound=2)
    silent = replace(some, model="silent", tasks=(TaskResult("t0", 1, 0, 1.0, 1.0),))
    notes = {entry.row.model: entry.speed_note for entry in rank([row("none", 5), some, every, silent], 5)}
    assert notes == {
        "none": None,
        "some": "speeds of 1 of 3 runs may be this program's own, not the server's",
        "every": "speeds may be this program's own, not the server's",
        "silent": None,
    }
