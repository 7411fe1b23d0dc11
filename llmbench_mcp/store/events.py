"""A run's history, in the order it happened."""

from __future__ import annotations

import json
from collections.abc import Sequence

from llmbench_mcp.domain.run import RunEvent
from llmbench_mcp.store.database import Database


class EventStore:
    """Reads what ``add_event`` wrote."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str, after_seq: int, limit: int, attempts: bool) -> list[RunEvent]:
        """Up to ``limit`` events after ``after_seq``, oldest first; those of single attempts only with ``attempts``."""
        rows = await self._database.all("run_events", run_id, after_seq, int(attempts), limit)
        return [RunEvent(row["seq"], row["at"], row["kind"], json.loads(row["data"])) for row in rows]

    async def marks(self, run_ids: Sequence[str]) -> dict[str, int]:
        """By run, the number of its newest event; those that have none are left out."""
        rows = {run_id: await self._database.one("run_mark", run_id) for run_id in run_ids}
        return {run_id: row["mark"] for run_id, row in rows.items() if row is not None and row["mark"] is not None}
