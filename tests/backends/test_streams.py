from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import pytest

from llmbench_mcp.backends import openai_wire
from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.backends.openai import OpenAIBackend
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.chat import ChatRequest, ToolCall, Usage
from llmbench_mcp.domain.errors import EndpointTimeout, ProtocolError, RateLimitedError, ServerFault
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import DONE, Cut, Gate, Reply, Step, chunk, event, streamed, usage_chunk
from tests.backends.support import answer_to, ask, endpoint, giving, openai_at

FINISH = chunk(finish="stop")
REQUEST = ChatRequest("m", "hello")


def call(
    index: int | None, arguments: str | dict[str, object], name: str | None = None, id_: str | None = None
) -> bytes:
    fragment: dict[str, object] = {"function": {"arguments": arguments} | ({"name": name} if name else {})}
    fragment |= {} if index is None else {"index": index}
    fragment |= {} if id_ is None else {"id": id_}
    return chunk(tool_calls=[fragment])


async def test_an_ordinary_stream_gives_text_reason_and_usage() -> None:
    steps = [chunk("", role="assistant"), chunk("Hel"), chunk("lo"), FINISH, usage_chunk(5, 2), DONE]
    done = await answer_to(streamed(steps))
    assert (done.text, done.finish_reason, done.complete, done.error) == ("Hello", "stop", True, None)
    assert done.usage == Usage(prompt_tokens=5, completion_tokens=2)
    assert done.model == "m"


@pytest.mark.parametrize("size", [1, 2, 7])
async def test_a_stream_may_be_cut_anywhere_even_inside_a_character(size: int) -> None:
    text = "été 日本 🦙\u2028\x85 end"
    raw = chunk("TEXT").replace(b"TEXT", text.encode()) + FINISH + DONE
    pieces: list[Step] = [raw[i : i + size] for i in range(0, len(raw), size)]
    assert (await answer_to(streamed(pieces))).text == text


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 1000])
async def test_all_three_line_endings_end_lines(ending: bytes, size: int) -> None:
    raw = (b": ping\n\n" + chunk("a") + chunk("b") + DONE).replace(b"\n", ending)
    pieces: list[Step] = [raw[i : i + size] for i in range(0, len(raw), size)]
    done = await answer_to(streamed(pieces))
    assert (done.text, done.bad_events, done.complete) == ("ab", 0, True)


async def test_the_space_after_data_is_optional_and_other_fields_are_ignored() -> None:
    raw = b"\xef\xbb\xbfevent: x\nid: 1\n" + chunk("z").replace(b"data: ", b"data:") + b"data:[DONE]\n\n"
    done = await answer_to(streamed([raw]))
    assert (done.text, done.finish_reason, done.complete) == ("z", None, True)


async def test_the_last_event_counts_even_without_its_final_newline() -> None:
    done = await answer_to(streamed([chunk("end"), FINISH.rstrip()]))
    assert (done.text, done.finish_reason, done.complete) == ("end", "stop", True)


async def test_a_stream_cut_off_early_is_marked_incomplete_and_keeps_its_text() -> None:
    done = await answer_to(streamed([chunk("half an ans")]))
    assert (done.text, done.complete, done.error, done.finish_reason) == ("half an ans", False, None, None)


async def test_a_broken_connection_keeps_the_text_and_says_so() -> None:
    done = await answer_to(streamed([chunk("half"), Cut()]))
    assert (done.text, done.complete) == ("half", False)
    assert done.error is not None
    assert "broke" in done.error


async def test_a_connection_broken_after_the_finish_is_a_whole_answer() -> None:
    done = await answer_to(streamed([chunk("all"), FINISH, Cut()]))
    assert (done.text, done.complete, done.error) == ("all", True, None)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
async def test_reasoning_is_kept_apart_under_each_of_its_names(field: str) -> None:
    done = await answer_to(streamed([chunk(**{field: "hm "}), chunk(**{field: "ok"}), chunk("42"), FINISH, DONE]))
    assert (done.reasoning, done.text) == ("hm ok", "42")


async def test_a_chunk_with_both_reasoning_names_counts_once() -> None:
    done = await answer_to(streamed([chunk(reasoning="x", reasoning_content="x"), chunk("y"), FINISH, DONE]))
    assert done.reasoning == "x"


