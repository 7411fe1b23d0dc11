"""Asking the exporters: one bounded GET each, at the same time, never redirected."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence

import anyio
import httpx2

from llmbench_mcp.domain.address import Address
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.exporters import devices
from llmbench_mcp.gpu.reading import Reading

BODY_BYTES = 4 * 1024 * 1024


class ExporterError(Exception):
    """An exporter gave no metrics; the text says why."""


class RemoteReader:
    """Reads the cards of all exporters; one that does not answer is a device of which all is unknown."""

    def __init__(self, exporters: Sequence[Address], limit_s: float) -> None:
        self._exporters = exporters
        self._limit_s = limit_s

    async def read(self) -> Reading:
        """Cards in the order of the exporters; of two that tell the same card, the first counts."""
        found: dict[int, Sequence[Device]] = {}

        async def ask(place: int, exporter: Address) -> None:
            found[place] = await self._cards(exporter)

        async with anyio.create_task_group() as group:
            for place, exporter in enumerate(self._exporters):
                group.start_soon(ask, place, exporter)
        cards: dict[str, Device] = {}
        for _, read in sorted(found.items()):
            for card in read:
                cards.setdefault(card.id, card)
        return Reading(tuple(cards.values()))

    async def _cards(self, exporter: Address) -> Sequence[Device]:
        try:
            with anyio.fail_after(self._limit_s):
                text = await _fetch(exporter)
        except TimeoutError:
            return [_silent(exporter, f"did not answer within {self._limit_s:g} s")]
        except ExporterError as error:
            return [_silent(exporter, str(error))]
        return await anyio.to_thread.run_sync(devices, exporter.host, text) or [
            _silent(exporter, "tells of no NVIDIA card")
        ]


def _silent(exporter: Address, reason: str) -> Device:
    said = f"all: the exporter {_url(exporter)} {reason}"
    return Device(f"remote:{exporter.host}", "GPU exporter", "remote", unknown=(said,))


def _url(exporter: Address) -> str:
    return exporter.base if exporter.path else f"{exporter.base}/metrics"


async def _fetch(exporter: Address) -> str:
    near = _is_loopback(exporter.host)
    plain = exporter.scheme == "http"
    try:
        async with (
            httpx2.AsyncClient(
                follow_redirects=False,
                trust_env=not near,  # a proxy would look for loopback addresses on its own machine
                verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,  # spares plain HTTP the CA bundle
                headers={"Accept": "text/plain", "Accept-Encoding": "identity"},
            ) as client,
            client.stream("GET", _url(exporter)) as response,
        ):
            return await _body(response)
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
        raise ExporterError(f"cannot be read: {one_line(str(error) or type(error).__name__, 120)}") from error


async def _body(response: httpx2.Response) -> str:
    if response.status_code != 200:
        raise ExporterError(f"answers with status {response.status_code}")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_BYTES:
            raise ExporterError(f"sends more than {BODY_BYTES} bytes")
    return body.decode("utf-8", "replace")


def _is_loopback(host: str) -> bool:
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
