"""A leaderboard that was asked for before: the same list while nothing has changed, and never an old one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from llmbench_mcp.store.leaderboard import LeaderboardStore
from tests.store.support import OLD_DATA, assert_totals_are_right, old_database, stores, tasks
from tests.store.test_clearing import HASHES, clear_runs, make


async def test_rows_are_made_anew_only_when_something_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with stores(path) as all_:
        board = LeaderboardStore(all_.database)
        first_run = await make(all_, (2, 1, "rw", False))
        first = await board.rows("own", {}, HASHES)
        assert await board.rows("own", {}, HASHES) is first
        assert await board.rows("other", {}, HASHES) == []
        await make(all_, (1, 1, "r", False))
        grown = await board.rows("own", {}, HASHES)
        assert sum(row.runs for row in grown) == sum(row.runs for row in first) + 1
        assert await board.rows("own", {"a/0": 2.0}, HASHES) is not grown
        assert await board.rows("own", {}, {}) != grown
        await clear_runs(path, all_, [first_run])
        assert sum(row.runs for row in await board.rows("own", {}, HASHES)) == 1


async def test_marks_that_change_places_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with stores(path) as all_:
        await make(all_, (1, 1, "rw", False))
        board = LeaderboardStore(all_.database)
        (before,) = await board.rows("own", {}, HASHES)
        with closing(sqlite3.connect(path)) as plain, plain:
            plain.execute("update scores set passed = 1 - passed, score_sum = 1.25 - score_sum")
        (after,) = await board.rows("own", {}, HASHES)
    assert [1 - task.passed for task in before.tasks] == [task.passed for task in after.tasks]
    assert sum(task.score for task in before.tasks) == sum(task.score for task in after.tasks)


async def test_results_that_are_removed_while_they_are_read_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with stores(path) as all_:
        first, second = await make(all_, (2, 1, "rw", False)), await make(all_, (1, 1, "r", False))

        class Slow(LeaderboardStore):
            async def _labels(self, groups: Any) -> Any:
                if first in left:
                    left.remove(first)
                    await clear_runs(path, all_, [first])
                return await super()._labels(groups)

        left = [first, second]
        rows = await Slow(all_.database).rows("own", {}, HASHES)
        fresh = await LeaderboardStore(all_.database).rows("own", {}, HASHES)
    assert left == [second]
    assert rows == fresh


async def test_few_suites_are_kept(tmp_path: Path) -> None:
    async with stores(tmp_path / "llmbench.db") as all_:
        board = LeaderboardStore(all_.database)
        for number in range(20):
            await board.rows(f"suite{number}", {}, {})
        assert len(board._kept) == 16


async def test_an_older_database_tells_whose_speeds_may_be_this_programs_own(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    old_database(path, OLD_DATA / "speeds_v0016.sql")
    async with stores(path) as all_:
        hashes = {task.id: task.content_hash() for task in tasks(2)}
        rows = await LeaderboardStore(all_.database).rows("own", {}, hashes)
        assert {row.model: row.speed_bound for row in rows} == {"m0": 1, "m1": 0, "m2": 0}
        assert_totals_are_right(path)
