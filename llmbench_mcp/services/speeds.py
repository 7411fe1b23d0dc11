"""Speed as a run measured it: one row for each model and level of load."""

from __future__ import annotations

from dataclasses import dataclass

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.speed import SpeedFigures, speed_figures
from llmbench_mcp.domain.task import SpeedLimits
from llmbench_mcp.services.suites import Suites
from llmbench_mcp.store.speed import SpeedStore


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One level of load of one job; the limits are those of its suite."""

    model: str
    endpoint: str
    suite: str
    task_id: str
    concurrency: int
    limits: SpeedLimits
    figures: SpeedFigures


class Speeds:
    """Use cases about speed."""

    def __init__(self, store: SpeedStore, suites: Suites) -> None:
        self._store = store
        self._suites = suites

    async def of_run(self, run_id: str) -> list[SpeedRow]:
        """In the order asked; empty for a run that measured no speed, or that does not exist."""
        rows = []
        for level in await self._store.levels(run_id):
            limits = await self._limits(level.suite)
            figures = speed_figures(level.timed, level.failed, limits)
            concurrency = level.task.load.concurrency if level.task.load else 1
            rows.append(SpeedRow(level.model, level.endpoint, level.suite, level.task.id, concurrency, limits, figures))
        return rows

    async def _limits(self, suite: str) -> SpeedLimits:
        """As the suite says now: limits judge what was measured, and may be moved afterwards."""
        try:
            return (await self._suites.get(suite)).suite.limits
        except InputError:  # a suite that is no more
            return SpeedLimits()
