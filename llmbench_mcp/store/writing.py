"""Who writes a large run at present: others see by a lease of it whether its writer still lives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Row, Transaction
from llmbench_mcp.store.leases import Lease, is_alive, put

_HOLD_S = 60.0
"""Far longer than one portion takes, the wait for other writers included."""
_UNHELD_S = 900.0
"""A version before these leases writes without one: longer than its largest run takes."""


def _scope(run_id: str) -> str:
    return f"writing:{run_id}"


async def hold(transaction: Transaction, clock: Clock, run_id: str) -> None:
    """This process is at it, and will be heard of again before long."""
    await put(transaction, Lease(_scope(run_id), run_id, 1), clock, _HOLD_S)


async def let_go(transaction: Transaction, run_id: str) -> None:
    """Nobody writes it any more; harmless when nobody did."""
    await transaction.run("lease_remove", _scope(run_id))


def given_up(rows: Sequence[Row], clock: Clock) -> list[str]:
    """Of the runs that are not written whole, those that nobody goes on writing."""
    return [row["id"] for row in rows if not _goes_on(row, clock)]


def _goes_on(row: Row, clock: Clock) -> bool:
    if row["boot_id"] is not None:
        return is_alive(row, clock)
    age = datetime.fromisoformat(clock.utc_now()) - datetime.fromisoformat(row["created_at"])
    return age.total_seconds() < _UNHELD_S
