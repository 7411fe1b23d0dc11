from __future__ import annotations

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Script
from llmbench_mcp.testing.replies import DONE, Gate, Reply, chunk, event, streamed, usage_chunk
from tests.cli.conftest import Cli
from tests.cli.support import CLOSED_PORT_URL, Result, running

KEYS = [
    "text",
    "reasoning",
    "tool_calls",
    "finish_reason",
    "usage",
    "ttft_s",
    "ttfat_s",
    "e2e_s",
    "decode_tps",
    "model",
    "error",
]


def _probe(cli: Cli, reply: Reply | None, *more: str) -> Result:
    script: Script = lambda request: reply  # noqa: E731 - typed, unlike a nested def
    with running(FakeServer(["m"], script)) as fake:
        return cli("endpoint", "probe", fake.url, "--model", "m", *more)


def test_a_probe_prints_one_object_with_exactly_the_promised_keys(cli: Cli) -> None:
    steps = [chunk(reasoning_content="hm"), chunk("4"), chunk(finish="stop"), usage_chunk(7, 3), DONE]
    said = _probe(cli, Reply(steps=steps, content_type="text/event-stream"), "--json")
    document = said.json
    assert said.code == exit_codes.OK
    assert list(document) == KEYS
    assert (document["text"], document["reasoning"], document["finish_reason"]) == ("4", "hm", "stop")
    assert document["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "reasoning_tokens": None}
    assert 0 <= document["ttft_s"] <= document["ttfat_s"] <= document["e2e_s"]
    assert (document["model"], document["error"], document["tool_calls"]) == ("m", None, [])


def test_a_key_inside_a_tool_call_is_not_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_OTHER", "zz-secret-1234567890")
    calls = [{"index": 0, "function": {"name": "look", "arguments": '{"a": ["zz-secret-1234567890", 7]}'}}]
    said = _probe(cli, streamed([chunk(tool_calls=calls), chunk(finish="tool_calls"), DONE]), "--json")
    assert said.json["tool_calls"] == [{"name": "look", "arguments": {"a": ["[redacted]", 7]}}]


def test_an_error_inside_the_stream_is_given_in_the_servers_words_with_the_text_that_came(cli: Cli) -> None:
    steps = [chunk("half an ans"), event({"error": {"message": "model overloaded", "code": 503}})]
    said = _probe(cli, Reply(steps=steps, content_type="text/event-stream"), "--json")
    assert said.code == exit_codes.FAILED
    assert list(said.json) == KEYS
    assert (said.json["text"], said.json["error"]) == ("half an ans", "model overloaded")


def test_a_stream_that_just_ends_is_no_failure_but_is_remarked_on(cli: Cli) -> None:
    said = _probe(cli, Reply(steps=[chunk("half an ans")], content_type="text/event-stream"), "--json")
    assert said.code == exit_codes.OK
    assert (said.json["text"], said.json["error"], said.json["finish_reason"]) == ("half an ans", None, None)
    assert "incomplete" in said.err


def test_a_server_that_is_not_there_gives_the_same_object_with_the_error(cli: Cli) -> None:
    said = cli("endpoint", "probe", CLOSED_PORT_URL, "--model", "m", "--json")
    assert said.code == exit_codes.FAILED
    assert list(said.json) == KEYS
    assert "connection refused" in said.json["error"]


def test_a_model_that_is_not_there_is_told(cli: Cli, server: FakeServer) -> None:
    said = cli("endpoint", "probe", server.url, "--model", "nope")
    assert said.code == exit_codes.FAILED
    assert said.err.startswith("error: ")
    assert "nope" in said.err


def test_the_time_limit_of_a_probe_is_kept(cli: Cli) -> None:
    reply = Reply(steps=[Gate()], content_type="text/event-stream")
    said = _probe(cli, reply, "--json", "--timeout", "0.2")
    assert said.code == exit_codes.FAILED
    assert isinstance(said.json["error"], str)


def test_what_was_asked_for_is_sent(cli: Cli, server: FakeServer) -> None:
    options = ("--prompt", "hello", "--system", "be brief", "--max-tokens", "5", "--temperature", "0.7")
    assert cli("endpoint", "probe", server.url, "--model", "alpha", *options).code == exit_codes.OK
    body = server.requests[-1].body
    assert [message["content"] for message in body["messages"]] == ["be brief", "hello"]
    assert (body["max_tokens"], body["temperature"]) == (5, 0.7)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold red]loud[/]", "[bold red]loud[/]"),
        ("\x1b[2Jwiped", "\\x1b[2Jwiped"),
        ("\u202edesrever", "\\u202edesrever"),
    ],
)
def test_an_answer_reaches_the_terminal_literally_and_harmless(cli: Cli, text: str, shown: str) -> None:
    steps = [chunk(text), chunk(finish="stop"), DONE]
    said = _probe(cli, Reply(steps=steps, content_type="text/event-stream"))
    assert shown in said.out
    assert not {"\x1b", "\u202e"} & set(said.out)


def test_json_escapes_what_a_terminal_might_obey(cli: Cli) -> None:
    steps = [chunk("\x1b[2J\u202e \ud800"), chunk(finish="stop"), DONE]
    said = _probe(cli, Reply(steps=steps, content_type="text/event-stream"), "--json")
    assert said.out.isascii()
    assert "\x1b" not in said.out
    assert said.json["text"] == "\x1b[2J\u202e \ufffd"


def test_the_only_model_of_a_server_need_not_be_named(cli: Cli, server: FakeServer) -> None:
    assert cli("endpoint", "probe", server.url, "--json").json["model"] == "alpha"
    with running(FakeServer(["alpha", "beta"])) as fake:
        said = cli("endpoint", "probe", fake.url)
    assert said.code == exit_codes.FAILED
    assert "2 models: alpha, beta" in said.err
    assert "--model" in said.err


def test_a_word_that_is_neither_address_nor_endpoint_is_met_with_the_names(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "box")
    said = cli("endpoint", "probe", "bx", "--model", "alpha")
    assert said.err == "error: There is no endpoint 'bx'.\n  Known endpoints: box.\n"
    assert cli("endpoint", "probe", "box").code == exit_codes.OK
