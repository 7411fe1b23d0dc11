"""Too much of everything, from agents and from servers: refused or cut in words, and the next call works."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Reply, chunk, streamed
from tests.backends.raw_server import raw_server
from tests.mcp.bench import BenchClient, open_bench, text_of
from tests.mcp.sites import MCP_HEADERS, handshake, open_site

MEBIBYTE = 2**20


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


LARGE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("model_get", {"model": "x" * 1_000_000}),
    ("endpoint_add", {"url": "http://127.0.0.1/" + "x" * 1_000_000}),
    ("endpoint_add", {"url": "http://127.0.0.1:9", "name": "x" * 1_000_000}),
    ("endpoint_add", {"url": "http://127.0.0.1:9", "concurrency": 10**400}),
    ("endpoint_add", {"url": "http://127.0.0.1:" + "9" * 1900}),
    ("run_start", {"models": ["alpha"] * 100_000, "suites": ["sums"]}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "repeats": 10**30}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "temperature": 1e308}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "limits": {"tokens": 10**60}}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "limits": {str(n): n for n in range(10_000)}}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "parameter_matrix": {"seed": list(range(100_000))}}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "parameter_matrix": {"temperature": [nested(150)]}}),
    ("run_start", {"models": ["alpha"], "suites": ["sums"], "idempotency_key": "x" * 100_000}),
    ("run_start", {"models": ["alpha"], "custom_tasks": [{"prompt": "x", "expected": 1}] * 10_000}),
    ("run_start", {"models": ["alpha"], "custom_tasks": [{"prompt": "x", "expected": nested(150)}]}),
    ("run_start", {"models": ["alpha"], "custom_tasks": [{"prompt": "x" * 1_000_000, "expected": 1}]}),
    ("run_start", {"models": ["alpha"], "custom_tasks": [{"prompt": "x", "criteria": ["y"] * 100_000}]}),
    ("run_status", {"run_id": "x" * 100_000}),
    ("run_list", {"cursor": "x" * 1_000_000}),
    ("run_list", {"limit": 10**20}),
    ("model_list", {"text": "x" * 1_000_000}),
    ("results_export", {"run_ids": ["x"] * 100_000}),
    ("suite_list", {"suite": "x" * 1_000_000}),
    ("suite_list", {f"argument_{n}": n for n in range(10_000)}),
    ("x" * 100_000, {}),
)


async def test_absurd_arguments_are_refused_in_a_few_words_and_the_next_call_works(tmp_path: Path) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        for tool, arguments in LARGE:
            result = await client.result(tool, arguments)
            told = text_of(result)
            assert result.is_error, f"{tool} {arguments}"[:200]
            assert "Internal error" not in told, (tool, list(arguments))
            assert len(told) < 3000, (tool, list(arguments))
        assert (await client.call("run_list"))["total"] == 0


async def test_a_body_that_is_too_large_too_deep_or_no_json_is_answered(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site, site.web(**MCP_HEADERS) as web:
        for content, right_status in (
            (b"[" * 100_000 + b"]" * 100_000, {400}),
            (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, {400}),
            (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":' + b"9" * 50_000 + b"}", {400}),
            (b"\xff\xfe" * 1000, {400}),
            (b" " * (5 * MEBIBYTE), {413}),
        ):
            answer = await web.post("/mcp", content=content)
            assert answer.status_code in right_status, (answer.status_code, content[:40])
            assert len(answer.text) < 2000
        many = [(f"x-{n}", "y" * 500) for n in range(100)]
        assert (await web.get("/healthz", headers=many[:20])).status_code == 200
        assert (await web.get("/", headers=many)).status_code in (400, 431)
        assert (await web.post("/mcp", json=handshake())).status_code == 200


async def test_a_list_of_a_hundred_thousand_models_is_taken_or_refused_and_answers_stay_small(tmp_path: Path) -> None:
    many = [f"model-{number:06d}" for number in range(100_000)]
    async with open_bench(tmp_path, models=many) as bench, bench.client("auto") as client:
        result = await client.result("endpoint_add", {"url": bench.fake.url, "name": "fake"})
        assert not result.is_error
        found = await client.result("models_discover", {})
        assert len(json.dumps(found.model_dump(mode="json"))) < 60_000
        listed = await client.call("model_list", limit=50)
        assert len(json.dumps(listed)) < 30_000


@asynccontextmanager
async def endless(piece: bytes, head: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A server whose every answer goes on for ever; its address and how much each answer came to."""
    sent: list[int] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        sent.append(0)
        writer.write(head)
        while sent[-1] < 400 * MEBIBYTE:
            writer.write(piece)
            await writer.drain()
            sent[-1] += len(piece)

    async with raw_server(handle) as port:
        yield f"http://127.0.0.1:{port}", sent


JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (JSON_HEAD, b"x" * 65_536),
        (JSON_HEAD + b'{"data":[', b'{"id":"' + b"m" * 65_000 + b'"},'),
        (JSON_HEAD.replace(b"200 OK", b"500 No"), b"y" * 65_536),
        (b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"z" * 8000 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Header: ", b"z" * 65_536),
        (b"", b"H" * 65_536),
    ],
)
async def test_an_answer_without_end_is_given_up_soon(tmp_path: Path, head: bytes, piece: bytes) -> None:
    async with endless(piece, head) as (url, sent), open_bench(tmp_path) as bench, bench.client("auto") as client:
        told = await client.refused("endpoint_add", url=url)
        assert "Internal error" not in told
        assert len(told) < 3000
    assert sent
    assert max(sent) < 40 * MEBIBYTE


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


TASK = {"prompt": "How many?", "expected": 1}


class Streaming(FakeServer):
    """Answers questions with a stream of the test's making."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(["alpha"])
        self.endless = reply

    async def chat(self, request: Received) -> Reply:
        return self.endless if request.prompt == TASK["prompt"] else self.ordinary(request)


@pytest.mark.parametrize(
    "steps",
    [
        [b"data: " + b"x" * (3 * MEBIBYTE)],
        [chunk("y" * 500_000)] * 300,
        [(b": " + b"k" * 1000 + b"\n\n") * 500] * 300,
        [b"data: " + b"[" * 500_000 + b"\n\n", DONE],
    ],
    ids=["a line without end", "150 MB of text", "150 MB of comments", "deep JSON"],
)
async def test_a_stream_without_end_costs_an_attempt_and_no_memory(tmp_path: Path, steps: list[bytes]) -> None:
    box = Streaming(streamed(steps))
    async with box, open_bench(tmp_path) as bench, bench.client("auto") as client:
        await client.call("endpoint_add", url=box.url, name="box")
        await client.call("models_discover")
        await client.call("model_assign", model="alpha")
        before = peak_bytes()
        started = await client.call("run_start", models=["alpha"], custom_tasks=[TASK])
        ended = await given_up(client, started["run_id"])
        assert ended.get("passed", 0) == 0
        results = await client.call("run_results", run_id=started["run_id"], detail="detailed")
        assert len(json.dumps(results)) < 30_000
        await healthy(client)
    assert peak_bytes() - before < 600 * MEBIBYTE


def peak_bytes() -> int:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def given_up(client: BenchClient, run_id: str) -> dict[str, Any]:
    """The run's status once the first answer was read as far as it will be."""
    while True:
        status = await client.call("run_status", run_id=run_id, wait_s=20)
        if status["state"] not in ("queued", "running"):
            return await client.call("run_cancel", run_id=run_id)


async def healthy(client: BenchClient) -> None:
    assert (await client.call("run_list"))["total"] == 1
