"""Results of a suite that is gone can still be ranked and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working


async def run(app: App) -> None:
    await finished(app, (await app.runs.start(RunRequest(("m", "n"), ("sums",)))).run.id)


def remove_suites(folder: Path, app: App) -> None:
    (folder / "tasks" / "suites.yaml").write_text("[]", encoding="utf-8")
    app.suites.forget()


async def test_what_a_removed_suite_found_is_ranked_and_compared_as_before(tmp_path: Path) -> None:
    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: server("m", "n", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await run(app)
        before = await app.leaderboards.query("sums")
        remove_suites(tmp_path, app)
        after = await app.leaderboards.query("sums")
        pair = await app.comparisons.compare("m", "n", "sums")
        assert await app.leaderboards.suites_with_results() == ["sums"]
        with pytest.raises(NotFoundError, match="no suite 'sum'"):
            await app.leaderboards.query("sum")
    assert before.remark is None
    assert after.entries == before.entries
    assert (after.suite.suite.version, len(after.suite.tasks)) == (1, 4)
    assert after.remark == "the suite is no longer here; tasks are taken as last asked, all of weight 1"
    assert (pair.shared, pair.remarks.count(after.remark)) == (4, 1)


async def test_a_task_that_was_changed_counts_as_it_was_last_asked(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    box = server("m", "n", answer=right)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await run(app)
        changed = tmp_path / "tasks" / "own" / "q01.md"
        changed.write_text(
            changed.read_text(encoding="utf-8").replace("Question 1", "New question 1"), encoding="utf-8"
        )
        app.suites.forget()
        box.answer = lambda request, times: completion("no idea")
        await run(app)
        remove_suites(tmp_path, app)
        board = await app.leaderboards.query("sums")
    # One task new and wrong; the other right and then wrong.
    for entry in board.entries:
        assert [(task.task_id, task.graded, task.pass_rate) for task in entry.row.tasks] == [
            ("own/q01", 1, 0.0),
            ("own/q02", 2, 0.5),
        ]


async def test_a_removed_suite_of_which_nothing_ended_has_an_empty_ranking(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", "n", answer=right)}) as app:
        await assigned(app, URL)
        await app.runs.start(RunRequest(("m", "n"), ("sums",)))
        remove_suites(tmp_path, app)
        board = await app.leaderboards.query("sums")
    assert (board.entries, board.remark is None) == ((), False)
