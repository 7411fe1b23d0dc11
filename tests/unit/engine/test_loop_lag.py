from __future__ import annotations

import time

import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from llmbench_mcp.engine.loop_lag import FEWEST_SAMPLES, ClientLoad, Lags, LoopLag, client_bound


@pytest.mark.parametrize(
    ("load", "itl_s", "words"),
    [
        (ClientLoad(500, 0.0001, 0.0004, 0.3), 0.010, None),
        (ClientLoad(500, 0.0001, 0.0006, 0.3), 0.010, "0.60 ms, over 5% of the 10.00 ms"),
        (ClientLoad(500, 0.0001, 0.0006, 0.3), 0.020, None),
        (ClientLoad(500, 0.0001, 0.0001, 0.71), 0.010, "71% of a core"),
        (ClientLoad(500, 0.0001, 0.0001, 0.70), 0.010, None),
        (ClientLoad(500, 0.0001, 9.0, 0.1), None, None),
        (ClientLoad(500, 0.0001, 9.0, 0.1), 0.0, None),
        (ClientLoad(5, None, None, 0.1), 0.010, None),
        (ClientLoad(), 0.010, None),
    ],
)
def test_a_job_is_bound_by_the_client_when_its_own_delay_or_cpu_is_too_large(
    load: ClientLoad, itl_s: float | None, words: str | None
) -> None:
    said = client_bound(load, itl_s)
    assert (said is None) if words is None else (said is not None and words in said)


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
    assert client_bound(load, itl_s=0.02) is not None


async def test_few_samples_tell_no_percentiles() -> None:
    async with LoopLag().watching() as lag:
        await checkpoint()
    load = lag.load()
    assert (load.lag_p50_s, load.lag_p99_s) == (None, None)
    assert load.cpu_share is not None
