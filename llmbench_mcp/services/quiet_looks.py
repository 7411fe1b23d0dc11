"""Looking at servers in the background: never at one whose device is at work, and no work begins meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import DeviceBusy, LeaseLost, NotFoundError
from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.engine.device_lock import device_lock, lock_scope
from llmbench_mcp.services.discovery import Discovery
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.leases import LeaseStore

log = logging.getLogger(__name__)


class QuietLooks:
    """Discovery that holds each device while it asks the servers on it."""

    def __init__(
        self, discovery: Discovery, endpoints: EndpointStore, leases: LeaseStore, settings: Settings, clock: Clock
    ) -> None:
        self._discovery = discovery
        self._endpoints = endpoints
        self._leases = leases
        self._settings = settings
        self._clock = clock

    async def look(self) -> list[DiscoveryReport]:
        """Look at all known endpoints whose device is not in use. Raises StorageError, in a group."""
        devices: dict[str, list[Endpoint]] = {}
        for endpoint in await self._endpoints.all():
            devices.setdefault(lock_scope(endpoint.device, endpoint.id), []).append(endpoint)
        reports: list[DiscoveryReport] = []

        async def on_device(endpoints: Sequence[Endpoint]) -> None:
            reports.extend(await self._on_device(endpoints))

        async with anyio.create_task_group() as group:
            for endpoints in devices.values():
                group.start_soon(on_device, endpoints)
        return reports

    async def _on_device(self, endpoints: Sequence[Endpoint]) -> list[DiscoveryReport]:
        first, ttl_s = endpoints[0], self._settings.lease_s
        reports: list[DiscoveryReport] = []
        try:
            async with device_lock(self._leases, self._clock, first.device, first.id, ttl_s):
                reports = await self._discovery.look([endpoint.id for endpoint in endpoints])
        except* DeviceBusy:
            log.debug("no look at %s: it is at work", first.device)
        except* (NotFoundError, LeaseLost) as group:
            log.info("the look at %s was given up: %s", first.device, group.exceptions[0])
        return reports
