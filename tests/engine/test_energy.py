"""Energy of attempts, of jobs and on the leaderboard, through the services."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.attempt import AttemptRecord
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import RateLimitedError
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import completion
from tests.support.meters import MeteredCard, metered
from tests.support.rooms import assigned as assigned_on_cpu
from tests.support.rooms import opened, server, write_suite
from tests.support.work import URL, finished, has_done, right, working

SHARED = "energy: several attempts shared the device"


async def ran(
    folder: Path, card: MeteredCard, answer: object, tasks: int = 3, concurrency: int = 1
) -> tuple[Run, list[AttemptRecord]]:
    write_suite(folder, tasks)
    box = server("m", answer=answer)
    async with metered(folder, card, box, concurrency) as app, working(app):
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        return run, (await app.runs.results(run.id, AttemptFilter(), 50))[0]


def told(records: list[AttemptRecord], name: str) -> list[object]:
    return [record.facts.get(name) for record in records]


async def test_an_attempt_takes_what_the_counter_moved_during_its_last_request(tmp_path: Path) -> None:
    card = MeteredCard()

    def answer(request: ChatRequest, times: int) -> Completion:
        card.use(10.0)
        if request.prompt.startswith("Question 2") and times == 0:
            card.use(500.0)
            raise RateLimitedError("busy", retry_after_s=None)
        return right(request, times)

    run, records = await ran(tmp_path, card, answer)
    assert told(records, "energy_j") == [10.0, 10.0, 10.0]
    assert told(records, "joules_per_token") == [0.5, 0.5, 0.5]
    assert told(records, "energy_note") == [None] * 3
    assert (run.jobs[0].energy_j, run.jobs[0].energy_note) == (540.0, None)


async def test_attempts_side_by_side_are_not_told_apart_but_their_job_is_known(tmp_path: Path) -> None:
    card = MeteredCard()
    both = anyio.Event()
    here = 0

    async def answer(request: ChatRequest, times: int) -> Completion:
        nonlocal here
        here += 1
        if here == 2:
            both.set()
        await both.wait()
        card.use(10.0)
        return right(request, times)

    run, records = await ran(tmp_path, card, answer, tasks=2, concurrency=2)
    assert told(records, "energy_j") == [None, None]
    assert told(records, "energy_note") == [SHARED, SHARED]
    assert told(records, "joules_per_token") == [None, None]
    assert run.jobs[0].energy_j == 20.0


@pytest.mark.parametrize(
    ("moved", "reason"),
    [
        (-5.0, "energy: the counter went backwards, as when a driver is loaded anew"),
        (0.0, "energy: the counter did not move"),
    ],
)
async def test_a_counter_that_cannot_be_right_gives_null_and_never_0(tmp_path: Path, moved: float, reason: str) -> None:
    card = MeteredCard()

    def answer(request: ChatRequest, times: int) -> Completion:
        card.use(moved)
        return right(request, times)

    run, records = await ran(tmp_path, card, answer)
    assert told(records, "energy_j") == [None] * 3
    assert told(records, "energy_note") == [reason] * 3
    assert (run.jobs[0].energy_j, run.jobs[0].energy_note) == (None, reason)


async def test_a_device_without_a_counter_is_not_asked_again_and_again(tmp_path: Path) -> None:
    card = MeteredCard(joules=None)
    _, records = await ran(tmp_path, card, right, tasks=8)
    assert told(records, "energy_note") == ["energy: Not Supported"] * 8
    assert len(card.looks) == 3


async def test_on_the_processor_energy_is_null_with_the_reason(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):
        await assigned_on_cpu(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        [record], _ = await app.runs.results(run.id, AttemptFilter(), 50)
    assert "energy_j" not in record.facts
    assert record.facts["energy_note"] == "energy: cpu has no counter that can be read"


async def test_the_leaderboard_divides_measured_joules_by_the_tokens_they_made(tmp_path: Path) -> None:
    card = MeteredCard()

    def answer(request: ChatRequest, times: int) -> Completion:
        card.use(0.0 if request.prompt.startswith("Question 2") else 10.0)
        return right(request, times)

    write_suite(tmp_path, 3)
    async with metered(tmp_path, card, server("m", answer=answer)) as app, working(app):
        await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        [entry] = (await app.leaderboards.query("sums")).entries
    assert (entry.row.energy_j, entry.row.joules_per_token) == (20.0, 0.5)


async def test_a_jobs_total_goes_on_after_a_drain_and_is_unknown_after_a_loss(tmp_path: Path) -> None:
    card = MeteredCard()
    gate = anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        card.use(10.0)
        if request.prompt.startswith("Question 3") and times == 0:
            await gate.wait()
        return completion("17")

    write_suite(tmp_path, 4)
    async with metered(tmp_path, card, server("m", answer=answer)) as app:
        started = await app.runs.start(RunRequest(("m",), ("sums",)))
        async with anyio.create_task_group() as group:
            group.start_soon(app.executor.run)
            with anyio.fail_after(30):
                while not await has_done(app, started.run.id, 2):  # noqa: ASYNC110 - the database sends no events
                    await anyio.sleep(0.01)
            app.executor.drain()
            gate.set()
        [job] = (await app.runs.get(started.run.id)).jobs
        assert (job.state, job.energy_j) == ("pending", 30.0)
    async with metered(tmp_path, card, server("m", answer=answer)) as app:
        async with working(app):
            [job] = (await finished(app, started.run.id)).jobs
        assert (job.energy_j, job.energy_note) == (40.0, None)


async def test_a_job_whose_executor_was_killed_has_no_total(tmp_path: Path) -> None:
    card = MeteredCard()
    stuck = anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        card.use(10.0)
        if times == 0:
            stuck.set()
            await anyio.sleep_forever()
        return right(request, times)

    write_suite(tmp_path, 1)
    async with metered(tmp_path, card, server("m", answer=answer)) as app:
        started = await app.runs.start(RunRequest(("m",), ("sums",)))
        async with working(app):
            await stuck.wait()
        async with working(app):
            run = await finished(app, started.run.id)
        [record], _ = await app.runs.results(run.id, AttemptFilter(), 50)
    assert record.facts["energy_j"] == 10.0
    assert (run.jobs[0].energy_j, run.jobs[0].energy_note) == (None, "energy: a part of the work was lost")
