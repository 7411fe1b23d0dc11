"""Unloading what this program left loaded and nobody wants any more."""

from __future__ import annotations

import logging

import anyio

from llmbench_mcp.domain.errors import DeviceBusy
from llmbench_mcp.engine.device_lock import device_lock
from llmbench_mcp.engine.residency import Parts, Residency
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.residency import OwnLoad

log = logging.getLogger(__name__)

_EACH_S = 90.0


async def tidy(parts: Parts, leases: LeaseStore) -> None:
    """Unload every model of ours that was not asked to stay; what is busy or does not leave stays remembered.

    Raises:
        StorageError: the store cannot be used.
    """
    for load in await parts.store.own():
        if load.keep:
            continue
        try:
            with anyio.move_on_after(_EACH_S):
                await _release(parts, leases, load)
        except* DeviceBusy:
            log.info("%s stays loaded: %s is in use", load.served_name, load.device)


async def _release(parts: Parts, leases: LeaseStore, load: OwnLoad) -> None:
    endpoint = await parts.endpoints.find(load.endpoint_id)
    if endpoint is None:
        return
    async with device_lock(leases, parts.clock, endpoint.device, endpoint.id, parts.settings.lease_s) as lease:
        if any(one.key == load.key and one.keep for one in await parts.store.own()):
            return  # asked to stay meanwhile
        backend = parts.backends.open(endpoint)
        try:
            await Residency(parts, lease).release(backend, load.served_name)
        finally:
            with anyio.move_on_after(5, shield=True):
                await backend.aclose()
