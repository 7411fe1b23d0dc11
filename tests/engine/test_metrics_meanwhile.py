"""Counters for monitoring count every attempt once, also those that end during a look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.store.database import Database
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, has_done, right, working

TASKS = 3
_LOOK = Database.look


async def test_speeds_of_attempts_that_end_between_two_parts_of_a_look_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, looks, run_id = anyio.Event(), 0, ""

    async def answer(request: ChatRequest, times: int) -> Completion:
        if not request.prompt.strip().endswith("1"):
            await go_on.wait()
        return right(request, times)

    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):

        async def look(database: Database, *queries: tuple[Any, ...]) -> list[list[dict[str, Any]]]:
            nonlocal looks
            looks += queries[0][0].startswith("metrics_")
            if looks == 2 and not go_on.is_set():
                go_on.set()
                await finished(app, run_id)
            return await _LOOK(database, *queries)

        await assigned(app, URL)
        await app.metrics.look()
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: has_done(app, run_id, 1))
        monkeypatch.setattr(Database, "look", look)

        async def all_counted() -> bool:
            """A look is at most a second old."""
            return sum((await app.metrics.look()).totals.attempts.values()) == TASKS

        await until(all_counted)
        totals = (await app.metrics.look()).totals
    assert go_on.is_set()
    assert [sums.decode_n for sums in totals.speeds.values()] == [TASKS]
