from __future__ import annotations

import json

import pytest

from llmbench_mcp.backends.ollama_stream import LINE_BYTES, LineSplitter
from llmbench_mcp.domain.chat import ToolCall, Usage
from llmbench_mcp.domain.errors import PromptTooLong, ProtocolError, ServerFault
from llmbench_mcp.testing.clocks import StampClock
from llmbench_mcp.testing.fake_ollama_wire import Spent, last, line, ndjson, piece
from llmbench_mcp.testing.replies import Cut, Gate, Reply
from tests.backends.ollama_support import answer_to


def call(name: str, arguments: object, **more: object) -> dict[str, object]:
    return {"function": {"name": name, "arguments": arguments, **more}}


async def test_the_pieces_are_joined_and_counted() -> None:
    done = await answer_to(ndjson([piece("Hel"), piece("lo"), last(Spent(7, 2, eval_s=1.0))]))
    assert (done.text, done.finish_reason, done.complete) == ("Hello", "stop", True)
    assert done.usage == Usage(prompt_tokens=7, completion_tokens=2)


async def test_counts_left_out_are_unknown_and_not_zero() -> None:
    done = await answer_to(ndjson([piece("a"), last(Spent(tokens=1), reason="length")]))
    assert (done.finish_reason, done.usage) == ("length", Usage(completion_tokens=1))
    assert (await answer_to(ndjson([piece("a"), last()]))).usage is None


async def test_lines_and_characters_may_be_cut_anywhere() -> None:
    whole = piece("naïve 日本") + last(Spent(1, 2))
    done = await answer_to(ndjson([whole[i : i + 7] for i in range(0, len(whole), 7)]))
    assert (done.text, done.bad_events) == ("naïve 日本", 0)


async def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\u2028b\u0085c\u2029d\u000be"
    done = await answer_to(ndjson([piece(text), last()]))
    assert (done.text, done.bad_events) == (text, 0)


async def test_carriage_returns_blank_lines_and_a_missing_last_line_end_do_no_harm() -> None:
    steps = piece("a").replace(b"\n", b"\r\n") + b"\n\r\n" + piece("b") + last().rstrip()
    done = await answer_to(ndjson([steps]))
    assert (done.text, done.complete, done.bad_events) == ("ab", True, 0)


async def test_thinking_is_kept_apart_and_counts_as_first_token() -> None:
    first, second = Gate(), Gate()
    clock = StampClock(map(float, range(100)), after=lambda count: {2: first, 3: second}.get(count, Gate()).open())
    thought = piece(thinking="Hm") + piece(thinking=" so")
    done = await answer_to(ndjson([piece(), first, thought, second, piece("42") + last(Spent(3, 4))]), clock)
    assert (done.reasoning, done.text) == ("Hm so", "42")
    assert (done.timing.ttft_s, done.timing.ttfat_s, done.timing.e2e_s) == (2.0, 3.0, 3.0)


async def test_whole_tool_calls_come_in_one_line_or_in_several() -> None:
    first = piece(tool_calls=[call("f", {"a": 1}), call("f", {"a": 2}, index=1)])
    done = await answer_to(ndjson([first, piece(tool_calls=[call("g", {})]), last()]))
    assert done.tool_calls == (ToolCall("f", {"a": 1}), ToolCall("f", {"a": 2}), ToolCall("g", {}))
    assert (done.finish_reason, done.complete) == ("tool_calls", True)


async def test_arguments_nested_too_deeply_stay_text() -> None:
    deep = "[" * 900 + "]" * 900
    raw = piece(tool_calls=[call("f", "ARGUMENTS")]).replace(b'"ARGUMENTS"', deep.encode())
    assert (await answer_to(ndjson([raw, last()]))).tool_calls == (ToolCall("f", deep),)


async def test_the_servers_durations_are_seconds_beside_our_own() -> None:
    done = await answer_to(ndjson([piece("a"), piece("b"), last(Spent(40, 21, 0.02, 0.5, 2.0))]))
    assert done.timing.server == {
        "total_s": 2.52,
        "load_s": 0.02,
        "prompt_eval_s": 0.5,
        "eval_s": 2.0,
        "eval_tps": 10.5,
    }
    assert done.timing.prefill_tps == 80.0
    assert done.timing.ttft_s is not None


async def test_a_load_inside_the_call_is_kept_apart_from_warm_times() -> None:
    clock = StampClock(float(stamp) for stamp in range(100))
    done = await answer_to(ndjson([piece("a"), last(Spent(4, 1, load_s=6.0))]), clock)
    assert (done.timing.ttft_s, done.timing.ttfat_s) == (None, None)
    assert done.timing.server["load_s"] == 6.0
    assert done.timing.server["cold_ttft_s"] >= 1.0
    assert done.timing.e2e_s is not None


@pytest.mark.parametrize("odd", [-5, "9", None, True, 1e300, [], 0])
async def test_durations_that_are_none_are_left_out(odd: object) -> None:
    ending = json.loads(last()) | {"total_duration": odd, "eval_duration": odd, "eval_count": odd}
    done = await answer_to(ndjson([piece("a"), line(ending)]))
    assert done.timing.server == {}
    assert done.complete


async def test_an_error_in_mid_stream_keeps_the_text_and_says_so() -> None:
    done = await answer_to(ndjson([piece("par"), line({"error": "the runner has stopped"}), piece("t")]))
    assert (done.text, done.error, done.complete) == ("par", "the runner has stopped", False)


async def test_an_error_instead_of_text_is_raised_although_the_status_is_200() -> None:
    with pytest.raises(ServerFault, match="unexpectedly stopped"):
        await answer_to(ndjson([line({"error": "model runner has unexpectedly stopped"})]))
    with pytest.raises(PromptTooLong):
        await answer_to(Reply(body={"error": "the prompt is longer than the context length"}))


async def test_a_stream_cut_off_is_incomplete() -> None:
    done = await answer_to(ndjson([piece("half an ans"), piece("wer")[:20], Cut()]))
    assert (done.text, done.complete) == ("half an ans", False)
    done = await answer_to(ndjson([piece("half")]))
    assert (done.text, done.complete, done.finish_reason) == ("half", False, None)


async def test_lines_that_are_no_objects_are_counted_and_passed_over() -> None:
    done = await answer_to(ndjson([b"oops\n", b"[1]\n", piece("a"), b"\xff\n", last()]))
    assert (done.text, done.bad_events, done.complete) == ("a", 3, True)


async def test_nothing_counts_after_the_last_object() -> None:
    done = await answer_to(ndjson([piece("a"), last(), piece("b"), b"junk\n"]))
    assert (done.text, done.bad_events) == ("a", 0)


async def test_a_server_that_does_not_stream_gives_text_without_invented_times() -> None:
    whole = json.loads(last(Spent(5, 2))) | {"message": {"role": "assistant", "content": "All at once"}}
    done = await answer_to(Reply(body=whole))
    assert (done.text, done.complete, done.usage) == ("All at once", True, Usage(5, 2))
    assert (done.timing.ttft_s, done.timing.decode_tps) == (None, None)


async def test_a_line_without_end_is_refused() -> None:
    splitter = LineSplitter()
    with pytest.raises(ProtocolError, match="more than"):
        for _ in range(20):
            splitter.feed(b"x" * (LINE_BYTES // 10))
