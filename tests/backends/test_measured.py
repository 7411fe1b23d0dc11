"""The connection under a measured stream, driven byte by byte from the other end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.backends.measured import ByteStream
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    ProtocolError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.testing.clocks import ManualClock
from tests.backends.raw_server import Handler, always, raw_server, read_request
from tests.backends.support import giving

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
BIG = {"prompt": "x" * (32 * 1024 * 1024)}
SIZE = len(json.dumps(BIG))
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def client_of(handler: Handler) -> AsyncIterator[HttpClient]:
    async with raw_server(handler) as port:
        client = HttpClient(parse_address(f"http://127.0.0.1:{port}"))
        yield client
        await client.aclose()


async def body_of(stream: ByteStream) -> bytes:
    return b"".join([piece async for piece, _ in stream.reads()])


async def posted(client: HttpClient, stall_s: float = 10.0) -> bytes:
    async with client.stream("/x", {}, stall_s=stall_s) as stream:
        return await body_of(stream)


async def answer_to(*pieces: bytes) -> bytes:
    async with client_of(always(*pieces)) as client:
        return await posted(client)


@pytest.mark.parametrize(
    "raw",
    [
        HELLO,
        CHUNKED + b"2\r\nhe\r\n3;name=value\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
        OK + b"\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        OK + b"Transfer-Encoding: identity\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HELLO,
    ],
    ids=["length", "chunked", "until close", "1.0", "identity", "informational"],
)
@pytest.mark.parametrize("size", [1, 1000])
async def test_a_body_is_read_whole_however_its_end_is_told(raw: bytes, size: int) -> None:
    assert await answer_to(*(raw[at : at + size] for at in range(0, len(raw), size))) == b"hello"


@pytest.mark.parametrize(
    "raw", [OK + b"Content-Length: 9\r\n\r\nhello", CHUNKED + b"5\r\nhello\r\n", OK[:9], b""], ids=repr
)
async def test_an_answer_that_ends_early_is_a_broken_connection(raw: bytes) -> None:
    with pytest.raises(UnreachableError, match="broke"):
        await answer_to(raw)


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"X: " + b"y" * 200_000,
        OK + b"X: y\r\n" * 20_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Content-Length: x\r\n\r\nhello",
        CHUNKED + b"zz\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
    ],
    ids=["long header", "many headers", "many 100s", "upgrade", "two lengths", "bad length", "bad chunk", "2", "ssh"],
)
async def test_what_is_no_proper_http_is_a_protocol_error(raw: bytes) -> None:
    with pytest.raises(ProtocolError, match="does not speak HTTP"):
        await answer_to(raw)


async def test_what_came_before_the_garbage_is_kept_even_within_one_read() -> None:
    taken: list[bytes] = []
    async with client_of(always(CHUNKED + b"2\r\nhe\r\nzz\r\n")) as client:
        with pytest.raises(ProtocolError, match="does not speak HTTP"):
            async with client.stream("/x", {}, stall_s=10) as stream:
                async for piece, _ in stream.reads():
                    taken.append(piece)
    assert taken == [b"he"]


async def test_a_second_answer_in_the_same_read_changes_nothing_of_the_first() -> None:
    first = OK + b"X: 1\r\nContent-Length: 5\r\n\r\nhello"
    both = always(first + OK + b"X: 2\r\nContent-Length: 2\r\n\r\nno")
    async with client_of(both) as client, client.stream("/x", {}, stall_s=10) as stream:
        assert (await body_of(stream), stream.headers["x"]) == (b"hello", "1")


async def test_a_compressed_body_is_refused_and_a_compressed_refusal_still_tells_its_status() -> None:
    coded = b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\x00"
    with pytest.raises(ProtocolError, match="cannot be decoded"):
        await answer_to(OK + coded)
    with pytest.raises(ProtocolError, match="cannot be decoded"):
        await answer_to(OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\n\x1f\x8b\x08\x00\x00\r\n0\r\n\r\n")
    with pytest.raises(AuthError, match="HTTP 401"):
        await answer_to(b"HTTP/1.1 401 No\r\n" + coded)


async def test_the_body_of_a_refusal_is_read_up_to_a_limit_only() -> None:
    with pytest.raises(ServerFault, match="HTTP 500"):
        await answer_to(b"HTTP/1.1 500 No\r\n\r\n", *[b"x" * 100_000] * 100)


async def test_reads_are_delivered_as_they_come_until_enough_and_the_rest_can_be_had_after() -> None:
    first, second, third = (b"1\r\n%b\r\n" % letter for letter in (b"a", b"b", b"c"))
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in (CHUNKED + first, second, third + b"0\r\n\r\n"):
            writer.write(piece)
            await go_on.wait()
            go_on.clear()

    taken: list[bytes] = []

    def take(piece: bytes, stamp: float) -> bool:
        taken.append(piece)
        go_on.set()
        return piece != b"b"

    async with client_of(handler) as client, client.stream("/x", {}, stall_s=10) as stream:
        await stream.deliver(take)
        assert taken == [b"a", b"b"]
        await stream.deliver(take)
    assert taken == [b"a", b"b", b"c"]


@pytest.mark.parametrize("ending", [b"", b"0\r\n\r\n"], ids=["more to come", "whole"])
async def test_what_the_taker_of_a_read_objects_to_ends_the_stream(ending: bytes) -> None:
    def take(piece: bytes, stamp: float) -> bool:
        raise ProtocolError("no such thing")

    async with client_of(always(CHUNKED, b"1\r\nx\r\n" + ending)) as client:
        with pytest.raises(ProtocolError, match="no such thing"):
            async with client.stream("/x", {}, stall_s=10) as stream:
                await stream.deliver(take)


async def test_delivery_tells_of_broken_connections_and_of_silence() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        writer.write(CHUNKED + b"1\r\nx\r\n")
        if "silent" in head:
            await asyncio.Event().wait()

    async with client_of(handler) as client:
        for path, error in (("/silent", EndpointTimeout), ("/x", UnreachableError)):
            with pytest.raises(error):
                async with client.stream(path, {}, stall_s=0.1) as stream:
                    await stream.deliver(lambda piece, stamp: True)


async def test_a_stream_has_an_end_even_when_the_server_knows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmbench_mcp.backends.measured_wire.STREAM_BYTES", 1000)
    with pytest.raises(ProtocolError, match="grew beyond 1000 bytes"):
        await answer_to(OK + b"\r\n" + b"x" * 2000)


async def test_leaving_a_stream_or_being_cancelled_in_it_closes_the_connection_at_once() -> None:
    closed: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]
    waiting = iter(closed)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = next(waiting)
        await read_request(reader)
        writer.write(CHUNKED + b"1\r\nx\r\n")
        with suppress(ConnectionError):
            await reader.read()
        gone.set()

    async with client_of(handler) as client:
        async with client.stream("/x", {}, stall_s=60) as stream:
            assert await anext(stream.reads()) is not None
        await closed[0].wait()
        with anyio.move_on_after(60) as scope:
            async with client.stream("/x", {}, stall_s=60) as stream:
                async for _ in stream.reads():
                    scope.cancel()
        assert scope.cancelled_caught
        await closed[1].wait()


async def test_a_reader_that_does_not_read_holds_the_server_back_and_hears_no_silence() -> None:
    written, total = 0, 64 * 1024 * 1024
    stuck = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await read_request(reader)
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % total)
        while written < total:
            writer.write(b"x" * 65536)
            written += 65536
            if not stuck.is_set():
                with anyio.move_on_after(0.5) as patience:
                    await writer.drain()
                if patience.cancelled_caught:
                    stuck.set()
            await writer.drain()

    async with client_of(handler) as client, client.stream("/x", {}, stall_s=0.1) as stream:
        reads = stream.reads()
        received = len((await anext(reads))[0])
        await stuck.wait()
        assert written < total / 2
        received += sum([len(piece) async for piece, _ in reads])
        assert received == total


async def test_the_zero_of_all_timings_is_when_the_last_byte_of_the_request_was_taken() -> None:
    clock, begun, read_on = ManualClock(1000.0), asyncio.Event(), asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        clock.advance(500.0)
        begun.set()
        await read_on.wait()
        await reader.readexactly(SIZE)
        writer.write(HELLO)

    async with raw_server(handler) as port, anyio.create_task_group() as group:
        client = HttpClient(parse_address(f"http://127.0.0.1:{port}"), ClientOptions(clock=clock))

        async def ask() -> None:
            async with client.stream("/x", BIG, stall_s=60) as stream:
                assert stream.sent_at == 1500.0
                assert await body_of(stream) == b"hello"

        group.start_soon(ask)
        await begun.wait()
        read_on.set()
    await client.aclose()


async def test_a_server_that_takes_no_request_is_silent() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with client_of(handler) as client:
        with pytest.raises(EndpointTimeout, match="nothing for too long"):
            async with client.stream("/x", BIG, stall_s=0.1):
                pass


async def test_an_answer_that_comes_before_the_request_is_through_counts() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        await asyncio.Event().wait()

    async with client_of(handler) as client:
        with pytest.raises(AuthError):
            async with client.stream("/x", BIG, stall_s=10):
                pass


async def test_the_request_says_whom_it_asks_and_wants_nothing_compressed() -> None:
    seen: list[str] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await read_request(reader)
        seen.extend([*head.split("\r\n"), body.decode()])
        writer.write(HELLO)

    async with raw_server(handler) as port:
        client = HttpClient(parse_address(f"http://localhost:{port}/llm/ä"), ClientOptions(giving("k3y")))
        async with client.stream("/v1/x", {"a": "é"}, stall_s=10) as stream:
            assert await body_of(stream) == b"hello"
        await client.aclose()
    assert seen[:2] == ["POST /llm/%C3%A4/v1/x HTTP/1.1", f"Host: localhost:{port}"]
    assert "Authorization: Bearer k3y" in seen
    assert "Accept-Encoding: identity" in seen
    assert seen[-1] == '{"a": "\\u00e9"}'


async def test_a_credential_that_would_break_the_request_is_not_sent() -> None:
    client = HttpClient(parse_address("http://127.0.0.1:9"), ClientOptions(giving("k3y\r\nX-Evil: 1")))
    with pytest.raises(AuthError, match="no HTTP header can carry"):
        await posted(client)
    await client.aclose()


async def test_a_named_host_is_reached_at_whichever_of_its_addresses_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(always(HELLO)) as port:
        loop = asyncio.get_running_loop()
        both = [
            *await loop.getaddrinfo("::1", port, type=1),
            *await loop.getaddrinfo("127.0.0.1", port, type=1),
        ]

        async def resolve(*arguments: object, **named: object) -> object:
            return both

        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        client = HttpClient(parse_address(f"http://somewhere.localhost:{port}"))
        assert await posted(client) == b"hello"
        await client.aclose()


def test_a_stream_is_read_on_uvloop_too() -> None:
    async def main() -> None:
        assert await answer_to(CHUNKED + b"2\r\nhe\r\n", b"3\r\nllo\r\n0\r\n\r\n") == b"hello"
        with pytest.raises(UnreachableError, match="broke"):
            await answer_to(CHUNKED + b"5\r\nhello\r\n")
        with pytest.raises(EndpointError):
            await posted(HttpClient(parse_address("http://127.0.0.1:9")))
        await test_the_zero_of_all_timings_is_when_the_last_byte_of_the_request_was_taken()
        await test_a_reader_that_does_not_read_holds_the_server_back_and_hears_no_silence()

    anyio.run(main, backend_options={"use_uvloop": True})
