"""Large runs are written in portions: what happens to one before the last of them, and when its writer is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.errors import ConflictError, StorageError
from llmbench_mcp.domain.run import Run, RunFilter, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.store.runs import RunStore
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, is_in_state, right, working

OTHER_URL = "http://127.0.0.1:2222"
Portions = Iterator[list[tuple[object, ...]]]

REASON = "interrupted while it was being written: start it again"
REQUEST = RunRequest(("m",), ("sums",), idempotency_key="once")

_REST: Any = RunStore._write_rest


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmbench_mcp.store.runs.PORTION", 2)


async def the_run(app: App) -> Run:
    return (await app.runs.page(1))[0][0]


@asynccontextmanager
async def ready(folder: Path) -> AsyncIterator[App]:
    """A model that is assigned, and a suite of five tasks."""
    write_suite(folder, 5)
    async with opened(folder, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        yield app


def after_one_portion(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """What happens, the first time, between the second and the third portion of a run."""

    def portions(given: Portions) -> Portions:
        yield next(given)
        monkeypatch.setattr(RunStore, "_write_rest", _REST)
        happens()
        yield from given

    async def write_rest(store: RunStore, run_id: str, given: Portions) -> None:
        await _REST(store, run_id, portions(given))

    monkeypatch.setattr(RunStore, "_write_rest", write_rest)


async def test_one_cancelled_before_all_was_written_is_to_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ready(tmp_path) as app, working(app):

        async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
            await app.runs.cancel(run_id)
            monkeypatch.setattr(RunStore, "_write_rest", _REST)
            await _REST(store, run_id, portions)

        monkeypatch.setattr(RunStore, "_write_rest", write_rest)
        run = (await app.runs.start(REQUEST)).run
        assert (run.state, run.reason) == ("cancelled", "cancelled on request")
        with pytest.raises(ConflictError, match="run start"):
            await app.runs.retry(run.id, "errors")
        again = await app.runs.start(REQUEST)
        assert again.created
        assert (await finished(app, again.run.id)).passed == 5


async def assert_it_is_told_and_made_anew(app: App) -> None:
    run = await the_run(app)
    assert (run.state, run.reason, run.planned, run.done) == ("cancelled", REASON, 5, 0)
    with pytest.raises(ConflictError, match="run start"):
        await app.runs.retry(run.id, "errors")
    again = await app.runs.start(REQUEST)
    assert again.created
    async with working(app):
        assert (await finished(app, again.run.id)).passed == 5


async def test_one_that_could_not_be_written_whole_says_so_and_its_key_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StorageError("The disk is full.")

    after_one_portion(monkeypatch, fail)
    async with ready(tmp_path) as app:
        with pytest.raises(StorageError):
            await app.runs.start(REQUEST)
        await assert_it_is_told_and_made_anew(app)


async def test_one_whose_caller_went_away_meanwhile_says_so_and_its_key_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ready(tmp_path) as app:
        with anyio.CancelScope() as scope:
            after_one_portion(monkeypatch, scope.cancel)
            await app.runs.start(REQUEST)
        assert scope.cancelled_caught
        await assert_it_is_told_and_made_anew(app)


async def test_one_being_written_says_how_far_and_its_key_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, ids = [], []
    async with ready(tmp_path) as app, anyio.create_task_group() as group:
        asked = anyio.Event()
        is_being_written = RunStore.is_being_written

        async def look(store: RunStore, run_id: str) -> bool:
            asked.set()
            return await is_being_written(store, run_id)

        async def start_too() -> None:
            ids.append((await app.runs.start(REQUEST)).run.id)

        async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
            told.append(await the_run(app))
            told.append(await app.runs.status(run_id))
            with pytest.raises(ConflictError, match="not over"):
                await app.runs.retry(run_id, "errors")
            group.start_soon(start_too)
            with anyio.fail_after(30):
                await asked.wait()
            assert not ids
            await _REST(store, run_id, portions)

        monkeypatch.setattr(RunStore, "is_being_written", look)
        monkeypatch.setattr(RunStore, "_write_rest", write_rest)
        run = (await app.runs.start(REQUEST)).run
    assert [(one.state, one.reason) for one in told] == [("queued", "being written: 2 of 5")] * 2
    assert (run.reason, ids) == (None, [run.id])


async def test_one_given_up_while_another_waits_for_it_is_made_by_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    async with ready(tmp_path) as app, anyio.create_task_group() as group:
        asked = anyio.Event()
        is_being_written = RunStore.is_being_written

        async def look(store: RunStore, run_id: str) -> bool:
            asked.set()
            return await is_being_written(store, run_id)

        async def start_too() -> None:
            started.append(await app.runs.start(REQUEST))

        async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
            monkeypatch.setattr(RunStore, "_write_rest", _REST)
            group.start_soon(start_too)
            with anyio.fail_after(30):
                await asked.wait()
            raise StorageError("The disk is full.")

        monkeypatch.setattr(RunStore, "is_being_written", look)
        monkeypatch.setattr(RunStore, "_write_rest", write_rest)
        with pytest.raises(StorageError):
            await app.runs.start(REQUEST)
    assert [(one.created, one.run.reason) for one in started] == [(True, None)]


@pytest.mark.parametrize("older", [False, True], ids=["", "by an older version"])
async def test_one_that_is_not_written_on_is_ended_by_an_executor_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    async def nothing(*arguments: object) -> None:
        pass

    async def write_rest(store: RunStore, run_id: str, portions: Portions) -> None:
        raise ConnectionAbortedError("the writer is gone")

    monkeypatch.setattr(RunStore, "_write_rest", write_rest)
    monkeypatch.setattr(RunStore, "_give_up", nothing)
    monkeypatch.setattr("llmbench_mcp.store.writing._UNHELD_S", 20.0)
    if older:
        monkeypatch.setattr("llmbench_mcp.store.runs.hold", nothing)
    async with ready(tmp_path) as app, working(app):
        with pytest.raises(ConnectionAbortedError):
            await app.runs.start(REQUEST)
        run_id = (await app.runs.listed(RunFilter()))[0][0].run.id

        async def ended() -> bool:
            return await is_in_state(app, run_id, "cancelled")

        await until(ended)
        assert (await app.runs.get(run_id)).reason == REASON


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
