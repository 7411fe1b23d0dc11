"""Doing part of a run again: errors, wrong answers, grading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import ConflictError, PromptTooLong, ServerFault
from llmbench_mcp.domain.run import Run, RunLimits, RunRequest
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import ScriptedServer, completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, is_in_state, right, working

Answer = Callable[[ChatRequest, int], Completion]


def first_time(error_or_wrong: Answer, *questions: int) -> Answer:
    """Right answers, but for some questions something else the first time."""

    def answer(request: ChatRequest, times: int) -> Completion:
        if times == 0 and int(request.prompt.rsplit(" ", 1)[1]) in questions:
            return error_or_wrong(request, times)
        return right(request, times)

    return answer


def too_long(request: ChatRequest, times: int) -> Completion:
    raise PromptTooLong("The prompt has more tokens than the context.")


def wrong(request: ChatRequest, times: int) -> Completion:
    return completion("-1")


async def run_once(app: App, **facts: object) -> Run:
    await assigned(app, URL)
    return await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",), **facts))).run.id)  # type: ignore[arg-type]  # fields


async def test_errors_are_asked_again_and_the_new_try_counts(tmp_path: Path) -> None:
    box = server("a", answer=first_time(too_long, 2, 3))
    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await run_once(app)
        assert (run.done, run.errors, run.failures) == (2, 2, {"truncated_prompt": 2})
        again, count = await app.runs.retry(run.id, "errors")
        assert (count, again.is_over, again.errors) == (2, False, 0)
        run = await finished(app, run.id)
        entry = (await app.leaderboards.query("sums")).entries[0]
        _, total = await app.runs.results(run.id, AttemptFilter())
    assert (run.state, run.done, run.errors, run.passed, run.failures) == ("completed", 4, 0, 4, {})
    assert (entry.pass_rate, entry.tasks_graded, entry.errors) == (1.0, 4, 0)
    assert sum(box.asked.values()) == 6
    assert total == 6


async def test_a_cancelled_run_goes_on_where_it_stopped_when_told_to(tmp_path: Path) -> None:
    box = server("a", answer=right)
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await run_once(app, limits=RunLimits(attempts=2))
        assert (run.state, run.done) == ("cancelled", 2)
        await app.runs.retry(run.id, "errors")
        run = await finished(app, run.id)
    assert (run.state, run.done, run.planned) == ("completed", 5, 5)
    assert sum(box.asked.values()) == 5


async def test_wrong_answers_asked_again_do_not_change_the_score(tmp_path: Path) -> None:
    box = server("a", answer=first_time(wrong, 1, 2))
    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await run_once(app)
        before = (await app.leaderboards.query("sums")).entries[0]
        _, count = await app.runs.retry(run.id, "failed")
        run = await finished(app, run.id)
        after = (await app.leaderboards.query("sums")).entries[0]
        records, _ = await app.runs.results(run.id, AttemptFilter())
    assert count == 2
    assert (run.state, run.done, run.passed, run.failures) == ("completed", 4, 2, {"wrong_answer": 2})
    assert (before.pass_rate, before.tasks_graded) == (after.pass_rate, after.tasks_graded) == (0.5, 4)
    assert [record.facts["passed"] for record in records] == [False, False, True, True, True, True]


async def test_stored_answers_are_graded_by_a_task_that_was_mended(tmp_path: Path) -> None:
    box = server("a", answer=right)
    write_suite(tmp_path, 3)
    broken = tmp_path / "tasks" / "own" / "q02.md"
    sound = broken.read_text(encoding="utf-8")
    broken.write_text(sound.replace('expected_answer: "2"', 'expected_answer: "22"'), encoding="utf-8")
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await run_once(app)
    assert (run.passed, run.failures) == (2, {"wrong_answer": 1})
    broken.write_text(sound, encoding="utf-8")
    async with opened(tmp_path, {URL: box}) as app, working(app):
        _, count = await app.runs.retry(run.id, "regrade")
        run = await finished(app, run.id)
        entry = (await app.leaderboards.query("sums")).entries[0]
    assert count == 3
    assert (run.state, run.done, run.passed, run.failures) == ("completed", 3, 3, {})
    assert (entry.pass_rate, entry.tasks_graded) == (1.0, 3)
    assert sum(box.asked.values()) == 3


async def test_a_run_has_finished_when_its_asking_ended_however_often_it_is_graded_again(tmp_path: Path) -> None:
    write_suite(tmp_path, 3)
    async with opened(tmp_path, {URL: server("a", answer=first_time(too_long, 2))}) as app, working(app):
        first = await run_once(app)
        await app.runs.retry(first.id, "regrade")
        graded = await finished(app, first.id)
        again = (await app.runs.events(first.id))[-1]
        await app.runs.retry(first.id, "errors")
        asked = await finished(app, first.id)
    assert first.finished_at is not None
    assert asked.finished_at is not None
    assert (graded.finished_at, graded.reason, again.kind) == (first.finished_at, "graded again", "completed")
    assert first.finished_at < again.at < asked.finished_at


async def test_cancelling_while_grading_again_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    box = server("a", answer=first_time(wrong, 1))
    write_suite(tmp_path, 3)
    async with opened(tmp_path, {URL: box}) as app:
        async with working(app):
            run = await run_once(app)
        await app.runs.retry(run.id, "regrade")  # no executor works now
        run = await app.runs.cancel(run.id)
    assert (run.state, run.done, run.passed, run.planned) == ("completed", 3, 2, 3)


async def regraded_by_another_answer(folder: Path, box: ScriptedServer) -> tuple[str, Path]:
    """A run of right answers, and the file of its second task, which wants something else by now."""
    write_suite(folder, 3)
    async with opened(folder, {URL: box}) as app, working(app):
        run = await run_once(app)
    task = folder / "tasks" / "own" / "q02.md"
    task.write_text(task.read_text("utf-8").replace('expected_answer: "2"', 'expected_answer: "7"'), "utf-8")
    return run.id, task


async def test_a_verdict_stays_one_of_the_old_version_until_it_is_replaced(tmp_path: Path) -> None:
    run_id, _ = await regraded_by_another_answer(tmp_path, box := server("a", answer=right))
    async with opened(tmp_path, {URL: box}) as app:
        await app.runs.retry(run_id, "regrade")  # no executor works now
        waiting = (await app.leaderboards.query("sums")).entries[0]
        async with working(app):
            await finished(app, run_id)
        graded = (await app.leaderboards.query("sums")).entries[0]
    assert (waiting.tasks_graded, waiting.pass_rate) == (2, 1.0)
    assert graded.tasks_graded == 3
    assert graded.pass_rate == pytest.approx(2 / 3)


async def test_cancelling_while_grading_again_files_no_old_verdict_under_the_new_version(tmp_path: Path) -> None:
    run_id, task = await regraded_by_another_answer(tmp_path, box := server("a", answer=right))
    async with opened(tmp_path, {URL: box}) as app:
        await app.runs.retry(run_id, "regrade")  # no executor works now
        run = await app.runs.cancel(run_id)
        new = (await app.leaderboards.query("sums")).entries[0]
    task.write_text(task.read_text("utf-8").replace('expected_answer: "7"', 'expected_answer: "2"'), "utf-8")
    async with opened(tmp_path, {URL: box}) as app:
        old = (await app.leaderboards.query("sums")).entries[0]
    assert (run.state, run.passed) == ("completed", 3)
    assert (new.tasks_graded, old.tasks_graded, old.pass_rate) == (2, 3, 1.0)


async def test_what_had_no_answer_is_graded_by_the_mended_task_once_it_is_asked_again(tmp_path: Path) -> None:
    run_id, _ = await regraded_by_another_answer(tmp_path, box := server("a", answer=first_time(too_long, 2)))
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await app.runs.retry(run_id, "regrade")
        await finished(app, run_id)
        await app.runs.retry(run_id, "errors")
        run = await finished(app, run_id)
        entry = (await app.leaderboards.query("sums")).entries[0]
    assert (run.done, run.failures) == (3, {"wrong_answer": 1})
    assert entry.tasks_graded == 3
    assert entry.pass_rate == pytest.approx(2 / 3)


async def test_a_run_told_to_try_again_after_it_gave_up_waits_for_its_server_anew(tmp_path: Path) -> None:
    box = server("a", warm_up_error=ServerFault("the GPU fell off the bus"))
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}, outage_limit_s=50.0) as app, working(app):
        run = await run_once(app)
        assert "gave up after" in (run.reason or "")
        await app.runs.retry(run.id, "errors")
        run = await finished(app, run.id)
        kinds = [event.kind for event in await app.runs.events(run.id)]
    assert "gave up after" in (run.reason or "")
    assert kinds[kinds.index("retry") :].count("paused") > 1


async def test_a_run_that_is_not_over_or_has_nothing_to_do_again_is_refused(tmp_path: Path) -> None:
    box = server("a", answer=right)
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        waiting = (await app.runs.start(RunRequest(("a",), ("sums",)))).run
        with pytest.raises(ConflictError, match="is not over"):
            await app.runs.retry(waiting.id, "errors")
        async with working(app):
            await finished(app, waiting.id)
        with pytest.raises(ConflictError, match="nothing to ask again"):
            await app.runs.retry(waiting.id, "errors")
        assert await is_in_state(app, waiting.id, "completed")
        with pytest.raises(ConflictError, match="nothing failed"):
            await app.runs.retry(waiting.id, "failed")
