"""An attempt that ends one executor after the other is given up; what it kept from being done is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.chat import Usage
from llmbench_mcp.store.attempts import AttemptFilter, AttemptStore
from llmbench_mcp.store.worn_out import MOST_INTERRUPTIONS
from tests.store.support import Stores, assert_totals_are_right, grade, graded, make_run, stores


async def interrupted(all_: Stores, job_id: str, times: int, *, grading: bool) -> None:
    """So many executors began with the job's first attempt and were seen no more."""
    for _ in range(times):
        [attempt] = await all_.work.next_attempts(job_id, 1)
        assert await all_.work.claim(attempt, "asking")
        if grading:
            await all_.work.grading(attempt, Usage(7, 7))
        await all_.work.recover()


@pytest.mark.parametrize(
    ("grading", "when"), [(False, "the model was answering"), (True, "the answer was being graded")]
)
async def test_it_ends_in_an_error_that_says_so(tmp_path: Path, grading: bool, when: str) -> None:
    async with stores(tmp_path / "bench.sqlite3") as all_:
        run_id = await make_run(all_.runs)
        [job, *_] = await all_.database.all("run_jobs", run_id)
        await interrupted(all_, job["id"], MOST_INTERRUPTIONS - 1, grading=grading)
        [still] = await all_.work.next_attempts(job["id"], 1)
        await interrupted(all_, job["id"], 1, grading=grading)

        [following] = await all_.work.next_attempts(job["id"], 1)
        [record], _ = await AttemptStore(all_.database).page(run_id, AttemptFilter(only_failed=True), 10, 0)
        assert_totals_are_right(tmp_path / "bench.sqlite3")
    assert still.id == record.id != following.id
    assert (record.state, record.facts["failure"]) == ("error", "validator_error")
    assert f"{MOST_INTERRUPTIONS} times while {when}" in record.facts["message"]


async def test_asked_again_by_a_person_it_has_as_many_chances_as_before(tmp_path: Path) -> None:
    async with stores(tmp_path / "bench.sqlite3") as all_:
        run_id = await make_run(all_.runs)
        [job, *_] = await all_.database.all("run_jobs", run_id)
        await interrupted(all_, job["id"], MOST_INTERRUPTIONS, grading=True)
        while others := await all_.work.next_attempts(job["id"], 1):
            await all_.work.finish(graded(others[0], grade()))
        await all_.work.job_ended(await all_.work.job(job["id"]), "done", None)
        await all_.retries.retry(run_id, "errors", {})
        await interrupted(all_, job["id"], 1, grading=True)

        [again] = await all_.work.next_attempts(job["id"], 1)
        await all_.work.finish(graded(again, grade()))
        assert_totals_are_right(tmp_path / "bench.sqlite3")
        [view] = [row for row in await all_.database.all("run_jobs", run_id) if row["id"] == job["id"]]
    assert (view["errors"], view["passed"]) == (0, view["planned"])


async def test_what_was_only_beside_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "bench.sqlite3"
    async with stores(path) as all_:
        run_id = await make_run(all_.runs)
        [job, *_] = await all_.database.all("run_jobs", run_id)
        for _ in range(MOST_INTERRUPTIONS):
            [slow, killer] = await all_.work.next_attempts(job["id"], 2)
            assert await all_.work.claim(slow, "asking")
            assert await all_.work.claim(killer, "asking")
            await all_.work.grading(killer, Usage(7, 7))
            await all_.work.recover()
        [first, *others] = await all_.work.next_attempts(job["id"], 9)
        [record], _ = await AttemptStore(all_.database).page(run_id, AttemptFilter(only_failed=True), 10, 0)
    assert (first.id, record.id) == (slow.id, killer.id)
    assert killer.id not in {other.id for other in others}
