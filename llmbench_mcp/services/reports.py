"""Reports: what a run found, as a page that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyio.to_thread import run_sync

from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.services.export_manifest import manifest_of
from llmbench_mcp.services.export_rows import Redactor
from llmbench_mcp.services.report_data import run_part
from llmbench_mcp.services.report_page import report
from llmbench_mcp.services.runs import Runs
from llmbench_mcp.store.exports import ExportStore, SelectedJob
from llmbench_mcp.store.leaderboard import LeaderboardStore

MOST_RUNS, MOST_JOBS = 20, 200


class Reports:
    """Use cases about pages to read."""

    def __init__(
        self, store: ExportStore, boards: LeaderboardStore, runs: Runs, redactor: Redactor, clock: Clock
    ) -> None:
        self._store = store
        self._boards = boards
        self._runs = runs
        self._redactor = redactor
        self._clock = clock

    async def html(self, run_id: str) -> str:
        """One run as a self-contained page: rankings with intervals, then a page per model. Raises NotFoundError."""
        run = await self._runs.get(run_id)
        wanted = Selected((run.id,))
        jobs = await self._store.jobs(wanted)
        manifest = await manifest_of(self._store, wanted, jobs, (), self._clock.utc_now(), self._redactor())
        return (await self.page(jobs, manifest))[0]

    async def page(self, jobs: Sequence[SelectedJob], manifest: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """These jobs as a page, and what of them had no room there."""
        runs = list(dict.fromkeys(job.run_id for job in jobs))[:MOST_RUNS]
        shown = [job for job in jobs if job.run_id in runs][:MOST_JOBS]
        parts = []
        for run_id in dict.fromkeys(job.run_id for job in shown):
            mine = [job for job in shown if job.run_id == run_id]
            parts.append(await run_part(self._store, self._boards, run_id, mine))
        left = len(jobs) - len(shown)
        remarks = (f"{left} jobs had no room in the report: name a run, model or suite",) if left else ()
        return await run_sync(report, parts, manifest, self._redactor()), remarks
