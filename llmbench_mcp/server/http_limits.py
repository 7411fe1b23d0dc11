"""How much at once: bodies, sessions, requests, waiting; and how all of it ends when the server leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from llmbench_mcp.config import Settings
from llmbench_mcp.server.http_auth import HEALTH, asker, refused

BODY_LIMIT = 4 * 1024 * 1024
"""Largest request body, bytes."""
BODIES_LIMIT = 64 * 1024 * 1024
"""Bytes of all bodies that are read at once."""
BODY_S = 30.0
"""Longest a body may take to arrive."""
RETRY_S = 5
"""What ``Retry-After`` says, seconds."""
ROUTES = ("/mcp", "/sse", "/messages/", "/metrics", HEALTH, "/")

_HANDSHAKE_ERAS = (b"2024-", b"2025-")
_DISCONNECT: Message = {"type": "http.disconnect"}
_GONE = refused(503, "This server is stopping. Ask again when it is back.", {"retry-after": str(RETRY_S)})

Kind = Literal["call", "stream", "look"]
"""A request that is answered and done; one that stays open to tell news; a page for people and programs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one server. Times in seconds."""

    sessions: int
    """Sessions of clients before 2026 and open streams of SSE clients, together."""
    requests: int
    """Requests in work at once."""
    idle_s: float
    """A session unused for so long is closed."""
    drain_s: float
    """How long requests in work may go on when the server leaves."""

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """What the settings say."""
        return cls(
            settings.http_max_sessions, settings.http_max_requests, settings.http_session_idle_s, settings.http_drain_s
        )


@dataclass(slots=True)
class Traffic:
    """What goes on now and what has been since the start."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    streams: Counter[str] = field(default_factory=Counter)
    """Open streams by route."""
    askers: Counter[str] = field(default_factory=Counter)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By route and class of status."""
    refused: Counter[str] = field(default_factory=Counter)
    """By reason: sessions, requests, share, body, bodies, slow, leaving."""
    bytes_held: int = 0
    sessions: Callable[[], int] = lambda: 0
    """How many sessions the SDK keeps; SSE clients are streams."""
    leaving: bool = False
    _listening: dict[anyio.CancelScope, Kind] = field(default_factory=dict)

    def open_sessions(self) -> int:
        """Of both kinds of clients before 2026."""
        return self.sessions() + self.streams["/sse"]

    def leave(self) -> None:
        """Take nothing new; end what is open only to tell news."""
        self.leaving = True
        self._end("stream")

    def cut(self) -> None:
        """End everything that is still in work."""
        self.leaving = True
        self._end("stream", "call", "look")

    def _end(self, *kinds: Kind) -> None:
        for scope, kind in list(self._listening.items()):
            if kind in kinds:
                scope.cancel()

    @contextmanager
    def listening(self, kind: Kind) -> Iterator[anyio.CancelScope]:
        """Within the block, the scope is cancelled when a request of that kind shall end."""
        with anyio.CancelScope() as scope:
            self._listening[scope] = kind
            try:
                yield scope
            finally:
                del self._listening[scope]

    @contextmanager
    def counted(self, scope: Scope, kind: Kind, size: int) -> Iterator[None]:
        """Within the block, that request is in work."""
        route, who = route_of(scope["path"]), asker(scope)
        self._add(kind, route, who, 1, size)
        try:
            yield
        finally:
            self._add(kind, route, who, -1, -size)

    def _add(self, kind: Kind, route: str, who: str, count: int, size: int) -> None:
        self.kinds[kind] += count
        self.bytes_held += size
        if kind == "stream":
            self.streams[route] += count
        else:
            self.askers[who] += count


def route_of(path: str) -> str:
    """The route a path belongs to; ``other`` for what there is not, so that strangers make no new names."""
    return path if path in ROUTES else "/messages/" if path.startswith("/messages") else "other"


class Limited:
    """Refuses what is too much, reads bodies within a time, and ends requests when the server leaves."""

    def __init__(self, app: ASGIApp, limits: Limits, traffic: Traffic, several: bool) -> None:
        self._app = app
        self._limits = limits
        self._traffic = traffic
        self._several = several

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await self._app(scope, receive, send)
            return
        kind = kind_of(scope)
        try:
            self._check(scope, kind)
            body = await self._body(scope, receive)
            self._check(scope, kind)  # once more: the body took its time, and the others had theirs
        except _Refused as error:
            await error.response(scope, receive, send)
            return
        with self._traffic.counted(scope, kind, len(body)):
            await self._answer(scope, _Exchange(body, kind, self._traffic, receive, send))

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            if exchange.ended:
                with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                    await exchange.finish(scope)

    def _check(self, scope: Scope, kind: Kind) -> None:
        """Raises _Refused for one too many."""
        if (refusal := self._refusal(scope, kind)) is not None:
            raise _Refused(refusal)

    def _refusal(self, scope: Scope, kind: Kind) -> Response | None:
        traffic, limits = self._traffic, self._limits
        if traffic.leaving:
            return self._no("leaving", 503, "This server is stopping. Ask again when it is back.")
        if _opens_session(scope) and traffic.open_sessions() >= limits.sessions:
            return self._no("sessions", 503, "Too many sessions are open. Close one, or come back later.")
        if kind == "stream":
            # A session may listen to more than one stream.
            full = sum(traffic.streams.values()) >= 2 * limits.sessions + limits.requests
            return self._no("requests", 503, "Too many streams are open. Come back later.") if full else None
        if traffic.kinds["call"] + traffic.kinds["look"] >= limits.requests:
            return self._no("requests", 503, "Too many requests are in work. Come back later.")
        if self._several and traffic.askers[asker(scope)] >= max(1, limits.requests // 2):
            return self._no("share", 429, "Too many of your requests are in work: leave room for the others.")
        return None

    def _no(self, reason: str, status: int, why: str) -> Response:
        self._traffic.refused[reason] += 1
        return refused(status, why, {"retry-after": str(RETRY_S)} if status in (429, 503) else None)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, before anything is done for it. Raises _Refused."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS", "DELETE"):
            return b""
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > BODY_LIMIT:
            raise _Refused(self._no("body", 413, f"The body is larger than {BODY_LIMIT} bytes."))
        with anyio.move_on_after(BODY_S):
            return await self._whole(receive)
        raise _Refused(self._no("slow", 408, f"The body did not arrive within {BODY_S:.0f} s."))

    async def _whole(self, receive: Receive) -> bytes:
        body = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise _Refused(_GONE)  # to nobody
                part = message.get("body", b"")
                self._hold(len(part))
                body += part
                if len(body) > BODY_LIMIT:
                    raise _Refused(self._no("body", 413, f"The body is larger than {BODY_LIMIT} bytes."))
                if not message.get("more_body", False):
                    return bytes(body)
        finally:
            self._traffic.bytes_held -= len(body)

    def _hold(self, size: int) -> None:
        if self._traffic.bytes_held + size > BODIES_LIMIT:
            raise _Refused(self._no("bodies", 503, "Too much is being sent at once. Come back later."))
        self._traffic.bytes_held += size


class _Refused(Exception):
    def __init__(self, response: Response) -> None:
        self.response = response


class _Exchange:
    """One request and its response, which can be ended from outside and is then ended properly."""

    def __init__(self, body: bytes, kind: Kind, traffic: Traffic, receive: Receive, send: Send) -> None:
        self._body: bytes | None = body
        self._kind: Kind = kind
        self._traffic = traffic
        self._receive = receive
        self._send = send
        self._started = self._complete = False
        self.ended = False
        """Whether it was ended from outside: the app was told that the client is gone, and the client waits."""

    async def receive(self) -> Message:
        """The body, then word of the client's going, be that true or not."""
        if self._body is not None:
            message: Message = {"type": "http.request", "body": self._body, "more_body": False}
            self._body = None
            return message
        if self.ended:
            return _DISCONNECT
        with self._traffic.listening(self._kind) as scope:
            return await self._receive()
        self.ended = scope.cancel_called
        return _DISCONNECT

    async def send(self, message: Message) -> None:
        """Hand on a part of the response; what comes after its end is dropped."""
        if self._complete:
            return
        self._started = True
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self, scope: Scope) -> None:
        """Complete the response: a stream just ends, an answer that never began becomes a 503."""
        if not self._started:
            await _GONE(scope, self.receive, self.send)
        elif not self._complete:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})


class Counted:
    """Counts responses by route and class of status."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = route_of(scope["path"])

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._traffic.answered[route, f"{message['status'] // 100}xx"] += 1
            await send(message)

        await self._app(scope, receive, counting)


def kind_of(scope: Scope) -> Kind:
    """What a request is for."""
    if scope["path"] in ("/mcp", "/sse") or scope["path"].startswith("/messages"):
        listens = scope["method"] == "GET" or _header(scope, b"mcp-method") == b"subscriptions/listen"
        return "stream" if listens else "call"
    return "look"


def _opens_session(scope: Scope) -> bool:
    if scope["path"] == "/sse":
        return True
    if scope["path"] != "/mcp" or _header(scope, b"mcp-session-id"):
        return False
    era = _header(scope, b"mcp-protocol-version")
    return not era or era.startswith(_HANDSHAKE_ERAS)


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")
