"""A verdict that comes late finds its attempt as it is by then."""

from __future__ import annotations

from pathlib import Path

from tests.store.support import (
    Stores,
    answer,
    assert_totals_are_right,
    failed,
    grade,
    graded,
    make_run,
    stores,
    tasks,
)


async def end(all_: Stores, run_id: str) -> None:
    for row in await all_.database.all("run_jobs", run_id):
        await all_.work.job_ended(await all_.work.job(row["id"]), "done", None)


async def test_one_asked_again_since_its_late_verdict_was_begun_still_counts_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with stores(path) as all_:
        run_id = await make_run(all_.runs, asked=tasks(1))
        (job,) = await all_.database.all("run_jobs", run_id)
        (first,) = await all_.work.next_attempts(job["id"], 1)
        await all_.work.finish(failed(first, "validator_error", answer()))
        await end(all_, run_id)
        await all_.retries.retry(run_id, "regrade", {})
        (late,) = await all_.regrades.next(1)
        await all_.runs.request_cancel(run_id, executor_alive=False)
        await all_.retries.retry(run_id, "errors", {})
        (second,) = await all_.work.next_attempts(job["id"], 1)
        await all_.work.finish(graded(second, grade(True)))
        await end(all_, run_id)
        await all_.retries.retry(run_id, "regrade", {})
        await all_.regrades.finish(late, graded(late.attempt, grade(True)))
        run = await all_.runs.get(run_id)
    assert run is not None
    assert (run.done, run.errors, run.passed, run.failures) == (1, 0, 1, {})
    assert_totals_are_right(path)
