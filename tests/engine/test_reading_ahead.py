"""The queue is read while attempts begin and end: each is asked once, and none is left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.store.work import WorkStore
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends, ScriptedServer
from tests.support.rooms import OneCpu, assigned, refuse_credentials, server, settings_in, write_suite
from tests.support.work import URL, finished, right, working

TASKS = 3
NIGHT_S = 8 * 3600.0


@dataclass
class Queue:
    """The store's queue, read slowly the second time: between the look and its answer, things happen."""

    reads: int = 0
    claims: int = 0
    looked: anyio.Event = field(default_factory=anyio.Event)
    claimed: anyio.Event = field(default_factory=anyio.Event)
    released: anyio.Event = field(default_factory=anyio.Event)

    async def read(self, work: WorkStore, job_id: str, limit: int) -> list[PlannedAttempt]:
        rows = await _READ(work, job_id, limit)
        self.reads += 1
        if self.reads == 2:
            self.looked.set()
            await self.happens_meanwhile()
        return rows

    async def happens_meanwhile(self) -> None:
        with anyio.fail_after(30):
            await self.claimed.wait()

    async def claim(self, work: WorkStore, attempt: PlannedAttempt, step: str) -> bool:
        self.claims += 1
        last = self.claims == TASKS
        if last:
            await self.before_last_claim()
        done = await _CLAIM(work, attempt, step)
        if last:
            self.claimed.set()
        return done

    async def before_last_claim(self) -> None:
        with anyio.fail_after(30):
            await self.looked.wait()

    async def release(self, work: WorkStore, attempt: PlannedAttempt) -> None:
        await _RELEASE(work, attempt)
        self.released.set()


class GivenBack(Queue):
    """The last attempt is claimed before the look, and given back after it."""

    async def read(self, work: WorkStore, job_id: str, limit: int) -> list[PlannedAttempt]:
        if self.reads == 1:
            with anyio.fail_after(30):
                await self.claimed.wait()
        return await super().read(work, job_id, limit)

    async def happens_meanwhile(self) -> None:
        with anyio.fail_after(30):
            await self.released.wait()

    async def before_last_claim(self) -> None:
        return


_READ, _CLAIM, _RELEASE = WorkStore.next_attempts, WorkStore.claim, WorkStore.release


@asynccontextmanager
async def opened_on(
    queue: Queue, folder: Path, clock: JumpingClock, box: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[App]:
    async def read(work: WorkStore, job_id: str, limit: int) -> list[PlannedAttempt]:
        return await queue.read(work, job_id, limit)

    async def claim(work: WorkStore, attempt: PlannedAttempt, step: str) -> bool:
        return await queue.claim(work, attempt, step)

    async def release(work: WorkStore, attempt: PlannedAttempt) -> None:
        await queue.release(work, attempt)

    for name, method in (("next_attempts", read), ("claim", claim), ("release", release)):
        monkeypatch.setattr(WorkStore, name, method)
    doors = Doors(clock, ScriptedBackends({URL: box}), OneCpu(), refuse_credentials, spawns_executors=False)
    write_suite(folder, TASKS)
    async with open_app(settings_in(folder), doors) as app, working(app):
        await assigned(app, URL)
        yield app


async def test_one_that_began_while_the_queue_was_read_is_not_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, box = Queue(), server("m", answer=right)
    async with opened_on(queue, tmp_path, JumpingClock(), box, monkeypatch) as app:
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        run = await finished(app, run_id)
    assert (run.state, run.passed) == ("completed", TASKS)
    assert queue.looked.is_set()
    assert set(box.asked.values()) == {1}


async def test_one_given_back_while_the_queue_was_read_is_asked_before_the_job_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, queue = JumpingClock(), GivenBack()
    last = f"Question {TASKS}"

    async def answer(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip() == last and times == 0:
            with anyio.fail_after(30):
                await queue.looked.wait()
            clock.slept_s += NIGHT_S
        return right(request, times)

    box = server("m", answer=answer)
    async with opened_on(queue, tmp_path, clock, box, monkeypatch) as app:
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        run = await finished(app, run_id)
    assert queue.released.is_set()
    assert (run.state, run.passed) == ("completed", TASKS)
    assert {prompt.strip(): count for prompt, count in box.asked.items()}[last] == 2
