"""Where a server's name leads, looked up for each connection and, where it must stay near, checked each time."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

from llmbench_mcp.backends.transport_errors import Trouble
from llmbench_mcp.domain.address import Address, is_agent_reachable

Place = tuple[socket.AddressFamily, tuple[str, int]]


async def places_of(address: Address, near_only: bool = False) -> Sequence[Place]:
    """The socket addresses of a server, at least one.

    ``near_only``: none may lie outside this machine and private networks. What was checked when the server was added
    says nothing of where its name leads now (DNS rebinding).

    Raises:
        UnreachableError: one does.
        OSError: the name is not known; UnicodeError: it is none.
    """
    found = await _found(address.host, address.port)
    if near_only and not is_agent_reachable(where[0] for _, where in found):
        raise Trouble(address.base).far([where[0] for _, where in found])
    return found


async def _found(host: str, port: int) -> Sequence[Place]:
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys((family, place[:2]) for family, _, _, _, place in found))  # type: ignore[misc]  # IP
    return [(socket.AF_INET if number.version == 4 else socket.AF_INET6, (host, port))]
