"""Running totals: whatever is done to attempts, they equal a recount."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import Usage
from llmbench_mcp.domain.errors import ConflictError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.attempts import AttemptFilter, AttemptStore
from tests.store.support import (
    OLD_DATA,
    Stores,
    answer,
    assert_totals_are_right,
    failed,
    grade,
    graded,
    make_run,
    old_database,
    stores,
    tasks,
)


async def waiting(all_: Stores, run_id: str) -> list[PlannedAttempt]:
    found = []
    for row in await all_.database.all("run_jobs", run_id):
        found += await all_.work.next_attempts(row["id"], 1)
    return found


async def finish(all_: Stores, run_id: str, n: int) -> None:
    for attempt in (await waiting(all_, run_id))[:1]:
        await all_.work.claim(attempt, "asking")
        outcomes = (
            graded(attempt, grade(True)),
            graded(attempt, grade(False, score=0.25)),
            graded(attempt, replace(grade(False, score=0.5), failure="format"), answer(tokens=None)),
            failed(attempt, "provider_error"),
            failed(attempt, "validator_error", answer("long " * 50)),
        )
        outcome = outcomes[n % 5]
        if outcome.completion is not None:
            await all_.work.grading(attempt, outcome.completion.usage)
        assert await all_.work.finish(outcome)
        assert not await all_.work.finish(outcome)


async def leave_in_flight(all_: Stores, run_id: str, n: int) -> None:
    for attempt in (await waiting(all_, run_id))[:1]:
        await all_.work.claim(attempt, "asking")
        await all_.work.grading(attempt, Usage(7, 7))
        if n % 3 == 0:
            await all_.work.recover()
        if n % 3 == 1:
            await all_.work.release(attempt)


async def wear_out(all_: Stores, run_id: str, n: int) -> None:
    for attempt in (await waiting(all_, run_id))[:1]:
        while await all_.work.claim(attempt, "asking"):
            if n % 2:
                await all_.work.grading(attempt, Usage(7, 7))
            await all_.work.recover()


async def end_job(all_: Stores, run_id: str, n: int) -> None:
    rows = await all_.database.all("run_jobs", run_id)
    job = await all_.work.job(rows[n % len(rows)]["id"])
    await all_.work.job_ended(job, "failed", "gone", "not_available")


async def cancel(all_: Stores, run_id: str, n: int) -> None:
    await all_.runs.request_cancel(run_id, executor_alive=False)


def retry(what: str) -> Callable[[Stores, str, int], Awaitable[None]]:
    async def again(all_: Stores, run_id: str, n: int) -> None:
        old = tasks(3)[n % 3]
        mended = replace(old, validation={**old.validation, "expected_answer": n})
        changed: dict[str, Task] = {old.content_hash(): mended} if what == "regrade" and n % 2 else {}
        with suppress(ConflictError):
            await all_.retries.retry(run_id, what, changed)  # type: ignore[arg-type]  # one of the three

    return again


async def regrade(all_: Stores, run_id: str, n: int) -> None:
    for stored in await all_.regrades.next(1 + n % 2):
        new = graded(stored.attempt, grade(n % 3 != 0, version=str(n % 4)))
        await all_.regrades.finish(stored, failed(stored.attempt, "validator_error") if n % 5 == 0 else new)


STEPS: dict[str, Callable[[Stores, str, int], Awaitable[None]]] = {
    "finish": finish,
    "finish more": finish,
    "leave in flight": leave_in_flight,
    "wear out": wear_out,
    "end job": end_job,
    "cancel": cancel,
    "retry errors": retry("errors"),
    "retry failed": retry("failed"),
    "ask for grading": retry("regrade"),
    "grade again": regrade,
}
steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 1), st.integers(0, 30)), max_size=30)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
async def test_totals_equal_a_recount_after_any_sequence_of_steps(done: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "llmbench.db"
        async with stores(path) as all_:
            runs = [await make_run(all_.runs, models=1 + n, repeats=2 - n) for n in range(2)]
            for name, which, n in done:
                await STEPS[name](all_, runs[which], n)
                assert_totals_are_right(path)


async def all_failed_once(all_: Stores, run_id: str) -> None:
    while left := await waiting(all_, run_id):
        await all_.work.finish(graded(left[0], grade(False)))
    for row in await all_.database.all("run_jobs", run_id):
        await all_.work.job_ended(await all_.work.job(row["id"]), "done", None)


async def test_a_second_look_that_could_not_be_asked_is_no_error_of_the_run(tmp_path: Path) -> None:
    async with stores(tmp_path / "llmbench.db") as all_:
        run_id = await make_run(all_.runs)
        await all_failed_once(all_, run_id)
        await all_.retries.retry(run_id, "failed", {})
        await end_job(all_, run_id, 0)
        run = await all_.runs.get(run_id)
    assert run is not None
    assert (run.state, run.done, run.errors, run.failures) == ("completed", 3, 0, {"wrong_answer": 3})


async def test_an_answer_that_grading_again_could_not_judge_can_be_asked_again_after_a_second_look(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path / "llmbench.db") as all_:
        run_id = await make_run(all_.runs, asked=tasks(1))
        await all_failed_once(all_, run_id)
        await all_.retries.retry(run_id, "failed", {})
        await all_failed_once(all_, run_id)
        await all_.retries.retry(run_id, "regrade", {})
        for stored in await all_.regrades.next(10):
            await all_.regrades.finish(stored, failed(stored.attempt, "validator_error"))
        assert await all_.retries.retry(run_id, "errors", {}) == 1
        (third,) = await waiting(all_, run_id)
    assert (third.tries, third.counted) == (3, 1)


async def test_a_cancelled_run_that_was_graded_again_is_still_cancelled(tmp_path: Path) -> None:
    async with stores(tmp_path / "llmbench.db") as all_:
        run_id = await make_run(all_.runs)
        await finish(all_, run_id, 1)
        await cancel(all_, run_id, 0)
        await all_.retries.retry(run_id, "regrade", {})
        await regrade(all_, run_id, 1)
        run = await all_.runs.get(run_id)
    assert run is not None
    assert (run.state, run.done, run.passed, run.planned) == ("cancelled", 1, 1, 3)


async def test_the_leaderboard_keeps_what_was_graded_when_grading_again_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with stores(path) as all_:
        run_id = await make_run(all_.runs)
        await all_failed_once(all_, run_id)
        await all_.retries.retry(run_id, "regrade", {})
        (first,) = await all_.regrades.next(1)
        await all_.regrades.finish(first, graded(first.attempt, grade(True, version="2")))
        await cancel(all_, run_id, 0)
        assert_totals_are_right(path)
        rows = await all_.database.all("leaderboard_tasks", "own")
    assert sorted((row["validator_version"], row["passed"]) for row in rows) == [("1", 0), ("1", 0), ("2", 1)]


@pytest.mark.parametrize("old", sorted(OLD_DATA.glob("v*.sql")), ids=lambda path: path.stem)
async def test_totals_of_an_older_database_are_right_from_the_start(tmp_path: Path, old: Path) -> None:
    path = tmp_path / "llmbench.db"
    old_database(path, old)
    async with stores(path) as all_:
        assert_totals_are_right(path)
        run = await all_.runs.get("run_more")
        if run is not None:
            assert (run.done, run.errors, run.passed, run.planned) == (3, 1, 1, 6)
            assert run.failures == {"format": 1, "provider_error": 1, "wrong_answer": 1}


async def test_what_older_answers_without_logic_scored_is_known_after_the_upgrade(tmp_path: Path) -> None:
    changed = tmp_path / "v0002.sql"
    script = (OLD_DATA / "v0002.sql").read_text(encoding="utf-8")
    changed.write_text(script.replace("'done',0,0,0.0,NULL,'format'", "'done',0,0,0.5,NULL,'format'"), encoding="utf-8")
    path = tmp_path / "llmbench.db"
    old_database(path, changed)
    async with stores(path) as all_:
        assert_totals_are_right(path)
        suites = [row["suite"] for row in await all_.database.all("suites_with_results")]
        rows = [row for suite in suites for row in await all_.database.all("leaderboard_tasks", suite)]
    assert [row["non_logic_score"] for row in rows if row["non_logic"]] == [0.5]


@pytest.mark.parametrize("old", ["v0002.sql", "v0007.sql"])
async def test_answers_stored_before_compression_are_read_and_graded_again(tmp_path: Path, old: str) -> None:
    path = tmp_path / "llmbench.db"
    old_database(path, OLD_DATA / old)
    async with stores(path) as all_:
        attempts = AttemptStore(all_.database)
        first, fourth = await attempts.get("run_more", 1), await attempts.get("run_more", 4)
        assert first is not None
        assert fourth is not None
        assert (first.completion_text, first.reasoning_text) == ("The answer is 4.", "Two and two.")
        assert fourth.completion_text == "Fünf 🙂"
        records, _ = await attempts.page("run_more", AttemptFilter(failure="wrong_answer"), 10, 0)
        assert records[0].facts["findings"] == ["expected 4, got 5"]
        await all_.retries.retry("run_more", "regrade", {})
        stored = await all_.regrades.next(10)
        assert {s.attempt.id: (s.completion.text, len(s.completion.tool_calls)) for s in stored}["am2"] == ("5", 1)
        for one in stored:
            await all_.regrades.finish(one, graded(one.attempt, grade(True)))
        assert_totals_are_right(path)