async def test_interleaved_tool_call_fragments_are_joined_by_index() -> None:
    steps = [
        call(0, '{"a":', "f", "c0"),
        call(1, '{"b":', "g", "c1"),
        call(0, "1}"),
        call(1, "2}"),
        chunk(finish="tool_calls"),
        DONE,
    ]
    done = await answer_to(streamed(steps))
    assert done.tool_calls == (ToolCall("f", {"a": 1}), ToolCall("g", {"b": 2}))
    assert done.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("steps", "calls"),
    [
        ([call(None, '{"a":', "f"), call(None, "1}"), call(None, "{}", "g")], [("f", {"a": 1}), ("g", {})]),
        ([call(0, '{"a":1}', "f", "x"), call(0, '{"b":2}', "g", "y")], [("f", {"a": 1}), ("g", {"b": 2})]),
        ([call(0, {"a": 1}, "f")], [("f", {"a": 1})]),
        ([call(0, "", "now")], [("now", {})]),
        ([call(0, "{broken", "f")], [("f", "{broken")]),
    ],
    ids=["no index", "one index for all", "arguments as object", "no arguments", "not json"],
)
async def test_tool_calls_come_in_many_shapes(steps: Sequence[Step], calls: list[tuple[str, object]]) -> None:
    done = await answer_to(streamed([*steps, chunk(finish="tool_calls"), DONE]))
    assert [(one.name, one.arguments) for one in done.tool_calls] == calls


def nested(levels: int) -> str:
    return '{"a": [' * (levels // 2) + "]}" * (levels // 2)


@pytest.mark.parametrize("as_text", [True, False], ids=["text", "object"])
async def test_arguments_nested_too_deeply_stay_text(as_text: bool) -> None:
    def begun(levels: int, id_: str) -> bytes:
        raw = call(0, "ARGUMENTS", "f", id_)
        said = json.dumps(nested(levels)) if as_text else nested(levels)
        return raw.replace(b'"ARGUMENTS"', said.encode())

    steps = [begun(64, "a"), begun(66, "b"), begun(900, "c"), chunk(finish="tool_calls"), DONE]
    done = await answer_to(streamed(steps))
    allowed, *deep = [one.arguments for one in done.tool_calls]
    assert allowed == json.loads(nested(64))
    assert deep == [nested(66), nested(900)]
    assert asdict(done)["tool_calls"][2]["arguments"] == nested(900)


async def test_arguments_nested_too_deeply_keep_all_that_was_in_them() -> None:
    said: object = [None, True, 1.5, 'a "quote"', {}, []]
    for _ in range(64):
        said = {"x": 1, "deeper": said, "y\u00e9": [2]}
    done = await answer_to(streamed([call(0, {"all": said}, "f", "a"), chunk(finish="tool_calls"), DONE]))
    assert json.loads(done.tool_calls[0].arguments) == {"all": said}


async def test_a_part_of_a_content_list_that_is_no_text_is_none() -> None:
    deep = chunk("PARTS").replace(b'"PARTS"', b'[{"text": ' + b"[" * 900 + b"]" * 900 + b'}, {"text": "42"}]')
    assert (await answer_to(streamed([deep, FINISH, DONE]))).text == "42"


async def test_usage_is_taken_from_wherever_it_comes_last() -> None:
    early = json.loads(chunk("x")[6:]) | {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    late = json.loads(FINISH[6:]) | {
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 4},
            "prompt_tokens_details": {"cached_tokens": 2},
        }
    }
    done = await answer_to(streamed([event(early), event(late), DONE]))
    assert done.usage == Usage(prompt_tokens=3, completion_tokens=9, reasoning_tokens=4, cached_tokens=2)


ZEROES = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"completion_tokens": -4}, "many", ZEROES])
async def test_useless_usage_is_unknown_not_zero(usage: object) -> None:
    odd = json.loads(FINISH[6:]) | {"usage": usage}
    done = await answer_to(streamed([chunk("x"), chunk("y"), event(odd), DONE]))
    assert done.usage is None
    assert done.timing.decode_tps is None


async def test_malformed_events_are_counted_and_skipped() -> None:
    bad = [b"data: {oops\n\n", b"data: \xff\xfe\n\n", b"data: " + b"[" * 100_000 + b"\n\n", b"data: 7\n\n"]
    done = await answer_to(streamed([chunk("a"), *bad, event({"choices": None}), chunk("b"), FINISH, DONE]))
    assert (done.text, done.bad_events) == ("ab", 4)


