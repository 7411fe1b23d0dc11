"""How much the HTTP server takes at once, and how it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream

from llmbench_mcp.server import http_limits, http_serve
from llmbench_mcp.server.http_limits import Limits
from tests.mcp.sites import ANNA, BERT, MCP_HEADERS, Site, bearer, handshake, open_site, two_people
from tests.mcp.test_run_tools import Held
from tests.support.waiting import until

FEW = Limits(sessions=2, requests=2, idle_s=600, drain_s=0.2)
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}


def modern_call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call as clients of 2026 make it: everything in one request."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def ask(web: httpx2.AsyncClient, tool: str, token: str = "", **arguments: Any) -> httpx2.Response:
    headers = MCP_HEADERS | MODERN | {"mcp-name": tool} | (bearer(token) if token else {})
    return await web.post("/mcp", json=modern_call(tool, **arguments), headers=headers)


@asynccontextmanager
async def waiting(site: Site, web: httpx2.AsyncClient, count: int, token: str = "") -> AsyncIterator[None]:
    """So many calls in work: they wait for a run that goes on."""
    async with site.client(token=token) as client:
        await client.set_up(site.bench.fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]

    async def wait() -> None:
        answer = await ask(web, "run_status", token, run_id=run_id, wait_s=45)
        assert answer.status_code in (200, 503)

    async def in_work() -> bool:
        return site.http.traffic.kinds["call"] == count

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(wait)
        await until(in_work)
        yield
        group.cancel_scope.cancel()


async def test_sessions_of_both_kinds_are_counted_together_and_refused_with_a_time(tmp_path: Path) -> None:
    async with (
        open_site(tmp_path, limits=FEW) as site,
        site.web(**MCP_HEADERS) as web,
        AsyncExitStack() as open_streams,
    ):
        await open_streams.enter_async_context(web.stream("GET", "/sse"))
        opened = await web.post("/mcp", json=handshake())
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        for refused in (await web.post("/mcp", json=handshake()), await web.get("/sse")):
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
        assert (await ask(web, "suite_list")).status_code == 200  # clients of 2026 have no session
        assert (await web.delete("/mcp", headers=session)).status_code == 200
        assert (await web.post("/mcp", json=handshake())).status_code == 200


async def test_an_unused_session_is_closed(tmp_path: Path) -> None:
    limits = Limits(sessions=1, requests=5, idle_s=0.2, drain_s=0.2)
    async with open_site(tmp_path, limits=limits) as site, site.web(**MCP_HEADERS) as web:
        opened = await web.post("/mcp", json=handshake())

        async def closed() -> bool:
            return site.http.traffic.open_sessions() == 0

        await until(closed)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await web.post("/mcp", json=ping, headers=session)).status_code == 404


async def test_too_many_calls_in_work_are_refused_with_a_time(tmp_path: Path) -> None:
    async with open_site(tmp_path, limits=FEW, script=Held()) as site, site.web() as web, waiting(site, web, 2):
        refused = await ask(web, "suite_list")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert (await web.get("/healthz")).status_code == 200
        assert site.http.traffic.refused["requests"] == 1


async def test_one_person_leaves_room_for_the_others(tmp_path: Path) -> None:
    limits = Limits(sessions=5, requests=4, idle_s=600, drain_s=0.2)
    async with (
        open_site(tmp_path, limits=limits, access=two_people(), script=Held()) as site,
        site.web() as web,
        waiting(site, web, 2, ANNA),
    ):
        assert (await ask(web, "suite_list", ANNA)).status_code == 429
        assert (await ask(web, "suite_list", BERT)).status_code == 200


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_the_limit_is_refused(tmp_path: Path, declared: bool) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 1024 * 1024

    async with open_site(tmp_path) as site, site.web(**MCP_HEADERS) as web:
        body = b" " * (5 * 1024 * 1024) if declared else parts()
        try:
            answer = await web.post("/mcp", content=body)
        except httpx2.TransportError:
            pass  # closed while we were still sending: refused all the same
        else:
            assert answer.status_code == 413
        assert site.http.traffic.refused["body"] == 1
        assert site.http.traffic.bytes_held == 0
        assert (await ask(web, "suite_list")).status_code == 200


async def test_bodies_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "BODIES_LIMIT", 100)
    async with open_site(tmp_path) as site, site.web(**MCP_HEADERS) as web:
        assert (await web.post("/mcp", content=b" " * 101)).status_code == 503
        assert site.http.traffic.bytes_held == 0


async def said(stream: SocketStream) -> bytes:
    answer = b""
    with anyio.fail_after(30):
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


async def connected(site: Site) -> SocketStream:
    host, _, port = site.url.removeprefix("http://").partition(":")
    return await anyio.connect_tcp(host, int(port))


async def test_a_client_that_says_nothing_or_drips_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serve, "HEAD_S", 0.2)
    async with open_site(tmp_path) as site:
        for start in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"\r\n\r\n"):
            async with await connected(site) as stream:
                if start:
                    await stream.send(start)
                assert await said(stream) == b""


async def test_a_body_that_does_not_come_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "BODY_S", 0.2)
    async with open_site(tmp_path) as site, await connected(site) as stream:
        await stream.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        assert (await said(stream)).startswith(b"HTTP/1.1 408")


async def test_headers_of_unreasonable_size_are_refused(tmp_path: Path) -> None:
    start = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
    async with open_site(tmp_path) as site:
        async with await connected(site) as stream:
            await stream.send(start + b"x" * 40_000 + b"\r\n\r\n")
            assert (await said(stream)).startswith(b"HTTP/1.1 431")
        async with await connected(site) as stream:
            with suppress(anyio.BrokenResourceError):
                while True:
                    await stream.send(start + b"x" * 20_000)  # never ends; the server does
            assert (await said(stream))[:12] in (b"HTTP/1.1 400", b"")


async def test_leaving_lets_a_call_in_work_finish(tmp_path: Path) -> None:
    held = Held()
    limits = Limits(sessions=5, requests=5, idle_s=600, drain_s=30)
    answers: list[httpx2.Response] = []
    async with open_site(tmp_path, limits=limits, script=held) as site, site.web() as web:
        async with site.client() as client:
            await client.set_up(site.bench.fake, "alpha")
            run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]

        async def wait() -> None:
            answers.append(await ask(web, "run_status", run_id=run_id, wait_s=45))

        async def in_work() -> bool:
            return site.http.traffic.kinds["call"] == 1

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until(in_work)
            site.server.leave()
            held.gate.open()
    assert json.loads(answers[0].text)["result"]["structuredContent"]["run_id"] == run_id


async def test_leaving_ends_streams_properly_and_calls_within_the_bound(tmp_path: Path) -> None:
    streams_ended: list[str] = []
    async with open_site(tmp_path, script=Held()) as site, site.web(**MCP_HEADERS) as web:
        opened = await web.post("/mcp", json=handshake())
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}

        async def listen(path: str, **headers: str) -> None:
            async with web.stream("GET", path, headers=headers | {"accept": "text/event-stream"}) as stream:
                assert stream.status_code == 200
                async for _ in stream.aiter_raw():
                    pass  # to a proper end: one cut off raises
            streams_ended.append(path)

        async def open_both() -> bool:
            return sum(site.http.traffic.streams.values()) == 2

        async with anyio.create_task_group() as group, waiting(site, web, 2):
            group.start_soon(listen, "/sse")
            group.start_soon(lambda: listen("/mcp", **session))
            await until(open_both)
            site.server.leave()
            with anyio.fail_after(20):
                while len(streams_ended) < 2:  # noqa: ASYNC110 - what ends them is the server
                    await anyio.sleep(0.01)
    assert sorted(streams_ended) == ["/mcp", "/sse"]
