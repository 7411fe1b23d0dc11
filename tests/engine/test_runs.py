"""Runs from request to result, on real SQLite and scripted servers, through the services."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import (
    AuthError,
    ConflictError,
    IncompatibleError,
    InputError,
    NotFoundError,
    PromptTooLong,
    RateLimitedError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import ScriptedServer, completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, has_done, is_in_state, right, working


async def ran(
    folder: Path, box: ScriptedServer, tasks: int = 4, **request: object
) -> tuple[Run, dict[str, str | None]]:
    """Run the suite once on the one model; returns the run and each task's failure (None when passed)."""
    write_suite(folder, tasks)
    async with opened(folder, {URL: box}) as app, working(app):
        await assigned(app, URL)
        started = await app.runs.start(RunRequest(("m",), ("sums",), **request))  # type: ignore[arg-type]  # field names
        run = await finished(app, started.run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 50)
        return run, {record.task_id: record.facts.get("failure") for record in records}


async def test_every_task_is_asked_once_graded_and_counted(tmp_path: Path) -> None:
    box = server("m", answer=right)
    run, failures = await ran(tmp_path, box)
    assert (run.state, run.planned, run.done, run.passed, run.errors) == ("completed", 4, 4, 4, 0)
    assert set(failures.values()) == {None}
    assert set(box.asked.values()) == {1}


async def test_a_wrong_answer_is_graded_and_named(tmp_path: Path) -> None:
    run, failures = await ran(tmp_path, server("m", answer=lambda request, times: completion("17")))
    assert (run.passed, run.done) == (0, 4)
    assert set(failures.values()) == {"wrong_answer"}


async def test_repeats_ask_each_task_again(tmp_path: Path) -> None:
    box = server("m", answer=right)
    run, _ = await ran(tmp_path, box, repeats=3)
    assert run.planned == 12
    assert set(box.asked.values()) == {3}


async def test_the_same_idempotency_key_gives_the_same_run_and_another_request_is_refused(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        first = await app.runs.start(RunRequest(("m",), ("sums",), idempotency_key="k"))
        again = await app.runs.start(RunRequest(("m",), ("sums",), idempotency_key="k"))
        assert (again.run.id, first.created, again.created) == (first.run.id, True, False)
        with pytest.raises(ConflictError, match="idempotency key"):
            await app.runs.start(RunRequest(("m",), ("sums",), repeats=2, idempotency_key="k"))
        _, total = await app.runs.page()
        assert total == 1


async def test_a_model_without_an_assignment_does_not_run(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m")}) as app:
        await assigned(app, URL)
        await app.models.assign("m", None)
        with pytest.raises(ConflictError, match="not assigned"):
            await app.runs.start(RunRequest(("m",), ("sums",)))
        started = await app.runs.start(RunRequest(("m",), ("sums",), endpoint="box"))
        assert started.run.planned == 1


async def test_unknown_names_are_refused_with_the_nearest(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("qwen-7b")}) as app:
        await assigned(app, URL)
        with pytest.raises(NotFoundError) as model:
            await app.runs.start(RunRequest(("qwen7b",), ("sums",)))
        assert model.value.nearest == ("qwen-7b",)
        with pytest.raises(NotFoundError) as suite:
            await app.runs.start(RunRequest(("qwen-7b",), ("sum",)))
        assert "sums" in str(suite.value)
        with pytest.raises(InputError, match="repeats"):
            await app.runs.start(RunRequest(("qwen-7b",), ("sums",), repeats=0))


async def test_a_server_that_is_down_is_refused_at_the_start(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    box = server("m")
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        box.up = False
        with pytest.raises(UnreachableError):
            await app.runs.start(RunRequest(("m",), ("sums",)))


async def test_an_error_that_passes_is_retried_and_the_model_called_unstable(tmp_path: Path) -> None:
    def busy_once(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 3") and times == 0:
            raise RateLimitedError("busy", retry_after_s=None)
        return right(request, times)

    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: server("m", answer=busy_once)}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 10)
        assert (run.passed, run.errors) == (4, 0)
        assert [record.facts["retries"] for record in records] == [0, 0, 1, 0]
        models, _ = await app.models.page(ModelFilter())
        assert models[0].status == "unstable"


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ServerFault("broken"), "provider_error"),
        (PromptTooLong("too long"), "truncated_prompt"),
        (RateLimitedError("come back in two hours", retry_after_s=7200.0), "rate_limited"),
    ],
)
async def test_infrastructure_errors_are_no_wrong_answers(tmp_path: Path, error: Exception, word: str) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 2"):
            raise error
        return right(request, times)

    run, failures = await ran(tmp_path, server("m", answer=answer))
    assert failures == {"own/q01": None, "own/q02": word, "own/q03": None, "own/q04": None}
    assert (run.state, run.done, run.passed, run.errors) == ("completed", 3, 3, 1)