async def test_bytes_that_are_no_text_cost_their_characters_and_not_the_event() -> None:
    bad = chunk("TEXT").replace(b"TEXT", b"\xff\xfe 42")
    done = await answer_to(streamed([bad, FINISH, DONE]))
    assert (done.text, done.bad_events, done.complete) == ("\ufffd\ufffd 42", 0, True)
    whole = b'{"choices": [{"message": {"content": "\xff 42"}, "finish_reason": "stop"}]}'
    assert (await answer_to(Reply(body=whole, content_type="application/json"))).text == "\ufffd 42"


async def test_lone_surrogates_in_the_names_of_an_answer_are_replaced() -> None:
    done = await answer_to(streamed([chunk("x", model="m\ud800"), chunk(finish="st\ud800p", model="m\ud800"), DONE]))
    assert (done.model, done.finish_reason) == ("m\ufffd", "st\ufffdp")


async def test_an_error_object_after_text_becomes_the_completions_error() -> None:
    fault = event({"error": {"message": "model overloaded", "code": 503}})
    done = await answer_to(streamed([chunk("par"), fault, chunk("tial"), FINISH, DONE]))
    assert (done.text, done.error, done.complete) == ("par", "model overloaded", False)


async def test_an_error_object_before_any_text_is_raised_by_its_code() -> None:
    with pytest.raises(RateLimitedError, match="model overloaded"):
        await answer_to(streamed([event({"error": {"message": "model overloaded", "code": 503}})]))


@pytest.mark.parametrize("steps", [[DONE], [usage_chunk(1, 0), DONE]], ids=["only done", "only usage"])
async def test_a_stream_without_any_choice_is_no_answer(steps: Sequence[Step]) -> None:
    with pytest.raises(ProtocolError, match="without an answer"):
        await answer_to(streamed(steps))


@pytest.mark.parametrize(
    "choices",
    [{"0": {"delta": {"content": "x"}}}, "x", [["x"]], [{"text": "x"}], [{"delta": "x"}], [{"message": ["x"]}]],
    ids=["object", "text", "list in list", "completion", "delta of text", "message of list"],
)
async def test_text_that_could_not_be_found_is_no_empty_answer_of_the_model(choices: object) -> None:
    odd = event({"choices": choices})
    with pytest.raises(ProtocolError, match="'choices' cannot be read"):
        await answer_to(streamed([odd, FINISH, DONE]))
    with pytest.raises(ProtocolError, match="'choices' cannot be read"):
        await answer_to(Reply(body={"choices": choices}))
    done = await answer_to(streamed([chunk("found"), odd, FINISH, DONE]))
    assert (done.text, done.bad_events) == ("found", 1)


@pytest.mark.parametrize("steps", [[], [chunk("", role="assistant")]], ids=["nothing", "role only"])
async def test_a_stream_that_ends_before_any_text_is_a_fault(steps: Sequence[Step]) -> None:
    with pytest.raises(ServerFault, match="before any text"):
        await answer_to(streamed(steps))


async def test_an_empty_answer_with_a_finish_is_the_models_own() -> None:
    done = await answer_to(streamed([chunk("", role="assistant"), FINISH, DONE]))
    assert (done.text, done.complete) == ("", True)


async def test_a_server_that_ignores_stream_and_sends_one_json_answer_is_understood() -> None:
    message = {"role": "assistant", "content": "whole"}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    done = await answer_to(Reply(body=body))
    assert (done.text, done.finish_reason) == ("whole", "stop")
    assert done.timing.ttft_s is None


async def test_one_json_answer_beyond_the_limit_is_refused_by_naming_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_wire, "JSON_BYTES", 1000)
    with pytest.raises(ProtocolError, match="more than 1000 bytes"):
        await answer_to(Reply(body={"choices": [{"message": {"content": "x" * 2000}}]}))
    with pytest.raises(ProtocolError, match="a web page"):
        await answer_to(Reply(body=b"<html>" + b" " * 2000))


