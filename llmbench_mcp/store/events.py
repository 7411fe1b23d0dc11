"""A run's history, in the order it happened."""

from __future__ import annotations

import json

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
