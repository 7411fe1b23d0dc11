"""One HTTP/1.1 connection of the measured path: every read is stamped as it comes, before its events are parsed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

import httptools

from llmbench_mcp.backends.transport_errors import Trouble
from llmbench_mcp.domain.errors import EndpointError, ProtocolError

STREAM_BYTES = 128 * 1024 * 1024
HEADER_BYTES = 64 * 1024
INFORMATIONAL = 16
"""Most 1xx answers before the real one."""

READ_BYTES = 256 * 1024
QUEUE_BYTES = 128 * 1024
"""Unread bytes at which the socket is read no more until a quarter is left: a slow reader costs no memory."""

Take = Callable[[bytes, float], bool]
"""Is given the body bytes of one socket read and their stamp; False wants no more."""

_ENTRY_BYTES = 128
"""What a queued read takes beside its bytes."""


_IDLE, _HEAD, _BODY, _OVER = range(4)
"""Stages of an exchange: none, no status yet, within the body, whole."""


class Endings:
    """Wakes whoever waits for the end of a stream, one a turn of the event loop.

    What is left to do about a finished answer takes as long as many reads. When hundreds end together, doing all of
    it at once would let the last events of the others wait, and so stamp them late.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when it is its turn: at once, unless others wait."""
        self._waiting.append(wake)
        if len(self._waiting) == 1:
            self._next()

    def _next(self) -> None:
        self._waiting[0]()
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._waiting.popleft()
        if self._waiting:
            self._next()


class Shared(NamedTuple):
    """What the connections of one event loop to one server have in common.

    ``now`` stamps. ``buffer`` takes what a socket read brings until it has been parsed, which is at once: an event
    loop that makes a new one for each read spends a third of its time on that.
    """

    trouble: Trouble
    now: Callable[[], float]
    buffer: memoryview
    endings: Endings


class Wire(asyncio.BufferedProtocol):
    """Carries one exchange at a time: ``send``, ``head``, then ``read`` until it gives None.

    Silence is measured on the loop's own clock, which need not agree with the one that stamps.
    """

    def __init__(self, shared: Shared) -> None:
        self._trouble, self._now, self._buffer, self._endings = shared
        self._loop = asyncio.get_running_loop()
        self._lost = False
        self._parser = httptools.HttpResponseParser(self)
        self._reset(_IDLE)

    def _reset(self, stage: int) -> None:
        self._stage = stage
        self._reads: deque[tuple[bytes, float]] = deque()
        self._queued = 0
        self._total = 0
        self._taker: Take | None = None
        self._pieces: list[bytes] = []
        self._stamp: float | None = None
        self._head_bytes = 0
        self._informational = 0
        self._until_close = False
        self._keep = False
        self._paused = False
        self._fault: EndpointError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self.status = 0
        self.headers: dict[str, str] = {}
        self.answered = False
        self.sent_at = 0.0

    # --- what the exchange's owner calls

    @property
    def usable(self) -> bool:
        """Whether another exchange may be sent."""
        return self._stage == _IDLE and not self._lost

    @property
    def over(self) -> bool:
        """Whether the answer is whole."""
        return self._stage == _OVER

    @property
    def _unanswered(self) -> bool:
        return self._stage == _HEAD and not self._fault

    async def send(self, request: bytes, stall_s: float) -> None:
        """Write the whole request and stamp ``sent_at`` when its last byte has been handed to the socket.

        ``stall_s`` limits every silence from here on; ``head`` and ``read`` tell what went wrong.
        """
        self._reset(_HEAD)
        self._stall_s = stall_s
        self._active_at = self._loop.time()
        self._unsent = 0
        self._watch = self._loop.call_later(stall_s, self._look)
        if self._lost:
            self._fail(self._trouble.broken())
        else:
            self._transport.write(request)
        while self._unanswered and self._transport.get_write_buffer_size():
            await self._wait()
        self.sent_at = self._now()

    async def head(self) -> None:
        """Wait for status and headers. Raises EndpointError subclasses."""
        while self._unanswered:
            await self._wait()
        if self._stage == _HEAD and self._fault:
            raise self._fault

    async def read(self) -> tuple[bytes, float] | None:
        """The body bytes of one socket read and its stamp; None at the end. Raises EndpointError subclasses."""
        while not self._reads:
            if self._fault:
                raise self._fault
            if self._stage == _OVER:
                return None
            await self._wait()
        return self._next()

    def _next(self) -> tuple[bytes, float]:
        found = self._reads.popleft()
        self._queued -= len(found[0]) + _ENTRY_BYTES
        if self._paused and self._queued <= QUEUE_BYTES // 4:
            self._paused = False
            self._active_at = self._loop.time()
            if not self._lost:
                self._transport.resume_reading()
        return found

    async def deliver(self, take: Take) -> None:
        """Hand every read to ``take`` as it comes, without waking a task for it, to the end or until it is content.

        ``take`` runs within the event loop's own callback: it must be quick and may raise EndpointErrors only, which
        come out here like all others.
        """
        while self._reads:
            if not take(*self._next()):
                return
        self._taker = take
        try:
            while self._taker is not None and not self._fault and self._stage != _OVER:
                await self._wait()
            if self._taker is not None and self._fault:
                raise self._fault
        finally:
            self._taker = None

    def release(self) -> bool:
        """End the exchange; False when the connection cannot carry another one and was closed."""
        self._unwatch()
        if self._keep and not self._lost and not self._reads and not self._transport.get_write_buffer_size():
            self._reset(_IDLE)
            return True
        self.abort()
        return False

    def abort(self) -> None:
        """Close at once, whatever is in flight."""
        self._unwatch()
        if not self._lost:
            self._transport.abort()

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- silence

    def _look(self) -> None:
        """Fail after ``stall_s`` of silence; a full queue or a request still being taken is none."""
        self._watch = None
        if self._fault or self._stage == _OVER:
            return
        unsent = self._transport.get_write_buffer_size()
        if self._paused or self._reads or unsent != self._unsent:
            self._active_at = self._loop.time()
        self._unsent = unsent
        left = self._active_at + self._stall_s - self._loop.time()
        if left <= 0:
            self._fail(self._trouble.silent())
        else:
            self._watch = self._loop.call_later(left, self._look)

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _fail(self, fault: EndpointError) -> None:
        if self._stage != _OVER and not self._fault:
            self._fault = fault
            self._unwatch()
        self._keep = False
        self._wake()

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep no request bytes back: with a limit of 0 they go to the socket within ``write``."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its bases
        self._transport.set_write_buffer_limits(high=0)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next read goes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """One read of the socket."""
        if (self._stage != _BODY or self._fault) and not self._expected(nbytes):
            return
        self._active_at = self._loop.time()
        self._stamp = None
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except httptools.HttpParserUpgrade:
            self._fail(self._trouble.garbled("another protocol"))
        except httptools.HttpParserError as error:
            self._fail(self._trouble.garbled(str(error)))
        if self._pieces:
            self._pass_on()
        elif self._stage == _HEAD and self._head_bytes > HEADER_BYTES:
            self._fail(self._trouble.garbled("endless headers"))
        if self._fault or self._stage == _OVER:
            self._endings.add(self._wake)
        elif self._taker is None:
            self._wake()

    def _expected(self, nbytes: int) -> bool:
        """Whether bytes outside a sound body may come now."""
        if self._fault or self._stage != _HEAD:
            self._keep = False  # an answer nobody asked for, or the rest of one given up
            self._transport.abort()
            return False
        self.answered = True
        self._head_bytes += nbytes
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The end of a body without length, else trouble for the exchange in flight."""
        self._lost = True
        if self._stage == _BODY and self._until_close and error is None:
            self._stage = _OVER
        self._fail(self._trouble.broken())
        del self._parser  # it holds this object's methods: without it nothing waits for the collector

    def resume_writing(self) -> None:
        """The socket has taken the rest of the request."""
        self._wake()

    def _pass_on(self) -> None:
        """Give what one read brought, under its stamp, to whoever takes it or into the queue."""
        whole = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._total += len(whole)
        assert self._stamp is not None, "the first piece was stamped"
        if self._total > STREAM_BYTES:
            self._fault = ProtocolError(f"The stream grew beyond {STREAM_BYTES} bytes.")
        elif self._taker is not None:
            self._give(self._taker, whole, self._stamp)
        else:
            self._reads.append((whole, self._stamp))
            self._queued += len(whole) + _ENTRY_BYTES
            if self._queued > QUEUE_BYTES and not self._paused:
                self._paused = True
                self._transport.pause_reading()

    def _give(self, take: Take, whole: bytes, stamp: float) -> None:
        try:
            content = not take(whole, stamp)
        except EndpointError as error:
            self._fault = error
            return
        if content:
            self._taker = None
            self._endings.add(self._wake)

    # --- what the parser calls; whatever these raised would come back as a parser's error, so they raise nothing

    def on_message_begin(self) -> None:
        """An answer, or one too many."""
        if self._stage != _HEAD:
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which nobody needs."""
        if self._stage == _HEAD:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Status and headers are there; 1xx ones do not count."""
        if self._stage != _HEAD:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._stage = _BODY
            chunked = self.headers.get("transfer-encoding", "").lower().endswith("chunked")
            self._until_close = not chunked and "content-length" not in self.headers

    def on_body(self, piece: bytes) -> None:
        """Body bytes, the transfer coding taken off. Nothing has looked into them when they are stamped."""
        if self._stage == _BODY:
            if self._stamp is None:
                self._stamp = self._now()
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """The answer is whole, or was a 1xx."""
        if self._stage == _BODY:
            self._stage = _OVER
            self._keep = self._parser.should_keep_alive()
        elif self._stage == _HEAD:
            self.headers.clear()
            self._informational += 1
            if self._informational > INFORMATIONAL:
                self._fail(self._trouble.garbled("endless 1xx answers"))
