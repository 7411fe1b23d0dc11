"""Removing what has been kept long enough, in small steps, without changing what the leaderboards say."""

from __future__ import annotations

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.store.database import Database

_RUNS_AT_ONCE = 50


class RetentionStore:
    """Each step is one short transaction, so that whoever stores a result meanwhile hardly waits."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def last_done(self, chore: str) -> str | None:
        """When that chore was last done, UTC."""
        row = await self._database.one("chore_get", chore)
        return row["done_at"] if row else None

    async def done(self, chore: str, at: str) -> None:
        """It is done as of ``at``."""
        await self._database.write(None, [("chore_done", chore, at)])

    async def outlived(self, before: str) -> list[str]:
        """Some runs that ended before that time, oldest first; none when all are gone."""
        return [row["id"] for row in await self._database.all("runs_outlived", before, _RUNS_AT_ONCE)]

    async def remove_some(self, run_id: str, before: str, limit: int) -> bool:
        """Remove up to ``limit`` attempts with their answers, then so many events; True while any are left.

        A run that was queued again meanwhile is left alone.
        """
        async with self._database.transaction() as transaction:
            if not await transaction.one("run_outlived", run_id, before):
                return False
            for query in ("attempts_remove", "events_remove"):
                if await transaction.run(query, run_id, limit):
                    return True
        return False

    async def remove_run(self, run_id: str, before: str) -> bool:
        """Remove what is left of a run; what rankings are labelled with and counted from is kept. False: not done."""
        async with self._database.transaction() as transaction:
            if not await transaction.one("run_outlived", run_id, before):
                return False
            await transaction.run("removed_jobs_keep", run_id)
            await transaction.run("removed_sums_add", run_id)
            await transaction.run("run_remove", run_id)
        return True

    async def tidy(self, before: str) -> None:
        """Drop what no ranking needs any more, and old lines of the schedules' history."""
        async with self._database.transaction() as transaction:
            await transaction.run("removed_jobs_tidy")
            await transaction.run("schedule_events_drop", before)
