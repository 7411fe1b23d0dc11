from __future__ import annotations

import pytest

from llmbench_mcp.cli import figures, tables
from llmbench_mcp.domain.leaderboard import Row, TaskResult, rank


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0, "0"),
        (1, "1"),
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.5, "0.500"),
        (1.234, "1.23"),
        (12.345, "12.3"),
        (99.99, "100.0"),
        (123.4, "123"),
        (12345.6, "12,346"),
    ],
)
def test_figures_have_about_three_digits_and_no_exponent(value: float | None, shown: str) -> None:
    assert figures.number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "-"), (0.1234, "0.123 s"), (75, "75 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_grow_into_minutes_and_hours(seconds: float | None, shown: str) -> None:
    assert figures.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "1 s"), (44.7, "45 s"), (100, "2 min"), (3590, "1 h 0 min"), (4810, "1 h 20 min")]
)
def test_an_estimate_has_no_finer_measure_than_it_is_good_for(seconds: float, shown: str) -> None:
    assert figures.roughly(seconds) == f"about {shown}"


def test_rates_sizes_and_ranks_are_worded() -> None:
    assert (figures.percent(0.5), figures.percent(1 / 3), figures.percent(None)) == ("50 %", "33.3 %", "-")
    assert figures.interval((0.251, 0.749)) == "25-75 %"
    assert (figures.size(900_000_000), figures.parameters(1_500_000_000)) == ("858 MiB", "1.50 B")
    assert (figures.size(24 * 2**30), figures.size(1023), figures.size(None)) == ("24 GiB", "1,023 B", "-")
    assert (figures.rank(None, None), figures.rank(1, 1), figures.rank(1, 3)) == ("-", "1", "1-3")


def test_a_row_without_a_graded_task_has_no_interval() -> None:
    broken = Row("k", "m", "box", "cpu", "s", {}, 1, (TaskResult("t", 0, 1, 0.0, 0.0),))
    (row,) = tables.leaderboard(rank([broken], 1), "").rows
    assert "0-100 %" not in row
