"""What is done once a day: the days that ended are summed up, and what was kept long enough is removed."""

from __future__ import annotations

import logging

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.daily import DailySummary, day_of, days_before
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.services.models import Models
from llmbench_mcp.store.retention import RetentionStore
from llmbench_mcp.store.summaries import SummaryStore

log = logging.getLogger(__name__)

LOOK_S = 900.0
"""How often it is looked whether something has to be done."""
_BATCH = 200
_BREATH_S = 0.05
_SUMMARIES, _REMOVAL = "summaries", "removal"


class Upkeep:
    """Use cases about what remains."""

    def __init__(
        self,
        retention: RetentionStore,
        summaries: SummaryStore,
        models: Models,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._models = models
        self._retention = retention
        self._summaries = summaries
        self._settings = settings
        self._clock = clock

    async def look(self) -> None:
        """Do what is due. Raises StorageError; what was done stays done."""
        await self.sum_up()
        last, today = await self._retention.last_done(_REMOVAL), day_of(self._clock.utc_now())
        if self._settings.keep_days and (last is None or day_of(last) != today):
            await self.remove()
            await self._retention.done(_REMOVAL, self._clock.utc_now())

    async def sum_up(self) -> None:
        """Write the summaries of the days that have ended since the last time."""
        today = day_of(self._clock.utc_now())
        first = await self._unwritten()
        if first is not None and first < today:
            await self._summaries.write(first, today)
            await self._retention.done(_SUMMARIES, today)

    async def _unwritten(self) -> str | None:
        """The first day that is not summed up yet."""
        return await self._retention.last_done(_SUMMARIES) or await self._summaries.first_day()

    async def remove(self) -> int:
        """Remove runs that ended more than ``keep_days`` ago, a little at a time; returns how many."""
        before = days_before(self._clock.utc_now(), self._settings.keep_days)
        count = 0
        while runs := await self._retention.outlived(before):
            removed = 0
            for run_id in runs:
                while await self._retention.remove_some(run_id, before, _BATCH):
                    await self._clock.sleep(_BREATH_S)  # who stores results goes first
                removed += await self._retention.remove_run(run_id, before)
            count += removed
            if not removed:
                break
        await self._retention.tidy(before)
        if count:
            log.info("removed %d runs that ended before %s; rankings stay", count, before)
        return count

    async def history(self, key: str, suite: str | None = None, limit: int = 100) -> tuple[str, list[DailySummary]]:
        """A model's name and its days, newest first: those written, and those not yet, today included.

        All that the name ever meant is in it, so that a change of weights shows; a model may be gone by now.

        Raises:
            NotFoundError: no model has or had that name.
        """
        by_id = {model.id: model.name for model in await self._models.all()}
        name = by_id.get(key, key)
        days = await self._days(name, suite, limit)
        return name if days else (await self._models.resolve(key)).name, days

    async def _days(self, model: str, suite: str | None, limit: int) -> list[DailySummary]:
        today, first = day_of(self._clock.utc_now()), await self._unwritten()
        written = await self._summaries.of_model(model, suite, limit)
        if first is None:
            return written
        new = await self._summaries.unwritten(model, first, max(today, first))
        shown = [row for row in new if suite is None or row.suite == suite]
        shown.sort(key=lambda row: (row.suite, row.endpoint))
        shown.sort(key=lambda row: row.day, reverse=True)
        return [*shown, *(row for row in written if row.day < first)][:limit]
