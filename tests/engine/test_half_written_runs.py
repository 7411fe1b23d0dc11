"""Large runs are written in portions: what happens to one before the last of them, and when its writer is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.store.runs import RunStore
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

OTHER_URL = "http://127.0.0.1:2222"
Portions = Iterator[list[tuple[object, ...]]]

_REST: Any = RunStore._write_rest


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmbench_mcp.store.runs.PORTION", 2)


async def the_run(app: App) -> str:
    return (await app.runs.page(1))[0][0].id


async def test_one_cancelled_before_all_was_written_can_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):

        async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
            await app.runs.cancel(run_id)
            await _REST(store, run_id, portions)

        monkeypatch.setattr(RunStore, "_write_rest", write_rest)
        await assigned(app, URL)
        run = (await app.runs.start(RunRequest(("m",), ("sums",)))).run
        assert run.state == "cancelled"
        await app.runs.retry(run.id, "errors")
        run = await finished(app, run.id)
    assert (run.state, run.passed, run.planned) == ("cancelled", 2, 5)


async def test_nothing_is_left_waiting_of_a_job_that_was_cancelled_before_all_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 3)
    boxes = {URL: server("m", answer=right), OTHER_URL: server("n", answer=right)}
    async with opened(tmp_path, boxes) as app, working(app):

        async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
            await app.runs.cancel_on("nvidia:0", run_id)
            await _REST(store, run_id, portions)

        monkeypatch.setattr(RunStore, "_write_rest", write_rest)
        await app.endpoints.add(NewEndpoint(URL, "one", device="nvidia:0"))
        await app.endpoints.add(NewEndpoint(OTHER_URL, "two", device="nvidia:1"))
        await app.models.discover()
        run_id = (await app.runs.start(RunRequest(("m@one", "n@two"), ("sums",)))).run.id
        run = await finished(app, run_id)
        records, _ = await app.runs.results(run_id, AttemptFilter())
    assert [job.state for job in run.jobs] == ["cancelled", "done"]
    assert [record.state for record in records] == ["cancelled"] * 3 + ["done"] * 3


async def test_one_whose_writer_died_keeps_no_executor_at_work_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
        raise ConnectionAbortedError("the writer is gone")

    monkeypatch.setattr(RunStore, "_write_rest", write_rest)
    monkeypatch.setattr("llmbench_mcp.store.work.MAKING_S", 20.0)
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: server("m", answer=right)}, idle_exit_s=1.0) as app:
        await assigned(app, URL)
        with pytest.raises(ConnectionAbortedError):
            await app.runs.start(RunRequest(("m",), ("sums",)))
        with anyio.fail_after(15):
            await app.executor.run()
        run = await app.runs.get(await the_run(app))
    assert run.state == "cancelled"
