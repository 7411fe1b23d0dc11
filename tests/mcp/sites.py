"""The HTTP server in this process, on a real socket, and clients for each of its doors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from llmbench_mcp.credentials.environment import Secret
from llmbench_mcp.server.http import HttpApp, build_http_app
from llmbench_mcp.server.http_auth import Access
from llmbench_mcp.server.http_limits import Limits
from llmbench_mcp.server.http_serve import Address, HttpServer, listening
from llmbench_mcp.server.http_tokens import Tokens
from tests.mcp.bench import Bench, BenchClient, Era, open_bench

Door = Literal["http", "sse"]

ANNA = "anna-0123456789-abcdef"
BERT = "bert-9876543210-fedcba"


def two_people() -> Access:
    return Access(tokens=Tokens([("anna", Secret(ANNA)), ("bert", Secret(BERT))]))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True, slots=True)
class Site:
    """What a test holds."""

    bench: Bench
    http: HttpApp
    server: HttpServer
    url: str

    @asynccontextmanager
    async def client(self, door: Door = "http", era: Era = "auto", token: str = "") -> AsyncIterator[BenchClient]:
        """An MCP client of one era, through one door."""
        headers = bearer(token) if token else {}
        if door == "sse":
            async with Client(sse_client(f"{self.url}/sse", headers=headers), mode=era) as client:
                yield BenchClient(client)
            return
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=web), mode=era) as client,
        ):
            yield BenchClient(client)

    @asynccontextmanager
    async def web(self, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
        """A bare HTTP client."""
        async with httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=30) as web:
            yield web


@asynccontextmanager
async def open_site(
    folder: Path, *, access: Access | None = None, limits: Limits | None = None, **more: Any
) -> AsyncIterator[Site]:
    """A server with an executor at work in this process; it leaves at the end of the block."""
    async with open_bench(folder, **more) as bench:
        bounds = limits or Limits(sessions=50, requests=50, idle_s=600, drain_s=0.2)
        http = build_http_app(bench.holder, access, bounds)
        server = HttpServer(http, bounds)
        with closing(listening(Address("127.0.0.1", 0))) as listener:
            async with anyio.create_task_group() as group:
                url = await _started(group, server, listener)
                yield Site(bench, http, server, url)
                server.leave()


async def _started(group: anyio.abc.TaskGroup, server: HttpServer, listener: Any) -> str:
    told: list[str] = []
    ready = anyio.Event()

    def started(url: str) -> None:
        told.append(url)
        ready.set()

    group.start_soon(server.run, listener, started)
    with anyio.fail_after(30):
        await ready.wait()
    return told[0]


def handshake(number: int = 1) -> dict[str, Any]:
    """The first request of a client before 2026."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