async def test_streams_that_break_off_or_are_empty_are_errors_and_keep_their_text(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 1"):
            return completion("1", error="model overloaded")
        if request.prompt.startswith("Question 2"):
            return completion("2", complete=False, finish_reason=None)
        return completion("", finish_reason=None)

    write_suite(tmp_path, 3)
    async with opened(tmp_path, {URL: server("m", answer=answer)}, breaker_errors=9) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        assert (run.state, run.done, run.errors) == ("failed", 0, 3)
        messages = [(await app.runs.attempt(run.id, n)).facts["message"] for n in (1, 2, 3)]
        assert ["model overloaded" in messages[0], "before the answer was finished" in messages[1]] == [True, True]
        assert "empty stream" in messages[2]
        assert (await app.runs.attempt(run.id, 1)).completion_text == "1"


@pytest.mark.parametrize(
    ("error", "word", "job_state"),
    [
        (AuthError("401", "Set the key."), "auth", "blocked"),
        (IncompatibleError("This model has no chat template."), "provider_error", "failed"),
    ],
)
async def test_an_error_that_cannot_pass_ends_the_job_at_once(
    tmp_path: Path, error: Exception, word: str, job_state: str
) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        raise error

    box = server("m", answer=answer)
    run, failures = await ran(tmp_path, box)
    assert (run.state, run.errors, run.jobs[0].state) == ("failed", 4, job_state)
    assert set(failures.values()) == {word}
    assert sum(box.asked.values()) == 1
    assert str(error) in (run.reason or "")


async def test_an_outage_pauses_the_run_and_it_goes_on_by_itself(tmp_path: Path) -> None:
    box = server("m")

    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 3") and times == 0:
            box.up = False
            raise UnreachableError("Nothing answers.", "Start the server.")
        return right(request, times)

    box.answer = answer
    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        run = await app.runs.get(run_id)
        assert "Nothing answers" in (run.reason or "")
        assert run.done == 2
        box.up = True
        run = await finished(app, run_id)
    assert (run.state, run.passed, run.errors) == ("completed", 4, 0)
    assert box.asked["Question 1"] == 1


async def test_an_outage_without_end_blocks_the_job_with_the_reason(tmp_path: Path) -> None:
    box = server("m")

    def answer(request: ChatRequest, times: int) -> Completion:
        box.up = False
        raise UnreachableError("Nothing answers.", "Start the server.")

    box.answer = answer
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}, outage_limit_s=8.0) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
    assert (run.state, run.jobs[0].state, run.errors) == ("failed", "blocked", 2)
    assert "gave up after" in (run.reason or "")


async def test_cancelling_keeps_what_is_done_and_never_comes_back(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 3"):
            reached.set()
            await anyio.sleep_forever()
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 5)
    async with opened(tmp_path, {URL: box}) as app:
        async with working(app):
            await assigned(app, URL)
            run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
            with anyio.fail_after(30):
                await reached.wait()
            run = await app.runs.cancel(run_id)
            assert (run.state, run.done, run.passed) == ("cancelled", 2, 2)
            assert (await app.runs.cancel(run_id)).state == "cancelled"
        async with working(app):
            other = (await app.runs.start(RunRequest(("m",), ("sums",), endpoint="box"))).run.id
            await app.runs.cancel(other)
            assert (await app.runs.get(run_id)).done == 2


