"""Loading, evicting and unloading, on scripted servers that can do so."""

from __future__ import annotations

from pathlib import Path

from llmbench_mcp.domain.run import RunRequest
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working


async def test_models_are_loaded_once_each_and_unloaded_at_the_end(tmp_path: Path) -> None:
    box = server("a", "b", answer=right, can_load=True)
    write_suite(tmp_path, 2, "first", "one")
    write_suite(tmp_path, 2, "second", "two")
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("a", "b"), ("first", "second")))).run.id)
    assert (run.state, run.passed) == ("completed", 8)
    assert box.loads == ["a", "b"]
    assert box.unloads == ["a", "b"]
    assert {job.residency for job in run.jobs} == {"verified"}


async def test_a_model_somebody_else_loaded_is_left_alone(tmp_path: Path) -> None:
    box = server("a", "b", answer=right, can_load=True)
    box.loaded.append("b")
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
    assert box.unloads == ["a"]
    assert box.loaded == ["b"]


async def test_nothing_is_loaded_on_top_of_a_model_that_does_not_leave(tmp_path: Path) -> None:
    box = server("a", "b", answer=right, can_load=True, unload_works=False)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",), keep_loaded=True))).run.id)
        run = await finished(app, (await app.runs.start(RunRequest(("b",), ("sums",)))).run.id)
    assert run.jobs[0].state == "blocked"
    assert "'a' is still loaded" in (run.reason or "")
    assert box.loads == ["a"]


async def test_a_model_that_was_asked_to_stay_stays_after_later_runs_of_it(tmp_path: Path) -> None:
    box = server("a", answer=right, can_load=True)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",), keep_loaded=True))).run.id)
        run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
    assert (run.state, run.passed) == ("completed", 1)
    assert (box.loads, box.unloads, box.loaded) == (["a"], [], ["a"])
