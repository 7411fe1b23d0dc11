"""What follows an answer: connections used again or not, and streams that end together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from llmbench_mcp.backends.measured import MeasuredPath
from llmbench_mcp.backends.measured_connect import tls_context
from llmbench_mcp.backends.measured_wire import Endings
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import UnreachableError
from llmbench_mcp.testing.clocks import ManualClock
from tests.backends.raw_server import Handler, raw_server, read_request

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class _Connections:
    """Answers each connection's requests by a script of (connection, request) numbers."""

    def __init__(self, *scripts: list[bytes]) -> None:
        self._scripts = scripts
        self.asked: list[tuple[int, int]] = []
        self._count = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._count = self._count, self._count + 1
        for turn, answer in enumerate(self._scripts[number]):
            await read_request(reader)
            self.asked.append((number, turn))
            writer.write(answer)
            await writer.drain()


@asynccontextmanager
async def kept(handler: Handler) -> AsyncIterator[MeasuredPath]:
    async with raw_server(handler) as port:
        address = parse_address(f"http://127.0.0.1:{port}")
        path = MeasuredPath(address, ManualClock(), tls_context(address), keep_s=60.0)
        yield path
        path.close()


async def ask_on(path: MeasuredPath) -> bytes:
    async with path.post("/x", {}, b"{}", 10.0) as stream:
        return b"".join([piece async for piece, _ in stream.reads()])


async def test_a_kept_connection_carries_the_next_request() -> None:
    server = _Connections([HELLO, HELLO, HELLO])
    async with kept(server) as path:
        assert [await ask_on(path) for _ in range(3)] == [b"hello"] * 3
    assert server.asked == [(0, 0), (0, 1), (0, 2)]


async def test_a_kept_connection_lost_before_any_answer_is_replaced_once() -> None:
    server = _Connections([HELLO, b""], [HELLO])
    async with kept(server) as path:
        assert [await ask_on(path) for _ in range(2)] == [b"hello"] * 2
    assert server.asked == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(
    "scripts", [([b""],), ([HELLO, OK + b"Content-Length: 9\r\n\r\nhel"],), ([HELLO, b""], [b""])], ids=repr
)
async def test_nothing_else_is_asked_twice(scripts: tuple[list[bytes], ...]) -> None:
    server = _Connections(*scripts)
    async with kept(server) as path:
        with pytest.raises(UnreachableError):
            for _ in range(2):
                await ask_on(path)
    assert len(server.asked) == sum(map(len, scripts))


@pytest.mark.parametrize(
    "first",
    [HELLO + b"HTTP/1.1 200 OK\r\n", HELLO.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), OK + b"\r\nhello"],
    ids=["more than asked for", "close", "until close"],
)
async def test_a_connection_that_cannot_be_kept_is_not(first: bytes) -> None:
    server = _Connections([first], [HELLO])
    async with kept(server) as path:
        assert [await ask_on(path) for _ in range(2)] == [b"hello"] * 2
    assert server.asked == [(0, 0), (1, 0)]


async def test_a_connection_left_early_is_not_kept() -> None:
    server = _Connections([CHUNKED + b"1\r\nx\r\n", HELLO], [HELLO])
    async with kept(server) as path:
        async with path.post("/x", {}, b"{}", 10.0) as stream:
            await anext(stream.reads())
        assert await ask_on(path) == b"hello"
    assert server.asked == [(0, 0), (1, 0)]


async def test_streams_that_end_together_are_finished_one_a_turn_of_the_loop() -> None:
    woken: list[str] = []
    endings = Endings()
    for name in ("a", "b", "c"):
        endings.add(lambda name=name: woken.append(name))  # type: ignore[misc]  # a loop variable, kept
    assert woken == ["a"]
    await anyio.lowlevel.checkpoint()
    assert woken == ["a", "b"]
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    endings.add(lambda: woken.append("d"))
    assert woken == ["a", "b", "c", "d"]
