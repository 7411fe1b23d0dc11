"""Servers of this machine that nobody has named: a look at the ports where they usually listen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.address import Address, parse_address
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import AuthError, BenchError, ConflictError, EndpointTimeout, StorageError
from llmbench_mcp.services.endpoints import Endpoints, NewEndpoint

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What a look around found: servers added, and why others could not be, by address."""

    added: tuple[Endpoint, ...] = ()
    refused: tuple[tuple[str, BenchError], ...] = ()


class Neighbourhood:
    """Looks at the usual ports of 127.0.0.1, all at once, and adds the inference servers that answer."""

    def __init__(self, endpoints: Endpoints, settings: Settings) -> None:
        self._endpoints = endpoints
        self._settings = settings

    @property
    def ports(self) -> tuple[int, ...]:
        """Where it looks."""
        return self._settings.usual_ports

    async def look(self, known: Sequence[Endpoint], by_agent: bool) -> Neighbours:
        """Add what answers at a port that no known endpoint has. Silence and web pages are no news."""
        taken = {address.port for address in map(_address, known) if address.host in _LOOPBACK}
        added: dict[int, Endpoint] = {}
        refused: dict[int, tuple[str, BenchError]] = {}

        async def one(port: int) -> None:
            url = f"http://127.0.0.1:{port}"
            try:
                with anyio.fail_after(self._settings.discover_timeout_s):
                    found, is_new = await self._endpoints.add(NewEndpoint(url, by_agent=by_agent))
                if is_new:
                    added[port] = found
            except TimeoutError:
                refused[port] = (url, EndpointTimeout(f"Something listens at {url} and does not answer."))
            except (AuthError, EndpointTimeout, ConflictError) as error:
                refused[port] = (url, error)
            except StorageError:
                raise
            except BenchError:
                pass  # nobody there, or no inference server

        async with anyio.create_task_group() as group:
            for port in self.ports:
                if port not in taken:
                    group.start_soon(one, port)
        return Neighbours(
            tuple(added[port] for port in self.ports if port in added),
            tuple(refused[port] for port in self.ports if port in refused),
        )


def _address(endpoint: Endpoint) -> Address:
    return parse_address(endpoint.url)
