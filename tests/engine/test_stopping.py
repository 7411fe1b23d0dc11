"""Stopping work that has not come to its first answer: cancelling and draining while a model loads, dead servers."""

from __future__ import annotations

import math
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import EndpointTimeout, ProtocolError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, is_in_state, right, working

OTHER = "http://127.0.0.1:2222"


async def test_cancelling_a_run_while_its_model_loads_frees_the_device(tmp_path: Path) -> None:
    box = server("slow", "fast", answer=right, hangs_on_warm_up={"slow"})
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        stuck = (await app.runs.start(RunRequest(("slow",), ("sums",)))).run.id
        waiting = (await app.runs.start(RunRequest(("fast",), ("sums",)))).run.id
        with anyio.fail_after(30):
            await box.warming.wait()
        assert (await app.runs.cancel(stuck)).state == "cancelled"
        assert (await finished(app, waiting)).passed == 2
        run = await app.runs.get(stuck)
    assert (run.state, run.jobs[0].state, run.done) == ("cancelled", "cancelled", 0)


async def test_draining_does_not_wait_for_a_model_that_loads(tmp_path: Path) -> None:
    box = server("m", hangs_on_warm_up={"m"})
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(app.executor.run)
                await box.warming.wait()
                app.executor.drain()
        run = await app.runs.get(run_id)
    assert (run.jobs[0].state, run.interrupted) == ("pending", 0)


async def test_a_server_that_is_down_does_not_hold_up_the_others_on_its_device(tmp_path: Path) -> None:
    dead, alive = server("m"), server("n", answer=right)
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: dead, OTHER: alive}) as app:
        await assigned(app, URL, "dead")
        await app.endpoints.add(NewEndpoint(OTHER, "alive"))
        await app.models.discover()
        first = (await app.runs.start(RunRequest(("m@dead",), ("sums",), priority=50))).run.id
        second = (await app.runs.start(RunRequest(("n@alive",), ("sums",)))).run.id
        dead.up = False
        async with working(app):
            assert (await finished(app, second)).passed == 2
            await until(lambda: is_in_state(app, first, "paused"))


async def test_a_web_page_in_place_of_an_answer_ends_the_job(tmp_path: Path) -> None:
    box = server("m", warm_up_error=ProtocolError("The server answered with a web page."))
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
    assert (run.state, run.jobs[0].state) == ("failed", "failed")
    assert "web page" in (run.reason or "")


async def test_an_answer_under_another_name_is_recorded_and_said(tmp_path: Path) -> None:
    def answer(request: ChatRequest, times: int) -> Completion:
        return completion(request.prompt.strip().rsplit(" ", 1)[1], model="totally-other")

    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        attempt = await app.runs.attempt(run.id, 1)
    assert run.jobs[0].residency == "unverified: the server answered as 'totally-other'"
    assert run.reason == "'m' was asked and 'totally-other' answered"
    assert attempt.facts["answered_as"] == "totally-other"


async def test_a_model_that_gives_no_first_token_in_time_is_named_with_the_setting(tmp_path: Path) -> None:
    box = server("m", answer=right, warm_up_error=EndpointTimeout("silence"))
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}, load_timeout_s=7.0) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        await until(lambda: is_in_state(app, run_id, "paused"))
        reason = (await app.runs.get(run_id)).reason or ""
    assert "no first token within 7 s" in reason
    assert "LLMBENCH_LOAD_TIMEOUT_S" in reason
    assert box.limits[0] == (7.0, 7.0)


@pytest.mark.parametrize("replaced", [False, True])
async def test_an_executor_leaves_when_its_database_is_removed_or_replaced(tmp_path: Path, replaced: bool) -> None:
    async def never(request: ChatRequest, times: int) -> Completion:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    asked = anyio.Event()
    write_suite(tmp_path, 2)
    async with opened(tmp_path, {URL: server("m", answer=never)}, lease_s=100.0) as app:
        await assigned(app, URL)
        await app.runs.start(RunRequest(("m",), ("sums",)))
        database = tmp_path / "data" / "llmbench.db"
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(app.executor.run, math.inf)
                await asked.wait()
                database.rename(tmp_path / "away.db")
                if replaced:
                    database.touch()
