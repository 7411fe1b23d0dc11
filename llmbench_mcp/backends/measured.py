"""The measured path: streaming requests whose timings must be the server's and not this client's.

Everything between the socket and the events is as short as it can be: a protocol without streams or tasks of its
own, a C parser for HTTP, one stamp a read. Whatever is not measured goes through httpx2, which does more.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol
from urllib.parse import quote

import anyio

from llmbench_mcp.backends.measured_connect import Dialler
from llmbench_mcp.backends.measured_wire import Take, Wire
from llmbench_mcp.domain.address import Address
from llmbench_mcp.domain.errors import AuthError, UnreachableError
from llmbench_mcp.domain.ports import Clock

_KEEP_S = {
    # llama.cpp's server closes a connection after a stream although it promises to keep it, so that the next
    # request on it may be lost. A new connection costs nothing nearby, and no timing includes it.
    "http": 0.0,
    # A handshake is dear; 2 s is well below the idle limit of any server behind TLS.
    "https": 2.0,
}
_PATH_CHARS = "/:@!$&'()*+,;=~-._%"


class ByteStream(Protocol):
    """A streaming answer, read by read. ``sent_at`` is when the request's last byte was handed to the socket."""

    @property
    def sent_at(self) -> float | None:
        """Monotonic seconds; None where the transport does not tell."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        ...

    def reads(self) -> AsyncIterator[tuple[bytes, float]]:
        """Pairs of bytes and the monotonic time they came. Raises ProtocolError beyond STREAM_BYTES."""
        ...

    async def deliver(self, take: Take) -> None:
        """The same with less effort: hand each read to ``take`` until the end or until it returns False.

        ``take`` must be quick and may raise EndpointErrors only; they come out here.
        """
        ...

    async def rest(self, seconds: float) -> None:
        """Read on for so long at most, only so that the connection can be used again; nothing where it will not."""
        ...


class StreamPath(Protocol):
    """A way to send streaming requests to one server."""

    @asynccontextmanager
    def post(self, path: str, headers: Mapping[str, str], content: bytes, stall_s: float) -> AsyncIterator[ByteStream]:
        """POST and give the answer once its headers are there, whatever its status; it ends with the context.

        Raises:
            EndpointError: no connection, broken, garbled, or silent for more than ``stall_s`` seconds.
        """
        ...


class MeasuredPath:
    """Streaming requests to one server, each timed from its last byte's way into the socket.

    Connections are as many as there are requests in flight. An idle one is used again within ``keep_s``
    (by default 2 s with TLS, else never). ``near_only``: as ``places_of``.
    """

    def __init__(
        self,
        address: Address,
        clock: Clock,
        tls: ssl.SSLContext,
        keep_s: float | None = None,
        *,
        near_only: bool = False,
    ) -> None:
        self._dialler = Dialler(address, tls, clock.monotonic, near_only)
        self._prefix = quote(address.path, safe=_PATH_CHARS)
        self._host = host_header(address)
        self._keep_s = _KEEP_S[address.scheme] if keep_s is None else keep_s
        self._idle: list[tuple[float, Wire]] = []

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], content: bytes, stall_s: float
    ) -> AsyncIterator[ByteStream]:
        """As ``StreamPath.post``. Leaving the context before the answer's end closes the connection at once."""
        wire = await self._answering(self._request(path, headers, content), stall_s)
        try:
            yield _Reads(wire, self._keep_s > 0)
        finally:
            if wire.release():
                self._keep(wire)

    def close(self) -> None:
        """Close idle connections."""
        for _, wire in self._idle:
            wire.abort()
        self._idle.clear()

    async def _answering(self, request: bytes, stall_s: float) -> Wire:
        """A connection whose answer has begun."""
        idle = self._idle_wire()
        if idle is not None:
            try:
                return await _ask(idle, request, stall_s)
            except UnreachableError:
                # Closed by the server before the first byte of an answer: it gave up the idle connection while
                # the request was on its way. Once, and only on a connection used before.
                if idle.answered:
                    raise
        return await _ask(await self._dialler.connect(), request, stall_s)

    def _idle_wire(self) -> Wire | None:
        """The connection used last that is still good; those kept too long are closed."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            since, wire = self._idle.pop()
            if wire.usable and now - since <= self._keep_s:
                return wire
            wire.abort()
        return None

    def _keep(self, wire: Wire) -> None:
        if self._keep_s > 0:
            self._idle.append((asyncio.get_running_loop().time(), wire))
        else:
            wire.abort()

    def _request(self, path: str, headers: Mapping[str, str], content: bytes) -> bytes:
        target = self._prefix + quote(path, safe=_PATH_CHARS + "?")
        lines = [f"POST {target} HTTP/1.1", f"Host: {self._host}", "User-Agent: llmbench-mcp"]
        lines += [f"{name}: {_printable(value)}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(content)}", "", ""]
        return "\r\n".join(lines).encode("latin-1") + content


async def _ask(wire: Wire, request: bytes, stall_s: float) -> Wire:
    try:
        await wire.send(request, stall_s)
        await wire.head()
    except BaseException:  # cancellation too: closed, then raised on
        wire.abort()
        raise
    return wire


class _Reads:
    """A wire's answer as a ByteStream."""

    def __init__(self, wire: Wire, keep: bool) -> None:
        self._wire = wire
        self._keep = keep
        self.deliver = wire.deliver
        self.sent_at = wire.sent_at
        self.status = wire.status
        self.headers = wire.headers

    def reads(self) -> AsyncIterator[tuple[bytes, float]]:
        return self

    async def rest(self, seconds: float) -> None:
        if self._keep and not self._wire.over:
            with anyio.move_on_after(seconds):
                await self._wire.deliver(lambda piece, stamp: True)

    def __aiter__(self) -> AsyncIterator[tuple[bytes, float]]:
        return self

    async def __anext__(self) -> tuple[bytes, float]:
        found = await self._wire.read()
        if found is None:
            raise StopAsyncIteration
        return found


def host_header(address: Address) -> str:
    """RFC 9110 Host: brackets around IPv6, no default port, names in ASCII."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            host = "invalid"  # such a name leads nowhere: connecting says so
    default = 443 if address.scheme == "https" else 80
    return host if address.port == default else f"{host}:{address.port}"


def _printable(value: str) -> str:
    """A header's value. Raises AuthError, since only a credential can be at fault."""
    if value.isascii() and value.isprintable():
        return value
    raise AuthError(
        "The endpoint's credential has characters that no HTTP header can carry.", "Set the credential again."
    )
