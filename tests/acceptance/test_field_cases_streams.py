"""Answers in pieces, cut wherever a network may cut them, read through the command that asks one question.

Where recorded streams lie on this machine they are replayed as well: every one, at the backend of its protocol.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_ollama import CHAT, FakeOllama
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import DONE, Reply, Step, chunk, event, usage_chunk
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.support.collected import COLLECTED

CASES = COLLECTED / "cases" / "stream.jsonl"
FINISH = chunk(finish="stop")
COUNTED = {"prompt_tokens": 5, "completion_tokens": 2, "reasoning_tokens": None}


def probed(cli: Cli, steps: Sequence[Step], protocol: str = "openai-sse", status: int = 200) -> dict[str, Any]:
    """What ``endpoint probe`` makes of an answer that comes in these pieces."""
    fake = FakeServer(["m"]) if protocol == "openai-sse" else FakeOllama(["m"])
    kind = "text/event-stream" if protocol == "openai-sse" else "application/x-ndjson"
    path = "/v1/chat/completions" if protocol == "openai-sse" else CHAT
    fake.routes[f"POST {path}"] = lambda request: Reply(status, steps=steps, content_type=kind)
    with running(fake):
        said = cli("endpoint", "probe", fake.url, "--model", "m", "--json")
    assert fake.count(path) == 1, "asked once, in the server's own protocol"
    assert said.code == (exit_codes.OK if said.json["error"] is None else exit_codes.FAILED)
    document: dict[str, Any] = said.json
    return document


def tool(index: int, arguments: str, name: str | None = None) -> bytes:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return chunk(tool_calls=[{"index": index, "function": function} | ({"id": f"c{index}"} if name else {})])


def apart(data: bytes, size: int = 1) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def line(**fields: Any) -> bytes:
    """One line of Ollama's own stream."""
    return json.dumps({"model": "m", "done": False} | fields, ensure_ascii=False).encode() + b"\n"


SHAPES: dict[str, tuple[Sequence[Step], dict[str, Any]]] = {
    "a role and then nothing is no token": (
        [chunk("", role="assistant"), chunk(""), chunk("Yes"), FINISH, usage_chunk(5, 2), DONE],
        {"text": "Yes", "finish_reason": "stop", "usage": COUNTED},
    ),
    "one byte at a time, letters of several bytes among them": (
        apart(chunk("A").replace(b"A", "né 漢".encode()) + chunk("B").replace(b"B", "🙂".encode()) + FINISH + DONE),
        {"text": "né 漢🙂", "finish_reason": "stop"},
    ),
    "all events in one read, with CRLF and no blank after data": (
        [(chunk("x") + chunk("y") + FINISH + DONE).replace(b"\n", b"\r\n").replace(b"data: ", b"data:")],
        {"text": "xy", "finish_reason": "stop"},
    ),
    "comments that keep the connection alive": (
        [b": ping\n\n", chunk("o"), b":\n\n", chunk("k"), FINISH, DONE],
        {"text": "ok", "finish_reason": "stop"},
    ),
    "no end mark and no last line end": ([chunk("so"), FINISH.rstrip()], {"text": "so", "finish_reason": "stop"}),
    "the end of the stream in the middle of the answer": ([chunk("half an")], {"text": "half an"}),
    "thoughts before the answer": (
        [chunk(reasoning_content="hm "), chunk(reasoning_content="so"), chunk("42"), FINISH, DONE],
        {"text": "42", "reasoning": "hm so", "finish_reason": "stop"},
    ),
    "two calls whose pieces alternate": (
        [
            tool(0, "", "f"),
            tool(1, '{"b"', "g"),
            tool(0, '{"a": 1}'),
            tool(1, ": 2}"),
            chunk(finish="tool_calls"),
            DONE,
        ],
        {
            "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {"b": 2}}],
            "finish_reason": "tool_calls",
        },
    ),
    "an error after the first words": (
        [chunk("par"), event({"error": {"message": "out of memory"}})],
        {"text": "par", "error": "out of memory"},
    ),
    "the limit of tokens": ([chunk("long"), chunk(finish="length"), DONE], {"text": "long", "finish_reason": "length"}),
}
NOTHING: dict[str, Any] = {
    "text": "",
    "reasoning": "",
    "tool_calls": [],
    "finish_reason": None,
    "usage": None,
    "error": None,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stream_is_read_as_it_was_meant_however_it_is_cut(cli: Cli, shape: str) -> None:
    steps, expected = SHAPES[shape]
    document = probed(cli, steps)
    assert {name: document[name] for name in NOTHING} == NOTHING | expected
    assert (document["ttft_s"] is None) == (not document["text"] and not document["reasoning"])


@pytest.mark.parametrize("cut", [lambda data: [data], apart], ids=["one read", "single bytes"])
def test_a_stream_of_ollamas_own_is_read_however_it_is_cut(cli: Cli, cut: Callable[[bytes], list[bytes]]) -> None:
    data = b"".join(
        [
            line(message={"role": "assistant", "content": "", "thinking": "hm"}),
            line(message={"role": "assistant", "content": "señ"}),
            line(message={"role": "assistant", "content": "or"}),
            line(message={"role": "assistant", "content": ""}, done=True, done_reason="length", eval_count=2),
        ]
    )
    document = probed(cli, cut(data), "ollama-ndjson")
    assert (document["text"], document["reasoning"], document["finish_reason"]) == ("señor", "hm", "length")
    assert document["usage"] == COUNTED | {"prompt_tokens": None}
    assert document["error"] is None


def recorded() -> list[dict[str, Any]]:
    if not CASES.exists():
        return []
    return [json.loads(text) for text in CASES.read_text(encoding="utf-8").splitlines() if text.strip()]


@pytest.mark.skipif(not recorded(), reason="the recordings are not on this machine")
@pytest.mark.parametrize("case", recorded(), ids=lambda case: str(case["id"]))
def test_a_recorded_stream_is_told_as_recorded(cli: Cli, case: dict[str, Any]) -> None:
    steps = [base64.b64decode(text) for text in case["chunks_b64"]]
    document = probed(cli, steps, case["protocol"], case["http_status"])
    expected = case["expected"]
    names = ("text", "reasoning", "tool_calls", "finish_reason", "error")
    assert {name: document[name] for name in names} == {name: expected[name] for name in names}
    usage = document["usage"] and {name: document["usage"][name] for name in ("prompt_tokens", "completion_tokens")}
    assert usage == expected["usage"]
    came = (expected["first_content_chunk"], expected["first_reasoning_chunk"]) != (None, None)
    assert (document["ttft_s"] is not None) == came


def test_every_recorded_stream_is_of_a_protocol_spoken_here() -> None:
    assert {case["protocol"] for case in recorded()} <= {"openai-sse", "ollama-ndjson"}
