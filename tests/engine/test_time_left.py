"""How long a run has left: each job at its own pace, what shares a device one after another, within its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.cli.progress import time_left
from llmbench_mcp.domain.chat import ChatRequest, Completion, Timing
from llmbench_mcp.domain.run import Run, RunLimits, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.scripted import ScriptedServer
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, has_done, is_in_state, right, working

OTHER = "http://127.0.0.1:2222"
TASKS = 6


class Paced:
    """Right answers that each model takes its seconds for; of a model held, no more than so many."""

    def __init__(self, seconds: Mapping[str, float], held: Mapping[str, int]) -> None:
        self._seconds = seconds
        self._held = dict(held)
        self._go_on = anyio.Event()

    def hold(self, **models: int) -> None:
        self._held, self._go_on = models, anyio.Event()

    def let_go(self) -> None:
        self._held = {}
        self._go_on.set()

    async def __call__(self, request: ChatRequest, times: int) -> Completion:
        if self._held.get(request.model) == 0:
            await self._go_on.wait()
        elif request.model in self._held:
            self._held[request.model] -= 1
        seconds = self._seconds[request.model]
        return replace(right(request, times), timing=Timing(ttft_s=0.1, e2e_s=seconds))


def paced(seconds: Mapping[str, float], **held: int) -> tuple[Paced, ScriptedServer]:
    answer = Paced(seconds, held)
    return answer, server(*seconds, answer=answer)


async def begun(app: App, done: int, models: tuple[str, ...], **more: Any) -> Run:
    """A run of the suite, once so much of it is done and what is held has been asked."""
    run_id = (await app.runs.start(RunRequest(models, ("sums",), **more))).run.id
    await until(lambda: has_done(app, run_id, done))
    await until(lambda: is_in_state(app, run_id, "running"))
    return await app.runs.get(run_id)


async def test_a_slow_model_of_which_nothing_is_known_has_no_time_left_told_by_fast_ones(tmp_path: Path) -> None:
    answer, box = paced({"a": 0.1, "b": 0.1, "slow": 40.0}, slow=0)
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await begun(app, 2 * TASKS, ("a", "b", "slow"))
        assert (run.eta_s, run.least_left_s, time_left(run)) == (None, None, "")
        answer.let_go()
        await finished(app, run.id)


async def test_the_time_left_is_that_of_the_models_whose_tasks_remain(tmp_path: Path) -> None:
    answer, box = paced({"a": 0.1, "b": 0.1, "slow": 40.0}, slow=3)
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await begun(app, 2 * TASKS + 3, ("a", "b", "slow"))
        assert (run.eta_s, time_left(run)) == (3 * 40.0, "about 2 min left")
        answer.let_go()
        assert (await finished(app, run.id)).eta_s is None


async def test_a_job_without_answers_yet_goes_by_what_its_model_took_before(tmp_path: Path) -> None:
    answer, box = paced({"a": 5.0, "slow": 40.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, (await app.runs.start(RunRequest(("a", "slow"), ("sums",)))).run.id)
        answer.hold(slow=3)  # which is loaded and goes first
        run = await begun(app, 3, ("a", "slow"))
        assert run.eta_s == 3 * 40.0 + TASKS * 5.0
        answer.let_go()
        await finished(app, run.id)


async def test_where_one_open_job_is_unknown_the_others_tell_the_least(tmp_path: Path) -> None:
    answer, box = paced({"a": 10.0, "slow": 40.0}, a=3)
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await begun(app, 3, ("a", "slow"))
        assert (run.eta_s, run.least_left_s, time_left(run)) == (None, 30.0, "at least 30 s left")
        answer.let_go()
        await finished(app, run.id)


@pytest.mark.parametrize(("device", "done", "left"), [("cpu", 3, 3 * 40.0 + TASKS * 5.0), ("remote", 3 + 3, 3 * 40.0)])
async def test_jobs_of_one_device_take_turns_and_those_of_two_go_on_at_once(
    tmp_path: Path, device: str, done: int, left: float
) -> None:
    answer, box = paced({"a": 5.0})
    slow, far = paced({"slow": 40.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box, OTHER: far}) as app, working(app):
        await assigned(app, URL)
        await app.endpoints.add(NewEndpoint(OTHER, "far", device=device))
        await app.models.discover(["far"])
        request = RunRequest(("a@box", "slow@far"), ("sums",))
        await finished(app, (await app.runs.start(request)).run.id)
        answer.hold(a=3)
        slow.hold(slow=3)
        assert (await begun(app, done, request.models)).eta_s == left
        answer.let_go()
        slow.let_go()


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (RunLimits(attempts=4), 10.0),
        (RunLimits(tokens=150), 20.0),  # 30 an answer
        (RunLimits(seconds=1e6), 30.0),
    ],
)
async def test_a_run_with_limits_is_over_when_the_first_is_reached(
    tmp_path: Path, limits: RunLimits, left: float
) -> None:
    answer, box = paced({"a": 10.0}, a=3)
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await begun(app, 3, ("a",), limits=limits)
        assert run.eta_s == left
        answer.let_go()
        await finished(app, run.id)


async def test_a_limit_of_seconds_counts_from_the_first_step(tmp_path: Path) -> None:
    answer, box = paced({"a": 1000.0}, a=3)
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run = await begun(app, 3, ("a",), limits=RunLimits(seconds=2000.0))
        assert run.eta_s is not None
        assert 0 < run.eta_s < 2000.0
        answer.let_go()
        await finished(app, run.id)


async def test_what_is_asked_again_only_to_look_has_no_time_told(tmp_path: Path) -> None:
    _, box = paced({"a": 10.0})
    write_suite(tmp_path, TASKS)
    task = tmp_path / "tasks" / "own" / "q02.md"
    task.write_text(task.read_text("utf-8").replace('answer: "2"', 'answer: "7"'), "utf-8")
    async with opened(tmp_path, {URL: box}) as app:
        async with working(app):
            await assigned(app, URL)
            run = await finished(app, (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id)
        run, _ = await app.runs.retry(run.id, "failed")  # no executor works now
    assert (run.state, run.eta_s, run.least_left_s) == ("queued", None, None)


async def started(app: App, **more: Any) -> str:
    return (await app.runs.start(RunRequest(("a",), ("sums",), **more))).run.id


async def test_a_run_that_waits_for_another_says_so_and_no_end(tmp_path: Path) -> None:
    answer, box = paced({"a": 10.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, await started(app))
        answer.hold(a=0)
        first = await begun(app, 0, ("a",))
        second = await app.runs.get(await started(app))
        assert (second.state, second.reason) == ("queued", f"waits for run {first.id}, which is at work on cpu")
        assert (second.eta_s, second.least_left_s) == (None, TASKS * 10.0)
        answer.let_go()
        assert (await finished(app, second.id)).reason is None


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, TASKS * 10.0),
        ({"repeats": 3}, 3 * TASKS * 10.0),
        ({"limits": RunLimits(attempts=3)}, 30.0),
        ({"limits": RunLimits(attempts=8), "repeats": 3}, 80.0),
        ({"limits": RunLimits(seconds=25)}, 25.0),
        ({"limits": RunLimits(seconds=2500)}, TASKS * 10.0),
    ],
)
async def test_an_estimate_heeds_the_limits(tmp_path: Path, more: dict[str, Any], seconds: float) -> None:
    _, box = paced({"a": 10.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        request = RunRequest(("a",), ("sums",), **more)
        assert (await app.runs.preview(request)).estimate_s is None
        await finished(app, await started(app))
        assert (await app.runs.preview(request)).estimate_s == seconds
        begun = await app.runs.start(request)
        assert begun.estimate_s == seconds
        await finished(app, begun.run.id)


async def test_an_estimate_heeds_a_limit_of_tokens_where_those_are_counted(tmp_path: Path) -> None:
    _, box = paced({"a": 10.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await finished(app, await started(app))
        plan = await app.runs.preview(RunRequest(("a",), ("sums",), limits=RunLimits(tokens=60)))
    assert plan.stops_at == "its limit of 60 tokens"
    assert plan.estimate_s is not None
    assert 20.0 < plan.estimate_s < 30.0  # answers of 20 tokens, and short prompts


async def test_an_estimate_is_of_the_tasks_that_are_asked_before_the_limit(tmp_path: Path) -> None:
    def slow_at_last(request: ChatRequest, times: int) -> Completion:
        seconds = 100.0 if request.prompt.strip() == f"Question {TASKS}" else 1.0
        return replace(right(request, times), timing=Timing(ttft_s=0.1, e2e_s=seconds))

    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: server("a", answer=slow_at_last)}) as app, working(app):
        await assigned(app, URL)
        await finished(app, await started(app))
        limited = RunRequest(("a",), ("sums",), limits=RunLimits(attempts=3), idempotency_key="k")
        begun = await app.runs.start(limited)
        assert ((await app.runs.preview(limited)).estimate_s, begun.estimate_s) == (3.0, 3.0)
        await finished(app, begun.run.id)
        again = await app.runs.start(limited)
    assert (again.created, again.estimate_s) == (False, None)


async def test_an_estimate_lets_devices_work_at_once(tmp_path: Path) -> None:
    _, box = paced({"a": 10.0})
    _, far = paced({"b": 30.0})
    write_suite(tmp_path, TASKS)
    async with opened(tmp_path, {URL: box, OTHER: far}) as app, working(app):
        await assigned(app, URL)
        await app.endpoints.add(NewEndpoint(OTHER, "far", device="remote"))
        await app.models.discover(["far"])
        request = RunRequest(("a@box", "b@far"), ("sums",))
        await finished(app, (await app.runs.start(request)).run.id)
        assert (await app.runs.preview(request)).estimate_s == TASKS * 30.0


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (RunLimits(), None),
        (RunLimits(attempts=13), None),
        (RunLimits(attempts=1), "its limit of 1 attempt"),
        (RunLimits(attempts=3, tokens=5000, seconds=0.5), "its limit of 5,000 tokens or 0.5 seconds or 3 attempts"),
    ],
)
def test_limits_that_may_end_a_run_are_told_in_words(limits: RunLimits, told: str | None) -> None:
    assert limits.told(13) == told
