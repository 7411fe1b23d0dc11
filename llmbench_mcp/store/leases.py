"""Leases: who may write as the executor. A frozen and revived owner finds its fence outdated."""

from __future__ import annotations

import os
from dataclasses import dataclass

from llmbench_mcp import __version__
from llmbench_mcp.domain.clock import boot_id, is_running, process_space
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Database, Row, Transaction


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof of ownership: what every write of the holder carries."""

    scope: str
    owner: str
    fence: int

    @property
    def key(self) -> tuple[str, str, int]:
        """(scope, owner, fence)."""
        return (self.scope, self.owner, self.fence)


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease as others see it. ``host`` is the process space that ``pid`` belongs to.

    ``overdue``: it ran out, was not given up, and its holder's process lives.
    """

    owner: str
    pid: int
    host: str
    version: str
    acquired_at: str
    alive: bool
    overdue: bool = False


class LeaseStore:
    """Acquire, renew, release and look at leases. Expiry is monotonic time of one boot.

    A holder whose process has ended holds nothing, whatever the time.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def acquire(self, scope: str, ttl_s: float) -> Lease | None:
        """Take the lease when nobody alive holds it; None when somebody does."""
        async with self._database.transaction() as transaction:
            held = await transaction.one("lease_get", scope)
            if held is not None and is_alive(held, self._clock):
                return None
            lease = Lease(scope, new_id("exec"), 1 + (held["fence"] if held else 0))
            await put(transaction, lease, self._clock, ttl_s)
        return lease

    async def renew(self, lease: Lease, ttl_s: float) -> None:
        """Extend it; one that was released stays so. Raises LeaseLost when another owner has it."""
        async with self._database.transaction(lease.key) as transaction:
            await transaction.run("lease_renew", *lease.key, self._clock.monotonic() + ttl_s)

    async def release(self, lease: Lease) -> None:
        """Give it up; harmless when already lost."""
        async with self._database.transaction() as transaction:
            await transaction.run("lease_release", *lease.key)

    async def release_when_idle(self, lease: Lease) -> bool:
        """Give it up unless a run wants work or a schedule is due: what is queued before this commits is seen, what
        comes after finds no owner."""
        async with self._database.transaction(lease.key) as transaction:
            runs = await transaction.one("runs_unfinished")
            schedules = await transaction.one("schedules_overdue", self._clock.utc_now())
            if (runs and runs["n"]) or (schedules and schedules["n"]):
                return False
            await transaction.run("lease_release", *lease.key)
        return True

    async def view(self, scope: str) -> LeaseView | None:
        """Who holds or last held it."""
        row = await self._database.one("lease_get", scope)
        if row is None:
            return None
        facts = (row["owner"], row["pid"], row["host"], row["version"], row["acquired_at"])
        return LeaseView(*facts, alive=is_alive(row, self._clock), overdue=self._overdue(row))

    def _overdue(self, row: Row) -> bool:
        if row["boot_id"] != boot_id() or row["host"] != process_space():
            return False
        return 0 < row["expires_mono"] <= self._clock.monotonic() and is_running(row["pid"])

    def trouble(self) -> StorageError | None:
        """What keeps leases, and anything else, from being written; None: nothing."""
        return self._database.trouble()


async def put(transaction: Transaction, lease: Lease, clock: Clock, ttl_s: float) -> None:
    """This process holds it from now on."""
    who = (process_space(), boot_id(), os.getpid(), __version__)
    await transaction.run("lease_put", *lease.key, *who, clock.monotonic() + ttl_s, clock.utc_now())


def is_alive(row: Row, clock: Clock) -> bool:
    """Whether the holder of a lease, as stored, still has it."""
    if row["boot_id"] != boot_id() or row["expires_mono"] <= clock.monotonic():
        return False
    return row["host"] != process_space() or is_running(row["pid"])