async def test_surrogates_split_over_events_are_joined_and_lone_ones_replaced() -> None:
    halves = [chunk("\ud83e"), chunk("\udd99 \ud83e")]
    done = await answer_to(streamed([*halves, FINISH, DONE]))
    assert done.text == "🦙 �"


async def test_an_endless_event_is_given_up() -> None:
    with pytest.raises(ProtocolError, match="more than"):
        await answer_to(streamed([b"data: " + b"x" * 700_000, b"y" * 700_000]))


async def test_an_answer_longer_than_the_limit_is_cut_and_marked() -> None:
    big = chunk("x" * 900_000)
    done = await answer_to(streamed([big] * 6))
    assert done.error is not None
    assert 4_000_000 < len(done.text) < 6_000_000
    assert not done.complete


async def test_a_server_that_keeps_silent_times_out() -> None:
    gate = Gate()
    async with FakeServer(script=lambda r: Reply(before=gate)) as server, openai_at(server.url) as backend:
        with pytest.raises(EndpointTimeout):
            await backend.chat(REQUEST, total_s=30, stall_s=0.05)


async def test_a_stall_after_text_keeps_the_text() -> None:
    async with (
        FakeServer(script=lambda r: streamed([chunk("so far"), Gate()])) as server,
        openai_at(server.url) as backend,
    ):
        done = await backend.chat(REQUEST, total_s=30, stall_s=0.1)
    assert (done.text, done.complete) == ("so far", False)
    assert done.error is not None


async def test_the_total_time_ends_a_stream_that_never_stalls() -> None:
    async with (
        FakeServer(script=lambda r: streamed([chunk("so far"), Gate()])) as server,
        openai_at(server.url) as backend,
    ):
        done = await backend.chat(REQUEST, total_s=0.2, stall_s=30)
    assert (done.text, done.finish_reason, done.error) == ("so far", "time", None)


async def test_a_server_that_keeps_the_stream_open_after_done_does_not_hold_us_up() -> None:
    gate = Gate()
    async with (
        FakeServer(script=lambda r: streamed([chunk("all"), FINISH, DONE, gate])) as server,
        openai_at(server.url) as backend,
    ):
        done = await ask(backend)
    assert (done.text, done.complete, done.error) == ("all", True, None)


async def test_a_server_that_keeps_the_stream_open_after_the_finish_is_waited_for_briefly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openai_wire, "TAIL_S", 0.05)
    steps: list[Step] = [chunk("a"), chunk("l"), chunk("l"), FINISH, usage_chunk(5, 3), Gate()]
    async with FakeServer(script=lambda r: streamed(steps)) as server, openai_at(server.url) as backend:
        done = await backend.chat(REQUEST, total_s=60, stall_s=60)
    assert (done.text, done.finish_reason, done.complete, done.error) == ("all", "stop", True, None)
    assert done.usage == Usage(prompt_tokens=5, completion_tokens=3)


async def test_text_after_the_finish_reason_counts_and_is_waited_for_anew() -> None:
    steps = [chunk("a", finish="stop"), chunk("b", finish="stop"), chunk("c"), chunk("d"), DONE]
    assert (await answer_to(streamed(steps))).text == "abcd"


async def test_an_answer_that_was_finished_when_its_time_was_up_is_not_cut() -> None:
    async with (
        FakeServer(script=lambda r: streamed([chunk("all"), FINISH, Gate()])) as server,
        openai_at(server.url) as backend,
    ):
        done = await backend.chat(REQUEST, total_s=0.3, stall_s=60)
    assert (done.text, done.finish_reason, done.complete) == ("all", "stop", True)


async def test_a_key_that_a_server_repeats_as_the_name_of_a_figure_is_not_kept() -> None:
    secret = "zz-LIVE-7f3a9c51d2e8"
    timings = {secret: 1, "x" * 50 + secret: 2, "prompt_n": 3, "odd\n": 4, "": 5}
    last = event(json.loads(FINISH[6:]) | {"timings": timings})
    options = ClientOptions(giving(secret), lambda text: text.replace(secret, "[redacted]"))
    async with FakeServer(script=lambda r: streamed([chunk("x"), last, DONE])) as server:
        backend = OpenAIBackend(endpoint(server.url), HttpClient(parse_address(server.url), options))
        done = await ask(backend)
        await backend.aclose()
    assert done.timing.server == {"[redacted]": 1, "prompt_n": 3}
