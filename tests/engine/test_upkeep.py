"""What remains: daily summaries, removal of old runs, rankings that stay, looks at servers that disturb nobody."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import completion
from tests.support.calendar import DAY, HOUR, at, runs, scheduled, work_off
from tests.support.meters import MeteredCard, metered
from tests.support.rooms import assigned, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, right, working

OLD = Path(__file__).parents[1] / "store" / "data" / "v0001.sql"
OTHER = "http://127.0.0.1:2222"


def noon(clock: JumpingClock) -> None:
    """Set the clock to noon of its day: no test works across midnight."""
    now = datetime.fromisoformat(clock.utc_now())
    clock.set_by_s += (12 - now.hour) * HOUR


async def run_once(app: App, **request: object) -> str:
    started = await app.runs.start(RunRequest(("m",), ("sums",), **request))  # type: ignore[arg-type]  # field names
    await work_off(app)
    return started.run.id


async def left_after_upkeep(app: App, ids: list[str]) -> None:
    """Let an executor live until only these runs are left."""

    async def only_these() -> bool:
        return [run.id for run in (await app.runs.page(100))[0]] == ids

    async with working(app):
        await until(only_these)


def half_right(request: ChatRequest, times: int) -> Completion:
    return right(request, times) if request.prompt.strip().endswith("1") else completion("no idea")


async def test_a_model_has_a_row_for_every_day_it_was_asked_on(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock, box = JumpingClock(), server("m", answer=right)
    noon(clock)
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        first = clock.utc_now()[:10]
        await run_once(app)
        await run_once(app)
        clock.set_by_s += 3 * DAY
        box.answer = half_right
        await run_once(app, repeats=2)
        name, (new, old) = await app.upkeep.history("m")
        assert (name, old.day, new.day) == ("m", first, clock.utc_now()[:10])
        assert (old.suite, old.endpoint, old.graded, old.passed, old.score) == ("sums", "box", 4, 4, 1.0)
        assert (new.graded, new.passed, new.errors, new.score) == (4, 2, 0, 0.5)
        assert (new.decode_tps, new.ttft_s, new.suite_version, new.server_version) == (50.0, 0.1, 1, "1.0")


async def test_a_day_says_the_same_before_and_after_it_is_written(tmp_path: Path) -> None:
    write_suite(tmp_path, 3)
    clock = JumpingClock()
    noon(clock)
    async with at(tmp_path, clock, {URL: server("m", answer=half_right)}) as app:
        await assigned(app, URL)
        await run_once(app)
        before = await app.upkeep.history("m")
        clock.set_by_s += DAY
        await app.upkeep.sum_up()
        assert await app.upkeep.history("m") == before
        await app.upkeep.sum_up()
        assert await app.upkeep.history("m") == before


async def test_runs_with_other_parameters_have_rows_of_their_own(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with at(tmp_path, JumpingClock(), {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        await run_once(app, matrix={"temperature": (0.0, 0.7)})
        _, rows = await app.upkeep.history("m", "sums")
        assert sorted(row.sampling["temperature"] for row in rows) == [0.0, 0.7]
        assert (await app.upkeep.history("m", "other"))[1] == []


async def test_errors_are_no_part_of_a_days_score(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    box = server("m", answer=right)
    async with at(tmp_path, JumpingClock(), {URL: box}, outage_limit_s=1.0) as app:
        await assigned(app, URL)
        started = await app.runs.start(RunRequest(("m",), ("sums",)))
        box.up = False
        async with working(app):
            await finished(app, started.run.id)
        _, (row,) = await app.upkeep.history("m")
        assert (row.graded, row.errors, row.score) == (0, 2, None)


async def test_an_unknown_model_has_no_history(tmp_path: Path) -> None:
    async with at(tmp_path, JumpingClock(), {}) as app:
        with pytest.raises(NotFoundError, match="no model 'q'"):
            await app.upkeep.history("q")


async def test_old_runs_go_and_rankings_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmbench_mcp.services.upkeep._BATCH", 3)
    write_suite(tmp_path, 5)
    clock = JumpingClock()
    noon(clock)
    async with at(tmp_path, clock, {URL: server("m", answer=half_right)}) as app:
        await assigned(app, URL)
        old = [await run_once(app, repeats=2), await run_once(app, repeats=2)]
        clock.set_by_s += 60 * DAY
        new = await run_once(app)
        board, days = await app.leaderboards.query("sums"), await app.upkeep.history("m")
        assert [entry.row.runs for entry in board.entries] == [3]
        clock.set_by_s += 31 * DAY
        await left_after_upkeep(app, [new])
        assert await app.leaderboards.query("sums") == board
        assert await app.upkeep.history("m") == days
        for gone in old:
            with pytest.raises(NotFoundError, match="There is no run"):
                await app.runs.results(gone, AttemptFilter())
        clock.set_by_s += 60 * DAY
        await left_after_upkeep(app, [])
        assert await app.leaderboards.query("sums") == board
        assert await app.leaderboards.suites_with_results() == ["sums"]
        assert await app.upkeep.history("m") == days
        assert len(days[1]) == 2


async def test_results_after_a_removal_are_added_to_what_was(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock, box = JumpingClock(), server("m", answer=right)
    async with at(tmp_path, clock, {URL: box}) as app:
        await assigned(app, URL)
        await run_once(app)
        clock.set_by_s += 91 * DAY
        await left_after_upkeep(app, [])
        box.answer = lambda request, times: completion("no idea")
        await run_once(app)
        (entry,) = (await app.leaderboards.query("sums")).entries
        assert (entry.row.runs, [task.graded for task in entry.row.tasks]) == (2, [2, 2])
        assert [task.pass_rate for task in entry.row.tasks] == [0.5, 0.5]


async def test_energy_in_a_ranking_outlives_the_runs(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    card = MeteredCard()

    def answer(request: ChatRequest, times: int) -> Completion:
        card.use(50.0)
        return right(request, times)

    async with metered(tmp_path, card, server("m", answer=answer), keep_days=1) as app:
        await run_once(app)
        board = await app.leaderboards.query("sums")
        assert board.entries[0].row.joules_per_token == 2.5
        await app.upkeep.remove()
        assert await app.leaderboards.query("sums") == board


async def test_a_warning_about_speeds_outlives_the_runs(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    clock = JumpingClock()
    noon(clock)
    async with at(tmp_path, clock, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        old = [await run_once(app), await run_once(app)]
        with closing(sqlite3.connect(tmp_path / "data" / "llmbench.db")) as plain, plain:
            plain.execute("update jobs set speed_bound = (run_id = ?)", (old[0],))
        clock.set_by_s += 91 * DAY
        board = await app.leaderboards.query("sums")
        await left_after_upkeep(app, [])
        assert await app.leaderboards.query("sums") == board
    (row,) = (entry.row for entry in board.entries)
    assert (row.runs, row.speed_bound) == (2, 1)


async def test_a_removed_result_still_counts_as_run(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = JumpingClock()
    async with at(tmp_path, clock, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        schedule = await scheduled(app, when="daily 12:00")
        await app.schedules.run_now("again")
        await work_off(app)
        clock.set_by_s += 91 * DAY
        await app.upkeep.look()
        assert await runs(app) == []
        found = await app.schedules.preview(schedule)
        assert (found.reasons, found.unchanged) == ((), ("m on box, sums",))


async def test_nothing_is_removed_where_it_is_kept_for_ever(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = JumpingClock()
    async with at(tmp_path, clock, {URL: server("m", answer=right)}, keep_days=0) as app:
        await assigned(app, URL)
        kept = await run_once(app)
        clock.set_by_s += 4000 * DAY
        await app.upkeep.look()
        assert [run.id for run in await runs(app)] == [kept]


async def test_an_old_run_that_is_asked_again_is_not_removed_meanwhile(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    clock = JumpingClock()
    async with at(tmp_path, clock, {URL: server("m", answer=half_right)}) as app:
        await assigned(app, URL)
        run_id = await run_once(app)
        clock.set_by_s += 91 * DAY
        await app.runs.retry(run_id, "regrade")
        await app.upkeep.look()
        await work_off(app)
        assert [(run.id, run.state) for run in await runs(app)] == [(run_id, "completed")]


async def test_results_of_the_first_schema_are_summed_up_and_outlive_their_run(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "llmbench.db")) as plain, plain:
        plain.executescript(OLD.read_text(encoding="utf-8"))
        plain.execute("update runs set finished_at = '2026-01-01T01:00:00.000Z'")
        plain.execute("update attempts set finished_at = '2026-01-01T01:00:00.000Z'")
    async with at(tmp_path, JumpingClock(), {}) as app:
        _, days = await app.upkeep.history("m")
        assert [(day.day, day.graded, day.passed) for day in days] == [("2026-01-01", 2, 1)]
        suite = days[0].suite
        await app.upkeep.look()
        assert await runs(app) == []
        assert await app.upkeep.history("m") == ("m", days)
        assert await app.leaderboards.suites_with_results() == [suite]


async def names(app: App) -> set[str]:
    found, _ = await app.models.page(ModelFilter())
    return {model.name for model in found}


async def test_a_background_look_keeps_away_from_servers_whose_device_is_at_work(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    asked, go_on = anyio.Event(), anyio.Event()

    async def slow(request: ChatRequest, times: int) -> Completion:
        asked.set()
        await go_on.wait()
        return right(request, times)

    boxes = {URL: server("m", answer=slow), OTHER: server("n")}
    async with at(tmp_path, JumpingClock(), boxes, discover_every_s=5.0) as app:
        await assigned(app, URL)
        await app.endpoints.add(NewEndpoint(OTHER, "other", device="nvidia:0"))
        started = await app.runs.start(RunRequest(("m",), ("sums",)))
        async with working(app):
            await asked.wait()
            boxes[URL].models = [*boxes[URL].models, OfferedModel("m2")]
            for round_, served in enumerate(("n1", "n2", "n3")):
                boxes[OTHER].models = [OfferedModel(served)]
                await until(lambda served=served: _knows(app, served))  # type: ignore[misc]  # bound now
                assert "m2" not in await names(app), round_
            go_on.set()
            await finished(app, started.run.id)
            await until(lambda: _knows(app, "m2"))


async def _knows(app: App, name: str) -> bool:
    return name in await names(app)
