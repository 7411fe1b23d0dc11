"""What was made while results are cleared was not confirmed, so it stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.store.clearing import ClearableJob, ClearingStore
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

_BYTES = ClearingStore.answer_bytes


async def ran(app: App) -> Run:
    return await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)


async def test_a_run_that_ended_after_the_look_that_was_confirmed_is_not_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Run] = []
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await ran(app)
        wanted = Selected(model="m")
        confirm = (await app.clearing.plan(wanted)).confirm

        async def answer_bytes(store: ClearingStore, jobs: Sequence[ClearableJob]) -> int:
            size = await _BYTES(store, jobs)
            made.append(await ran(app))
            return size

        monkeypatch.setattr(ClearingStore, "answer_bytes", answer_bytes)
        with pytest.raises(ConflictError, match="made meanwhile"):
            await app.clearing.clear(wanted, confirm)
        kept = await app.runs.get(made[0].id)
        entry = (await app.leaderboards.query("sums")).entries[0]
    assert (kept.state, kept.passed, entry.tasks_graded) == ("completed", 2, 2)
