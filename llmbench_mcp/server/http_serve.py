"""Serving the HTTP application: the socket, slow clients, signals, and an orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import anyio
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from llmbench_mcp.config import Settings
from llmbench_mcp.credentials.known import known
from llmbench_mcp.credentials.redact import RedactingFormatter
from llmbench_mcp.domain.errors import InputError, SetupError
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.http import HttpApp, build_http_app
from llmbench_mcp.server.http_auth import HEADER_LIMIT, Access
from llmbench_mcp.server.http_limits import Limits

HEAD_S = 10.0
"""Longest a request's headers may take to arrive, and a new connection may say nothing."""
KEEP_ALIVE_S = 75
_AFTER_CUT_S = 2.0
_MOST_FILES = 8192


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int


def serve_http(
    settings: Settings, address: Address, access: Access, started: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; nothing is written to standard output.

    The first signal lets calls in work go on for a while, the second ends them.

    Args:
        settings: of this server.
        address: where to listen.
        access: who may ask.
        started: called with the base URL once requests are answered.

    Raises:
        InputError: the host is none of this machine.
        SetupError: the port is taken or may not be used.
        StorageError: the data directory or database cannot be used.
    """
    _log_to_stderr(access)
    with closing(listening(address)) as listener:
        fast = {"use_uvloop": find_spec("uvloop") is not None}
        anyio.run(_serve, settings, access, listener, started, backend_options=fast)


async def _serve(settings: Settings, access: Access, listener: socket.socket, started: Callable[[str], None]) -> None:
    holder = AppHolder(settings)
    server = HttpServer(build_http_app(holder, access), Limits.of(settings))
    try:
        await holder.get()  # before anything is promised: what is wrong with the data is told plainly
        _spare_collections()
        async with anyio.create_task_group() as group:
            group.start_soon(_heed_signals, server)
            await server.run(listener, started)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await holder.aclose()


def _spare_collections() -> None:
    """What was made by now stays for good: looking through it again and again would hold every answer up for 75 ms."""
    gc.collect()
    gc.freeze()


async def _heed_signals(server: HttpServer) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            server.leave()


class HttpServer:
    """An application being served on a socket."""

    def __init__(self, http: HttpApp, limits: Limits) -> None:
        self._traffic = http.traffic
        self._limits = limits
        self._server = _Uvicorn(_configured(http, limits))
        self._asked = anyio.Event()

    async def run(self, listener: socket.socket, started: Callable[[str], None]) -> None:
        """Serve until asked to leave; ``started`` gets the base URL once requests are answered."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_start, listener, started)
            group.start_soon(self._cut_later)
            await self._server.serve([listener])
            group.cancel_scope.cancel()

    def leave(self) -> None:
        """Take nothing new, let calls in work go on for a while; asked again, end them now."""
        if self._asked.is_set():
            self._traffic.cut()
        self._asked.set()
        self._traffic.leave()
        self._server.should_exit = True

    async def _cut_later(self) -> None:
        await self._asked.wait()
        await anyio.sleep(self._limits.drain_s)
        self._traffic.cut()

    async def _tell_start(self, listener: socket.socket, started: Callable[[str], None]) -> None:
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.01)
        started(base_url(*listener.getsockname()[:2]))


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: by itself it would end the process by the signal instead of with code 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _configured(http: HttpApp, limits: Limits) -> uvicorn.Config:
    connections = 3 * limits.sessions + limits.requests
    _raise_file_limit(connections)
    return uvicorn.Config(
        http.app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=connections,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(limits.drain_s + _AFTER_CUT_S) + 1,
    )


def base_url(host: str, port: int) -> str:
    """``http://host:port``."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listening(address: Address) -> socket.socket:
    """A bound socket. Raises InputError for a host that is not ours, SetupError for a port that cannot be had."""
    shown = one_line(address.host, 60)
    try:
        family, kind, number, _, where = socket.getaddrinfo(
            address.host.strip("[]"), address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(
            f"The host {shown} is not known.", "Give --host an address of this machine, such as 127.0.0.1."
        ) from error
    listener = socket.socket(family, kind, number)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(512)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise SetupError(
            f"Port {address.port} of {shown} cannot be had: {why}.", "Choose another with --port, or end what has it."
        ) from error
    return listener


def _raise_file_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = min(wanted + 256, _MOST_FILES, hard if hard != resource.RLIM_INFINITY else _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _log_to_stderr(access: Access) -> None:
    redactor = known()
    for secret in access.tokens.secrets:
        redactor.add(secret)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(redactor, "%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)  # basicConfig does nothing: the command line has silenced libraries
    logging.getLogger().setLevel(logging.WARNING)
    for name in ("mcp.server.streamable_http_manager", "mcp.server.sse", "mcp.server.transport_security"):
        logging.getLogger(name).setLevel(logging.ERROR)  # what strangers send is no news
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's, with a time and a size for the headers: it has none of its own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._awaits_head = True
        self._head_size = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """A client may now say something, soon."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Count what comes before the headers are whole."""
        if self._awaits_head:
            self._head_size += len(data)
            self._expect_head()
        super().data_received(data)
        if self._awaits_head and self._head_size > 2 * HEADER_LIMIT and not self.transport.is_closing():
            self.send_400_response("The request's headers are too large.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """White space around a value is no part of it (RFC 9110, 5.5); uvicorn's parser leaves what follows it."""
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """The headers came in time."""
        self._awaits_head = False
        self._forget_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next thing to come are headers; how long it may take to begin is the keep-alive time."""
        super().on_message_complete()
        self._awaits_head = True
        self._head_size = 0

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is expected."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
