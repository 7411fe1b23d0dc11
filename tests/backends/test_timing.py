"""Exact figures: the clock gives scripted stamps, one for the request's end and one for each read."""

from __future__ import annotations

import json

import pytest

from llmbench_mcp.domain.chat import Completion
from llmbench_mcp.testing.clocks import StampClock
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import DONE, Gate, Step, chunk, event, streamed, usage_chunk
from tests.backends.support import ask, openai_at

FINISH = chunk(finish="stop")
USAGE = usage_chunk(50, 120, completion_tokens_details={"reasoning_tokens": 100})


async def measure(schedule: list[tuple[float, bytes]], sent_at: float = 100.0) -> Completion:
    """Serve each piece only once the one before has been stamped, so that every piece is one read."""
    gates = [Gate() for _ in schedule]
    steps: list[Step] = [step for gate, (_, piece) in zip(gates, schedule, strict=True) for step in (gate, piece)]
    stamps = [sent_at, *(sent_at + at for at, _ in schedule)]
    clock = StampClock(stamps, after=lambda given: gates[given - 1].open() if given <= len(gates) else None)
    async with FakeServer(script=lambda r: streamed(steps)) as server, openai_at(server.url, clock) as backend:
        return await ask(backend)


def schedule(field: str, *, usage: bool = True) -> list[tuple[float, bytes]]:
    """Role, a ping, five reasoning deltas from 0.5 s, seven content deltas from 2.0 s to 4.0 s."""
    reasoning = [(0.5 + 0.3 * i, chunk(**{field: f"r{i} "})) for i in range(5)]
    content = [(2.0 + 2.0 * i / 6, chunk(f"c{i} ")) for i in range(7)]
    tail = [(4.1, chunk(finish="stop")), *([(4.2, USAGE)] if usage else []), (4.3, DONE)]
    return [(0.2, chunk("", role="assistant")), (0.3, b": ping\n\n"), *reasoning, *content, *tail]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_first_token_first_answer_and_decode_rate_are_exact(field: str) -> None:
    timing = (await measure(schedule(field))).timing
    assert timing.ttft_s == pytest.approx(0.5)
    assert timing.ttfat_s == pytest.approx(2.0)
    assert timing.e2e_s == pytest.approx(4.3)
    assert timing.decode_tps == pytest.approx((120 - 1) / (4.0 - 0.5))
    assert len(timing.itl_s) == 11
    assert sum(timing.itl_s) == pytest.approx(3.5)


async def test_without_usage_the_rate_is_unknown_and_the_times_stay() -> None:
    done = await measure(schedule("reasoning", usage=False))
    assert done.usage is None
    assert done.timing.decode_tps is None
    assert done.timing.ttft_s == pytest.approx(0.5)


async def test_one_delta_gives_no_rate() -> None:
    timing = (await measure([(0.4, chunk("all")), (0.5, chunk(finish="stop")), (0.6, USAGE), (0.7, DONE)])).timing
    assert (timing.decode_tps, timing.itl_s) == (None, ())


async def test_deltas_of_one_read_bear_one_stamp() -> None:
    timing = (await measure([(1.0, chunk("a") + chunk("b")), (2.0, chunk("c") + USAGE + DONE)])).timing
    assert timing.itl_s == pytest.approx((0.0, 1.0))


async def test_a_tool_call_is_an_answer_but_not_a_first_token() -> None:
    tool = chunk(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{}"}}])
    timing = (await measure([(1.5, tool), (1.6, chunk(finish="tool_calls")), (1.7, DONE)])).timing
    assert timing.ttft_s is None
    assert timing.ttfat_s == pytest.approx(1.5)


async def test_the_servers_own_figures_stand_beside_ours_and_count_tokens_when_usage_is_missing() -> None:
    timings = {"prompt_n": 9, "cache_n": 3, "predicted_n": 5, "prompt_per_second": 250.5, "odd": "x"}
    last = event(json.loads(chunk(finish="stop")[6:]) | {"timings": timings})
    done = await measure([(1.0, chunk("a")), (3.0, chunk("b")), (3.1, last), (3.2, DONE)])
    assert done.timing.prefill_tps == 250.5
    assert done.timing.server["predicted_n"] == 5
    assert "odd" not in done.timing.server
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.cached_tokens, done.usage.completion_tokens) == (12, 3, 5)
    assert done.timing.decode_tps == pytest.approx(2.0)


async def test_events_of_several_tokens_are_counted_by_the_server_and_timed_as_they_came() -> None:
    events = [(0.5 + 0.04 * i, chunk(" a b c d")) for i in range(16)]
    done = await measure([*events, (1.2, chunk(finish="stop")), (1.21, usage_chunk(9, 64)), (1.22, DONE)])
    assert done.usage is not None
    assert (done.usage.completion_tokens, done.usage.estimated) == (64, False)
    assert done.timing.itl_s == pytest.approx([0.04] * 15)
    assert done.timing.decode_tps == pytest.approx(63 / 0.6)


async def test_a_character_cut_in_two_comes_with_the_read_that_completes_it() -> None:
    raw = chunk("TEXT").replace(b"TEXT", "tök🙂".encode())
    middle = raw.index("🙂".encode()) + 2
    done = await measure([(1.0, chunk("a")), (2.0, raw[:middle]), (3.0, raw[middle:]), (3.1, FINISH), (3.2, DONE)])
    assert done.text == "atök🙂"
    assert done.timing.itl_s == pytest.approx((2.0,))


async def test_a_chunk_like_the_last_but_empty_is_no_delta() -> None:
    done = await measure([(1.0, chunk("a")), (2.0, chunk("")), (4.0, chunk("b")), (4.1, FINISH), (4.2, DONE)])
    assert done.timing.itl_s == pytest.approx((3.0,))
