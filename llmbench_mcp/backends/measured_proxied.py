"""Streaming through a proxy that the environment names: httpx2 knows how, at the price of exactness."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import httpx2

from llmbench_mcp.backends.measured import ByteStream
from llmbench_mcp.backends.measured_connect import CONNECT_S
from llmbench_mcp.backends.measured_wire import STREAM_BYTES, Take
from llmbench_mcp.backends.transport_errors import mapped
from llmbench_mcp.domain.errors import ProtocolError
from llmbench_mcp.domain.ports import Clock


class ProxiedPath:
    """A ``StreamPath`` over an httpx2 client. ``base`` is the server's base URL."""

    def __init__(self, base: str, http: httpx2.AsyncClient, clock: Clock) -> None:
        self._base = base
        self._http = http
        self._clock = clock

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], content: bytes, stall_s: float
    ) -> AsyncIterator[ByteStream]:
        """As ``StreamPath.post``."""
        sent = _SentStamp(self._clock)
        with mapped(self._base):
            request = self._http.build_request(
                "POST",
                self._base + path,
                headers=dict(headers),
                content=content,
                timeout=httpx2.Timeout(stall_s, connect=CONNECT_S),
                extensions={"trace": sent},
            )
            response = await self._http.send(request, stream=True)
            try:
                yield _Chunks(response, sent.at, self._clock)
            finally:
                await response.aclose()


class _SentStamp:
    """httpx2 trace hook: notes when the request body had been handed to the socket."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at: float | None = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("http11.send_request_body.complete", "http11.send_request_body.failed"):
            self.at = self._clock.monotonic()


class _Chunks:
    def __init__(self, response: httpx2.Response, sent_at: float | None, clock: Clock) -> None:
        self._chunks = response.aiter_raw()
        self._clock = clock
        self.sent_at = sent_at
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def reads(self) -> AsyncGenerator[tuple[bytes, float]]:
        total = 0
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                stamp = self._clock.monotonic()
                total += len(chunk)
                if total > STREAM_BYTES:
                    raise ProtocolError(f"The stream grew beyond {STREAM_BYTES} bytes.")
                yield chunk, stamp

    async def deliver(self, take: Take) -> None:
        async with aclosing(self.reads()) as reads:
            async for piece, stamp in reads:
                if not take(piece, stamp):
                    return

    async def rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self.deliver(lambda piece, stamp: True)
