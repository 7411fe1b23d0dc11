"""Machines sleep and clocks are set: nothing is lost, nothing double, and no figure is made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import UnreachableError
from llmbench_mcp.domain.run import Run, RunLimits, RunRequest
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends, ScriptedServer
from tests.support.rooms import OneCpu, assigned, refuse_credentials, server, settings_in, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, has_done, is_in_state, right, working

DAYS_S = 3 * 86_400.0
NIGHT_S = 8 * 3600.0


@asynccontextmanager
async def opened_at(folder: Path, clock: JumpingClock, box: ScriptedServer, **changes: object) -> AsyncIterator[App]:
    doors = Doors(clock, ScriptedBackends({URL: box}), OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(folder, **changes), doors) as app:
        yield app


async def started(app: App, **request: object) -> str:
    await assigned(app, URL)
    return (await app.runs.start(RunRequest(("m",), ("sums",), **request))).run.id  # type: ignore[arg-type]  # fields


class Holding:
    """Answers right; holds the first request for one question until told to go on."""

    def __init__(self, held: str) -> None:
        self.reached, self.go_on = anyio.Event(), anyio.Event()
        self._held = held

    async def __call__(self, request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == self._held and times == 0:
            self.reached.set()
            await self.go_on.wait()
        return right(request, times)


@pytest.mark.parametrize("leap_s", [DAYS_S, -DAYS_S])
async def test_setting_the_wall_clock_neither_ends_nor_prolongs_anything(tmp_path: Path, leap_s: float) -> None:
    clock, held = JumpingClock(), Holding("Question 2")
    box = server("m", answer=held)
    write_suite(tmp_path, 4)
    limits = RunLimits(seconds=DAYS_S / 2)
    async with opened_at(tmp_path, clock, box) as app, working(app):
        run_id = await started(app, limits=limits)
        with anyio.fail_after(30):
            await held.reached.wait()
        clock.set_by_s = leap_s
        held.go_on.set()
        run = await finished(app, run_id)
        records, _ = await app.runs.results(run_id, AttemptFilter(), 10)
    assert (run.state, run.passed, run.interrupted) == ("completed", 4, 0)
    assert set(box.asked.values()) == {1}
    assert {record.facts["e2e_s"] for record in records} == {0.5}


@pytest.mark.parametrize("leap_s", [DAYS_S, -DAYS_S])
async def test_an_outage_lasts_as_long_as_it_lasts_whatever_the_wall_clock_says(tmp_path: Path, leap_s: float) -> None:
    clock, box = JumpingClock(), server("m")

    def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == "Question 2" and times == 0:
            box.up = False
            raise UnreachableError("Nothing answers.", "Start the server.")
        return right(request, times)

    box.answer = answer
    write_suite(tmp_path, 3)
    async with opened_at(tmp_path, clock, box) as app, working(app):
        run_id = await started(app)
        await until(lambda: is_in_state(app, run_id, "paused"))
        clock.set_by_s = leap_s
        box.up = True
        run = await finished(app, run_id)
    assert (run.state, run.passed, run.errors) == ("completed", 3, 0)


@pytest.mark.parametrize("monotonic_sleeps", [False, True])
async def test_an_answer_that_a_sleep_fell_into_is_asked_again_and_not_measured(
    tmp_path: Path, monotonic_sleeps: bool
) -> None:
    clock, held = JumpingClock(monotonic_sleeps=monotonic_sleeps), Holding("Question 3")
    box = server("m", answer=held)
    write_suite(tmp_path, 4)
    async with opened_at(tmp_path, clock, box) as app, working(app):
        run_id = await started(app)
        with anyio.fail_after(30):
            await held.reached.wait()
        await until(lambda: has_done(app, run_id, 2))
        clock.slept_s += NIGHT_S
        held.go_on.set()
        run = await finished(app, run_id)
        records, total = await app.runs.results(run_id, AttemptFilter(), 10)
        (model,), _ = await app.models.page(ModelFilter())
    assert (run.state, run.passed, run.errors, total) == ("completed", 4, 0, 4)
    assert [box.asked[f"Question {n}"] for n in range(1, 5)] == [1, 1, 2, 1]
    assert [record.facts["retries"] for record in records] == [0, 0, 0, 0]
    assert model.status != "unstable"


async def test_an_executor_that_slept_and_was_replaced_changes_nothing_any_more(tmp_path: Path) -> None:
    clock, held = JumpingClock(), Holding("Question 2")
    box = server("m", answer=held)
    write_suite(tmp_path, 3)
    left = anyio.Event()
    async with opened_at(tmp_path, clock, box) as sleeper, opened_at(tmp_path, clock, box) as heir:
        run_id = await started(sleeper)

        async def sleep_through() -> None:
            assert await sleeper.executor.run()
            left.set()

        async with anyio.create_task_group() as group:
            group.start_soon(sleep_through)
            with anyio.fail_after(30):
                await held.reached.wait()
            await until(lambda: has_done(sleeper, run_id, 1))
            clock.slept_s += NIGHT_S
            async with working(heir):
                run = await finished(heir, run_id)
                held.go_on.set()
                with anyio.fail_after(30):
                    await left.wait()
            records, total = await heir.runs.results(run_id, AttemptFilter(), 10)
    assert (run.state, run.passed, run.interrupted) == ("completed", 3, 1)
    assert (total, {record.facts["passed"] for record in records}) == (3, {True})
    assert [box.asked[f"Question {n}"] for n in range(1, 4)] == [1, 2, 1]


async def test_a_run_whose_clock_was_set_back_tells_no_negative_time(tmp_path: Path) -> None:
    clock, held = JumpingClock(), Holding("Question 1")
    write_suite(tmp_path, 2)
    async with opened_at(tmp_path, clock, server("m", answer=held)) as app, working(app):
        run_id = await started(app)
        with anyio.fail_after(30):
            await held.reached.wait()
        clock.set_by_s = -DAYS_S
        held.go_on.set()
        run: Run = await finished(app, run_id)
        history = await app.runs.events(run_id)
    assert run.attempts_per_minute is not None
    assert run.attempts_per_minute > 0
    assert run.finished_at is not None
    assert datetime.fromisoformat(run.finished_at) < datetime.fromisoformat(run.created_at), "stored as the clock said"
    assert [event.seq for event in history] == sorted(event.seq for event in history)
    assert history[-1].kind == "completed"
