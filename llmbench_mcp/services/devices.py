"""Devices: what memory there is, which endpoints load into it, and what it showed while work ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.hardware import Device, DeviceSample
from llmbench_mcp.domain.ports import Clock, DeviceReader, ProcessOwners
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.samples import SampleStore

_NEAR = ("127.", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device reading, the names of the endpoints on it, and by pid the endpoint a process belongs to."""

    device: Device
    endpoints: tuple[str, ...]
    owners: Mapping[int, str] = field(default_factory=dict)


class Devices:
    """Use cases about devices."""

    def __init__(
        self,
        reader: DeviceReader,
        endpoints: EndpointStore,
        samples: SampleStore,
        clock: Clock,
        owners: ProcessOwners | None = None,
    ) -> None:
        self._reader = reader
        self._endpoints = endpoints
        self._samples = samples
        self._clock = clock
        self._owners = owners

    async def read(self) -> Sequence[DeviceView]:
        """All devices, read now."""
        devices = await self._reader.read()
        known = await self._endpoints.all()
        names = await self._owned(devices, known)
        return [
            DeviceView(
                device,
                tuple(endpoint.name for endpoint in known if endpoint.device == device.id),
                {process.pid: names[process.pid] for process in device.processes if process.pid in names},
            )
            for device in devices
        ]

    async def history(self, minutes: float, device: str | None = None, limit: int = 1000) -> Sequence[DeviceSample]:
        """What was kept in the last ``minutes``, the newest first."""
        start = datetime.fromisoformat(self._clock.utc_now()) - timedelta(minutes=minutes)
        at = start.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return await self._samples.since(at, device, limit)

    async def _owned(self, devices: Sequence[Device], known: Sequence[Endpoint]) -> Mapping[int, str]:
        """By pid, the name of the endpoint of this machine that the process serves."""
        pids = {process.pid for device in devices for process in device.processes}
        ports = {port: endpoint.name for endpoint in known if (port := _near_port(endpoint)) is not None}
        if self._owners is None or not pids or not ports:
            return {}
        found = await self._owners.owners(pids, set(ports))
        return {pid: ports[port] for pid, port in found.items() if port in ports}


def _near_port(endpoint: Endpoint) -> int | None:
    """The port it listens on, when it is on this machine."""
    parts = urlsplit(endpoint.url)
    return parts.port if (parts.hostname or "").startswith(_NEAR) else None
