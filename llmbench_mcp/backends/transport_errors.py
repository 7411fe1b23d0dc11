"""Connection trouble as httpx2 reports it, turned into the domain's errors."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx2

from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, ProtocolError, UnreachableError
from llmbench_mcp.domain.text import one_line

_START = "Start the server or check the address."
_CHAIN_LIMIT = 20
_BROKEN = ("Server disconnected", "peer closed connection")


class Trouble:
    """What can go wrong between here and one server, in words."""

    def __init__(self, base: str) -> None:
        self._base = base

    def broken(self) -> UnreachableError:
        """The connection ended before the answer did."""
        return UnreachableError(f"The connection to {self._base} broke.", "See whether the server still runs.")

    def silent(self) -> EndpointTimeout:
        """Nothing came for too long."""
        return EndpointTimeout(
            f"{self._base} sent nothing for too long.", "Raise the time limit or look at the server."
        )

    def not_accepting(self) -> EndpointTimeout:
        """No connection within the time for it."""
        return EndpointTimeout(f"{self._base} did not accept a connection in time.", _START)

    def refused(self, error: BaseException) -> UnreachableError:
        """No connection at all; ``error`` is the operating system's or the TLS library's."""
        gone = any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))
        return UnreachableError(f"Nothing answers at {self._base}: {_reason(error)}.", _START, gone)

    def no_host(self) -> UnreachableError:
        """The host's name is none."""
        return UnreachableError(f"{self._base} has no valid host name.", "Check the address.")

    def far(self, addresses: Sequence[str]) -> UnreachableError:
        """The host's name leads where an agent's endpoint may not be."""
        where = ", ".join(one_line(address, 45) for address in addresses[:3])
        return UnreachableError(
            f"{self._base} leads to {where}; an endpoint that an agent added must stay on this machine or a private "
            "network.",
            "Ask the person to run: llmbench-mcp endpoint add URL (or set LLMBENCH_AGENT_ANY_ADDRESS=1).",
        )

    def encoded(self) -> ProtocolError:
        """A body in a content coding that was not asked for."""
        return ProtocolError(f"{self._base} sent a body that cannot be decoded.", _START)

    def garbled(self, said: str) -> ProtocolError:
        """The bytes are no HTTP."""
        return ProtocolError(f"{self._base} does not speak HTTP: {one_line(said, 120)}.", _START)


@contextmanager
def mapped(base: str) -> Iterator[None]:
    """Raise UnreachableError, EndpointTimeout or ProtocolError instead of httpx2's errors."""
    try:
        yield
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise _translate(Trouble(base), error) from error
    except httpx2.InvalidURL as error:
        raise Trouble(base).no_host() from error


def _translate(trouble: Trouble, error: httpx2.RequestError) -> EndpointError:
    if isinstance(error, httpx2.ConnectTimeout):
        return trouble.not_accepting()
    if isinstance(error, httpx2.TimeoutException):
        return trouble.silent()
    if isinstance(error, httpx2.ConnectError):
        return trouble.refused(error)
    if isinstance(error, httpx2.DecodingError):
        return trouble.encoded()
    if isinstance(error, httpx2.RemoteProtocolError) and not str(error).startswith(_BROKEN):
        # Cut off is a quotation of the bytes that came, which may hold a key.
        return trouble.garbled(str(error).partition(": bytearray(")[0])
    return trouble.broken()


def _reason(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, socket.gaierror):
            return "the host name is not known"
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({one_line(cause.reason or str(cause), 120)})"
    for cause in reversed(causes):
        if isinstance(cause, OSError) and cause.strerror:
            return one_line(cause.strerror, 120).lower()
    return one_line(str(error), 120) or "the connection failed"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies behind it, groups opened, bounded."""
    waiting: list[BaseException] = [error]
    for _ in range(_CHAIN_LIMIT):
        if not waiting:
            return
        current = waiting.pop(0)
        yield current
        inside = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        waiting += [*inside, *(e for e in (current.__cause__, current.__context__) if e is not None)]
