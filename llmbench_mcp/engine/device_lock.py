"""One worker per device, whatever process it is in: a lease held while a device is used."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from llmbench_mcp.domain.clock import host_name
from llmbench_mcp.domain.endpoint import HOSTED
from llmbench_mcp.domain.errors import DeviceBusy, LeaseLost, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.leases import Lease, LeaseStore

log = logging.getLogger(__name__)


def lock_scope(device: str, endpoint_id: str) -> str:
    """What is locked: a device of this machine; of hosted servers, each by itself."""
    return f"device:{host_name()}:{device}" if device != HOSTED else f"endpoint:{endpoint_id}"


@asynccontextmanager
async def device_lock(
    leases: LeaseStore, clock: Clock, device: str, endpoint_id: str, ttl_s: float
) -> AsyncIterator[Lease]:
    """Hold the device; the block is cancelled when the lease is lost.

    Raises:
        DeviceBusy: another process holds it; in a group where that took it over, after this one had stood still
            beyond ``ttl_s``.
    """
    lease = await leases.acquire(lock_scope(device, endpoint_id), ttl_s)
    if lease is None:
        raise _busy(device)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep, leases, clock, lease, ttl_s)
            yield lease
            group.cancel_scope.cancel()
    except* LeaseLost:
        held = await leases.view(lease.scope)
        if held is None or held.owner == lease.owner:
            raise  # another lease, that the block's own work is done under
        raise _busy(device) from None
    finally:
        with anyio.move_on_after(5, shield=True):
            await leases.release(lease)


def _busy(device: str) -> DeviceBusy:
    return DeviceBusy(
        f"{device} is in use by another process.", "Wait for its run, or cancel that: run_list (run list)."
    )


async def _keep(leases: LeaseStore, clock: Clock, lease: Lease, ttl_s: float) -> None:
    while True:
        await clock.sleep(ttl_s / 4)
        try:
            await leases.renew(lease, ttl_s)
        except StorageError as error:
            # A lock or a full disk may pass; if not, the lease runs out and the fence stops us.
            log.error("the lease of %s could not be renewed: %s", lease.scope, error)
