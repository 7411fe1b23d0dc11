"""Connections of the measured path: resolving, racing addresses, TLS, and whether a proxy stands between."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

from llmbench_mcp.backends.measured_wire import READ_BYTES, Endings, Shared, Wire
from llmbench_mcp.backends.places import Place, places_of
from llmbench_mcp.backends.transport_errors import Trouble
from llmbench_mcp.domain.address import Address, is_loopback
from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import one_line

CONNECT_S = 5.0
_NEXT_S = 0.25
"""Head start of each address of a host over the next one (RFC 8305)."""


def is_proxied(address: Address) -> bool:
    """Whether the environment names a proxy for this server; never for this machine itself."""
    proxies = getproxies()
    if is_loopback(address.host) or not (proxies.get(address.scheme) or proxies.get("all")):
        return False
    return not proxy_bypass(f"{address.host}:{address.port}")


def tls_context(address: Address, certificate: str | None = None) -> ssl.SSLContext:
    """What verifies the server: the system's authorities, or only the ``certificate`` (PEM text) given for it.

    A pinned certificate is its own proof of who the server is, so its host names do not matter.

    Raises:
        SetupError: the certificate cannot be read.
    """
    if certificate is not None:
        return _pinned(address, certificate)
    local = is_loopback(address.host)
    if local and address.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: it spares plain HTTP the CA bundle
    return httpx2.create_ssl_context(trust_env=not local)


def _pinned(address: Address, certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # trust it though it is no authority
    try:
        context.load_verify_locations(cadata=certificate)
    except (ssl.SSLError, ValueError) as error:
        raise SetupError(
            f"The certificate pinned for {address.base} cannot be read: {one_line(str(error), 120)}.",
            "Give the server's certificate as PEM text.",
        ) from error
    return context


class Dialler:
    """Opens connections to one server."""

    def __init__(
        self, address: Address, context: ssl.SSLContext, now: Callable[[], float], near_only: bool = False
    ) -> None:
        self._address = address
        self._near_only = near_only
        self._context = context if address.scheme == "https" else None
        self._now = now
        self._shared: Shared | None = None
        self.trouble = Trouble(address.base)

    async def connect(self) -> Wire:
        """A connection, TLS included, within CONNECT_S. Raises UnreachableError or EndpointTimeout."""
        try:
            with anyio.move_on_after(CONNECT_S):
                return await self._connect()
        except UnicodeError as error:
            raise self.trouble.no_host() from error
        except OSError as error:
            raise self.trouble.refused(error) from error
        raise self.trouble.not_accepting()

    async def _connect(self) -> Wire:
        host = self._address.host
        shared = self._shared or Shared(self.trouble, self._now, memoryview(bytearray(READ_BYTES)), Endings())
        self._shared = shared
        sock = await _open_socket(await places_of(self._address, self._near_only))
        try:
            _, wire = await asyncio.get_running_loop().create_connection(
                lambda: Wire(shared),
                sock=sock,
                ssl=self._context,
                server_hostname=host if self._context else None,
            )
        except BaseException:  # cancellation too: closed, then raised on
            sock.close()
            raise
        return wire


async def _open_socket(places: Sequence[Place]) -> socket.socket:
    """A socket connected to whichever place answers first. Raises OSError, the first place's."""
    if len(places) == 1:
        return await _try(places[0])
    won: list[socket.socket] = []
    errors: list[OSError] = []

    async def attempt(place: Place, failed: anyio.Event) -> None:
        try:
            won.append(await _try(place))
            group.cancel_scope.cancel()
        except OSError as error:
            errors.append(error)
            failed.set()

    try:
        async with anyio.create_task_group() as group:
            for place in places:
                failed = anyio.Event()
                group.start_soon(attempt, place, failed)
                with anyio.move_on_after(_NEXT_S):
                    await failed.wait()
    except BaseException:  # cancellation too: closed, then raised on
        _close(won)
        raise
    _close(won[1:])
    if not won:
        raise errors[0]
    return won[0]


def _close(sockets: Sequence[socket.socket]) -> None:
    for one in sockets:
        one.close()


async def _try(place: Place) -> socket.socket:
    family, target = place
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(sock, target)
    except BaseException:  # cancellation too: closed, then raised on
        sock.close()
        raise
    return sock
