"""What the devices showed while work ran."""

from __future__ import annotations

from collections.abc import Sequence

from llmbench_mcp.domain.hardware import Device, DeviceSample
from llmbench_mcp.store.database import Database

_COLUMNS = ("memory_used_bytes", "memory_total_bytes", "utilisation_pct", "temperature_c", "power_w", "energy_j")


class SampleStore:
    """Writing and reading samples."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, at: str, devices: Sequence[Device], fence: tuple[str, str, int] | None = None) -> None:
        """Keep one reading. Raises LeaseLost when the fence does not hold any more."""
        rows = [(at, device.id, *(getattr(device, name) for name in _COLUMNS)) for device in devices]
        async with self._database.transaction(fence) as transaction:
            await transaction.many("sample_insert", rows)

    async def drop_before(self, at: str, fence: tuple[str, str, int] | None = None) -> int:
        """Forget what is older; returns how many samples went."""
        async with self._database.transaction(fence) as transaction:
            return await transaction.run("samples_drop", at)

    async def since(self, at: str, device: str | None = None, limit: int = 1000) -> list[DeviceSample]:
        """The newest first, of one device or all."""
        rows = await self._database.all("samples_since", at, device, limit)
        return [DeviceSample(**row) for row in rows]
