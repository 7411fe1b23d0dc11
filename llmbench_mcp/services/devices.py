"""Devices: what memory there is, and which endpoints load into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import DeviceReader
from llmbench_mcp.store.endpoints import EndpointStore


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device reading and the names of the endpoints on it."""

    device: Device
    endpoints: tuple[str, ...]


class Devices:
    """Use cases about devices."""

    def __init__(self, reader: DeviceReader, endpoints: EndpointStore) -> None:
        self._reader = reader
        self._endpoints = endpoints

    async def read(self) -> Sequence[DeviceView]:
        """All devices of this machine, read now."""
        devices = await self._reader.read()
        known = await self._endpoints.all()
        return [DeviceView(d, tuple(e.name for e in known if e.device == d.id)) for d in devices]
