"""What this program loaded where, and how much memory it was seen to take."""

from __future__ import annotations

from dataclasses import dataclass

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Database
from llmbench_mcp.store.leases import Lease


@dataclass(frozen=True, slots=True)
class OwnLoad:
    """A model this program loaded and has not seen leave. ``keep``: somebody wants it to stay.

    ``held_level``: it is listed no more, and its memory is back once the device's use is down to so many bytes.
    """

    endpoint_id: str
    served_name: str
    device: str
    keep: bool
    loaded_at: str
    held_level: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(endpoint id, served name)."""
        return (self.endpoint_id, self.served_name)


class ResidencyStore:
    """Survives the process: the next executor knows what it may unload. Writes carry the device's lease.

    Of an endpoint that was removed meanwhile nothing is kept.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def own(self) -> list[OwnLoad]:
        """Everything loaded by this program, oldest first."""
        rows = await self._database.all("loads_all")
        return [OwnLoad(**{**row, "keep": bool(row["keep"])}) for row in rows]

    async def remember(self, lease: Lease, endpoint_id: str, served_name: str, device: str, keep: bool) -> None:
        """About to load it, or found it loaded by us; once to keep, always. Raises LeaseLost."""
        async with self._database.transaction(lease.key) as transaction:
            now = self._clock.utc_now()
            await transaction.run("load_remember", endpoint_id, served_name, device, int(keep), now)

    async def held(self, lease: Lease, endpoint_id: str, served_name: str, level: int) -> None:
        """It is listed no more, and its memory is still held. Raises LeaseLost."""
        async with self._database.transaction(lease.key) as transaction:
            await transaction.run("load_held", endpoint_id, served_name, level)

    async def forget(self, lease: Lease, endpoint_id: str, served_name: str) -> None:
        """It has left. Raises LeaseLost."""
        async with self._database.transaction(lease.key) as transaction:
            await transaction.run("load_forget", endpoint_id, served_name)

    async def footprint(self, endpoint_id: str, served_name: str) -> int | None:
        """Bytes it took when it was last seen loaded."""
        row = await self._database.one("footprint_get", endpoint_id, served_name)
        return row["memory_bytes"] if row else None

    async def measured(self, lease: Lease, endpoint_id: str, served_name: str, memory_bytes: int) -> None:
        """It takes that many bytes. Raises LeaseLost."""
        async with self._database.transaction(lease.key) as transaction:
            await transaction.run("footprint_put", endpoint_id, served_name, memory_bytes, self._clock.utc_now())
