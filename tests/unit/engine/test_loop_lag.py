from __future__ import annotations

import time

import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.backends.stream_timing import StreamTimer
from llmbench_mcp.engine.loop_lag import (
    FEWEST_SAMPLES,
    LAG_SHARE,
    ClientLoad,
    Lags,
    LoopLag,
    Timed,
    Typical,
    client_bound,
)

TEN_MS = Typical(0.010, 0.2, 1.0)


@pytest.mark.parametrize(
    ("load", "typical", "words", "speeds"),
    [
        (ClientLoad(500, 0.0001, 0.0004, 0.3), TEN_MS, None, False),
        (ClientLoad(500, 0.0001, 0.0006, 0.3), TEN_MS, "0.60 ms, over 5% of the 10.00 ms between", False),
        (ClientLoad(500, 0.0001, 0.0099, 0.3), TEN_MS, "only those of single gaps", False),
        (ClientLoad(500, 0.0001, 0.0101, 0.3), TEN_MS, "over 5% of the 200.00 ms to the first token", True),
        (ClientLoad(500, 0.0001, 0.0101, 0.3), Typical(0.010, None, 0.2), "200.00 ms of an answer", True),
        (ClientLoad(500, 0.0001, 0.0006, 0.3), Typical(0.020, 0.2, 1.0), None, False),
        (ClientLoad(500, 0.0001, 0.0001, 0.71), TEN_MS, "71% of a core", True),
        (ClientLoad(500, 0.0001, 0.0001, 0.70), TEN_MS, None, False),
        (ClientLoad(500, 0.0001, 9.0, 0.1), Typical(), None, False),
        (ClientLoad(500, 0.0001, 9.0, 0.1), Typical(0.0, None, 0.0), None, False),
        (ClientLoad(5, None, None, 0.1), TEN_MS, None, False),
        (ClientLoad(), TEN_MS, None, False),
    ],
)
def test_a_job_is_bound_by_the_client_when_its_own_delay_or_cpu_is_too_large(
    load: ClientLoad, typical: Typical, words: str | None, speeds: bool
) -> None:
    said = client_bound(load, typical)
    assert (said is None) if words is None else (said is not None and words in said.why and said.speeds == speeds)


@given(st.lists(st.floats(0.0, 0.00304), min_size=100, max_size=100), st.floats(0.3, 2.0))
def test_where_only_single_gaps_are_bound_late_stamps_leave_the_speeds_as_they_are(
    late: list[float], ttft_s: float
) -> None:
    """A small model on the cores it shares with this program: 13.93 ms between deltas, stamped up to 3.04 ms late."""
    exact = [ttft_s + 0.01393 * n for n in range(100)]
    timer = StreamTimer()
    timer.origin = 0.0
    for stamp, delay in zip(exact, late, strict=True):
        timer.delta(stamp + delay, reasoning=False, content=True, call=False)
    timing = timer.finish(100)
    timed = Timed()
    timed.add(timing)
    said = client_bound(ClientLoad(500, 0.0005, 0.00304, 0.2), timed.typical())
    assert said is not None
    assert not said.speeds
    assert timing.decode_tps == pytest.approx(1 / 0.01393, rel=LAG_SHARE)
    assert timing.ttft_s == pytest.approx(ttft_s, rel=LAG_SHARE)


@given(st.lists(st.floats(1e-5, 100.0), min_size=1), st.floats(0.01, 1.0))
def test_a_quantile_is_told_to_within_one_step_above(values: list[float], share: float) -> None:
    lags = Lags()
    for value in values:
        lags.add(value)
    exact = sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]
    told = lags.quantile(share)
    assert told is not None
    assert exact * 0.999 <= told <= exact * 2 ** (1 / 8) * 1.001


def test_no_samples_give_no_quantile() -> None:
    assert Lags().quantile(0.99) is None


async def test_a_loop_that_is_held_up_is_seen_to_lag() -> None:
    async with LoopLag(interval_s=0.001).watching() as lag:
        while lag.load().samples < FEWEST_SAMPLES:
            busy = time.thread_time() + 0.002
            while time.thread_time() < busy:
                pass
            await checkpoint()
    load = lag.load()
    assert load.lag_p50_s is not None
    assert load.lag_p50_s >= 0.002
    assert client_bound(load, Typical(gap_s=0.02)) is not None


async def test_few_samples_tell_no_percentiles() -> None:
    async with LoopLag().watching() as lag:
        await checkpoint()
    load = lag.load()
    assert (load.lag_p50_s, load.lag_p99_s) == (None, None)
    assert load.cpu_share is not None