async def test_a_queued_run_is_cancelled_without_an_executor(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m")}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        run = await app.runs.cancel(run_id)
        assert (run.state, run.jobs[0].state, run.done) == ("cancelled", "cancelled", 0)


async def test_an_executor_killed_in_the_middle_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 4") and times == 0:
            reached.set()
            await anyio.sleep_forever()
        return right(request, times)

    box = server("m", answer=answer)
    write_suite(tmp_path, 10)
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        async with working(app):
            with anyio.fail_after(30):
                await reached.wait()
            await until(lambda: has_done(app, run_id, 3))
    async with opened(tmp_path, {URL: box}) as app, working(app):
        run = await finished(app, run_id)
        records, total = await app.runs.results(run_id, AttemptFilter(), 50)
    assert (run.state, run.passed, run.interrupted, total, len(records)) == ("completed", 10, 1, 10, 10)
    assert [box.asked[f"Question {n}"] for n in range(1, 11)] == [1, 1, 1, 2, 1, 1, 1, 1, 1, 1]


async def test_two_executors_never_work_at_once(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await until(app.executors.alive)
        async with opened(tmp_path, {URL: server("m")}) as second:
            assert await second.executor.run() is False


async def test_an_idle_executor_leaves_and_gives_up_its_lease(tmp_path: Path) -> None:
    async with opened(tmp_path, {}, idle_exit_s=1.0) as app:
        with anyio.fail_after(30):
            assert await app.executor.run() is True
        assert not await app.executors.alive()


async def test_a_drained_executor_finishes_what_is_in_flight_and_leaves_the_rest_pending(tmp_path: Path) -> None:
    reached, go_on = anyio.Event(), anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.startswith("Question 2"):
            reached.set()
            await go_on.wait()
        return right(request, times)

    write_suite(tmp_path, 4)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(app.executor.run)
                await reached.wait()
                app.executor.drain()
                go_on.set()
        run = await app.runs.get(run_id)
        assert (run.state, run.done, run.jobs[0].state) == ("running", 2, "pending")


async def test_concurrent_requests_stay_within_the_endpoints_limit(tmp_path: Path) -> None:
    inside, most, full = 0, 0, anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 3:
            full.set()
        await full.wait()
        inside -= 1
        return right(request, times)

    write_suite(tmp_path, 12)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):
        await assigned(app, URL)
        await app.endpoints.add(NewEndpoint(URL, concurrency=3))
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
    assert (run.passed, most) == (12, 3)


async def test_waiting_for_a_run_reports_progress_and_its_end(tmp_path: Path) -> None:
    seen: list[int] = []

    async def progress(run: Run) -> None:
        seen.append(run.done)

    write_suite(tmp_path, 3)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        run = await app.runs.follow(run_id, progress)
    assert run.state == "completed"
    assert seen[-1] == 3
    assert seen == sorted(seen)


async def test_prompts_that_do_not_fit_are_no_outage(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        raise PromptTooLong("too long")

    run, failures = await ran(tmp_path, server("m", answer=answer), tasks=6)
    assert (run.state, run.errors, run.jobs[0].state) == ("failed", 6, "done")
    assert set(failures.values()) == {"truncated_prompt"}


async def test_a_context_too_small_for_anything_ends_the_job(tmp_path: Path) -> None:
    box = server("m", warm_up_error=PromptTooLong("the context holds 2 tokens"))
    run, failures = await ran(tmp_path, box, tasks=2)
    assert (run.state, run.jobs[0].state) == ("failed", "failed")
    assert set(failures.values()) == {"truncated_prompt"}
