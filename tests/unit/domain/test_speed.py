"""Speed figures from timings that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmbench_mcp.domain.speed import Timed, busy, quantiles, speed_figures
from llmbench_mcp.domain.task import SpeedLimits

LIMITS = SpeedLimits(ttft_s=1.0, itl_s=0.05)


def timed(start_s: float, ttft_s: float | None = 0.5, tps: float | None = 40.0, e2e_s: float = 3.0) -> Timed:
    return Timed(start_s, ttft_s, e2e_s, tps, 500, 101)


def test_streams_side_by_side_are_counted_over_the_time_in_which_any_was_in_flight() -> None:
    found = speed_figures([timed(10.0), timed(10.5), timed(11.0)], 0, LIMITS)
    assert found.total_tps == pytest.approx(303 / 4.0)
    assert found.stream_tps == 40.0
    assert (found.prompt_tokens, found.completion_tokens) == (500, 101)


def test_a_pause_between_two_requests_is_no_time_of_the_server() -> None:
    found = speed_figures([timed(0.0), timed(1000.0)], 0, LIMITS)
    assert found.total_tps == pytest.approx(202 / 6.0)


def test_goodput_counts_requests_that_kept_both_limits_and_its_share_those_that_failed_too() -> None:
    slow_start, slow_stream, single = timed(0, 1.2), timed(0, 0.2, 10.0), timed(0, 0.3, None)
    found = speed_figures([timed(0), slow_start, slow_stream, single], 1, LIMITS)
    assert found.good == pytest.approx(2 / 5)
    assert found.goodput_rps == pytest.approx(2 / 3.0)
    assert (found.requests, found.failed) == (5, 1)


def test_where_nothing_was_observed_nothing_is_claimed() -> None:
    found = speed_figures([], 3, LIMITS)
    assert (found.ttft_s, found.total_tps, found.stream_tps, found.good) == (None, None, None, 0.0)
    unseen = speed_figures([Timed(0.0, None, None, None)], 0, LIMITS)
    assert (unseen.ttft_s, unseen.itl_s, unseen.total_tps, unseen.good) == (None, None, None, 0.0)


@settings(deadline=None)  # numpy is loaded by the first
@given(st.lists(st.floats(0, 100), min_size=1, max_size=60))
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    found = quantiles(values)
    assert found is not None
    wanted = np.quantile(values, [0.5, 0.9, 0.99])
    assert [found.p50, found.p90, found.p99] == pytest.approx(list(wanted), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=12))
def test_the_time_in_flight_is_the_length_of_the_union(spans: list[tuple[int, int]]) -> None:
    covered = {second for start, length in spans for second in range(start, start + length)}
    assert busy([(float(start), float(start + length)) for start, length in spans]) == len(covered)
