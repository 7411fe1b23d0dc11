"""Removing results: after every portion the totals are right, and at the end nothing tells that they were there."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.store.clearing import ClearableJob, ClearingStore
from llmbench_mcp.store.leaderboard import LeaderboardStore
from llmbench_mcp.store.retention import RetentionStore
from llmbench_mcp.store.summaries import SummaryStore
from llmbench_mcp.testing.clocks import FastClock
from tests.store.support import Stores, assert_totals_are_right, failed, grade, graded, make_run, stores, tasks

ASKED = tasks(4)
HASHES = {task.id: task.content_hash() for task in ASKED}
_RUNS = st.lists(
    st.tuples(
        st.integers(1, 2), st.integers(1, 2), st.lists(st.sampled_from("rwe"), min_size=1, max_size=5), st.booleans()
    ),
    min_size=1,
    max_size=4,
)


async def finish_all(all_: Stores, run_id: str, outcomes: Sequence[str]) -> None:
    """End the run: r is right, w is wrong, e an error, over and over."""
    told = 0
    for row in await all_.database.all("run_jobs", run_id):
        while attempts := await all_.work.next_attempts(row["id"], 1):
            word, told = outcomes[told % len(outcomes)], told + 1
            await all_.work.claim(attempts[0], "asking")
            verdict = graded(attempts[0], grade(word == "r", score=1.0 if word == "r" else 0.25))
            await all_.work.finish(failed(attempts[0], "provider_error") if word == "e" else verdict)
    for row in await all_.database.all("jobs_open"):
        if row["run_id"] == run_id:
            await all_.work.job_ended(await all_.work.job(row["id"]), "done", None)


async def make(all_: Stores, run: tuple[int, int, Sequence[str], bool]) -> str:
    models, repeats, outcomes, again = run
    run_id = await make_run(all_.runs, models, ASKED, repeats)
    await finish_all(all_, run_id, outcomes)
    if again:
        try:
            await all_.retries.retry(run_id, "errors", {})
        except ConflictError:
            return run_id
        await finish_all(all_, run_id, "r")
    return run_id


async def clear_runs(path: Path, all_: Stores, run_ids: Sequence[str]) -> None:
    clearing = ClearingStore(all_.database)
    await remove(path, clearing, await clearing.jobs(Selected(tuple(run_ids))))


async def remove(path: Path, clearing: ClearingStore, jobs: Sequence[ClearableJob]) -> None:
    for job in jobs:
        while await clearing.remove_some(job):
            assert_totals_are_right(path)
        while await clearing.remove_events(job.run_id):
            pass
        await clearing.remove_job(job)
        assert_totals_are_right(path)


async def seen(all_: Stores) -> list[Any]:
    """What rankings and days tell, without what differs between any two runs: ids and times."""
    board = await LeaderboardStore(all_.database).rows("own", {}, HASHES)
    days = await SummaryStore(all_.database).of_model("m0", None, 100)
    rows = [
        (
            row.model,
            row.endpoint,
            row.runs,
            [(t.task_id, t.graded, t.errors, round(t.score, 9), t.passed, t.tokens) for t in row.tasks],
        )
        for row in board
    ]
    found = [(d.graded, d.errors, d.passed, None if d.score is None else round(d.score, 9), d.ttft_s) for d in days]
    return [sorted(rows), found]


async def write_days(all_: Stores) -> None:
    await SummaryStore(all_.database).write("2000-01-01", "2100-01-01")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_RUNS, st.sets(st.integers(0, 3)))
async def test_what_was_cleared_was_never_there_and_done_again_it_is_as_at_first(
    monkeypatch: pytest.MonkeyPatch, runs: list[tuple[int, int, list[str], bool]], chosen: set[int]
) -> None:
    monkeypatch.setattr("llmbench_mcp.store.clearing.PORTION", 3)
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder) / "one.db", Path(folder) / "other.db"
        async with stores(one) as all_, stores(other) as fresh:
            ids = [await make(all_, run) for run in runs]
            await write_days(all_)
            before = await seen(all_)
            await clear_runs(one, all_, [ids[n] for n in chosen if n < len(ids)])
            for n, run in enumerate(runs):
                if n not in chosen:
                    await make(fresh, run)
            await write_days(fresh)
            assert await seen(all_) == await seen(fresh)
            for n in sorted(chosen):
                if n < len(runs):
                    await make(all_, runs[n])
            await write_days(all_)
            assert await seen(all_) == before
            assert_totals_are_right(one)


async def test_a_cleared_run_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with stores(path) as all_:
        run_id = await make(all_, (2, 2, "rwe", True))
        await write_days(all_)
        await clear_runs(path, all_, [run_id])
    with closing(sqlite3.connect(path)) as plain:
        for table in ("runs", "jobs", "attempts", "completions", "events", "scores", "job_failures"):
            assert plain.execute(f"select count(*) from {table}").fetchone() == (0,), table
        for table in ("removed_jobs", "removed_sums", "daily_summaries"):
            assert plain.execute(f"select count(*) from {table}").fetchone() == (0,), table


async def test_rankings_keep_older_results_whose_attempts_were_removed_long_ago(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with stores(path) as all_:
        old = await make(all_, (1, 1, "rw", False))
        retention, far = RetentionStore(all_.database, FastClock()), "2100-01-01"
        new = await make(all_, (1, 1, "r", False))
        while await retention.remove_some(old, far, 10):
            pass
        assert await retention.remove_run(old, far)
        clearing = ClearingStore(all_.database)
        for job in await clearing.jobs(Selected((new,))):
            while await clearing.remove_some(job):
                pass
            await clearing.remove_job(job)
        await retention.tidy("2000-01-01")
        (row,) = await LeaderboardStore(all_.database).rows("own", {}, HASHES)
        assert (row.model, row.runs, [task.graded for task in row.tasks]) == ("m0", 1, [1, 1, 1, 1])
        (group,) = await clearing.groups("m0", None)
        await clearing.remove_group(group, [])
        assert await LeaderboardStore(all_.database).rows("own", {}, HASHES) == []
        assert await clearing.groups("m0", None) == []


async def test_a_run_asked_again_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with stores(path) as all_:
        run_id = await make(all_, (1, 1, "e", False))
        clearing = ClearingStore(all_.database)
        (job,) = await clearing.jobs(Selected((run_id,)))
        await all_.retries.retry(run_id, "errors", {})
        with pytest.raises(ConflictError, match="run_cancel"):
            await clearing.remove_some(job)
        assert_totals_are_right(path)


async def test_the_file_shrinks_when_it_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with stores(path) as all_:
        for _ in range(6):
            await make(all_, (2, 50, "rw", False))
        await all_.database.checkpoint()
        before = path.stat().st_size
        clearing = ClearingStore(all_.database)
        for row in await all_.database.all("runs_page", 100, 0):
            for job in await clearing.jobs(Selected((row["id"],))):
                while await clearing.remove_some(job):
                    pass
                while await clearing.remove_events(job.run_id):
                    pass
                await clearing.remove_job(job)
        freed = await clearing.compact()
        assert freed > before / 3
        assert path.stat().st_size <= before - freed + 4096
