"""A run's limits hold whatever its jobs do at the same moment, and nothing of it is left waiting behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import Doors, open_app
from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunLimits, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.store.work import WorkStore
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends
from tests.support.rooms import OneCpu, opened, refuse_credentials, server, settings_in, write_suite
from tests.support.work import URL, finished, right, working

OTHER_URL = "http://127.0.0.1:2222"
NIGHT_S = 8 * 3600.0


@dataclass
class BothLook:
    """Two jobs look at what is left of the limits at the same time, the first time."""

    looks: int = 0
    looked: anyio.Event = field(default_factory=anyio.Event)

    async def stop_at_limit(self, work: WorkStore, run_id: str) -> bool:
        stops = await _STOP(work, run_id)
        self.looks += 1
        if self.looks == 2:
            self.looked.set()
        with anyio.fail_after(30):
            await self.looked.wait()
        return stops


_STOP, _RELEASE = WorkStore.stop_at_limit, WorkStore.release


async def test_two_jobs_that_look_at_the_limit_at_once_ask_no_more_than_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = BothLook()

    async def stop_at_limit(work: WorkStore, run_id: str) -> bool:
        return await both.stop_at_limit(work, run_id)

    monkeypatch.setattr(WorkStore, "stop_at_limit", stop_at_limit)
    write_suite(tmp_path, 3)
    boxes = {URL: server("m", answer=right), OTHER_URL: server("n", answer=right)}
    async with opened(tmp_path, boxes) as app, working(app):
        await app.endpoints.add(NewEndpoint(URL, "one", device="nvidia:0"))
        await app.endpoints.add(NewEndpoint(OTHER_URL, "two", device="nvidia:1"))
        await app.models.discover()
        request = RunRequest(("m@one", "n@two"), ("sums",), limits=RunLimits(attempts=1))
        run = await finished(app, (await app.runs.start(request)).run.id)
    assert both.looked.is_set()
    assert (run.state, run.done) == ("cancelled", 1)
    assert "stopped at its limit of 1 attempts" in (run.reason or "")
    assert sum(sum(box.asked.values()) for box in boxes.values()) == 1


async def test_one_given_back_after_the_limit_was_reached_waits_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, at_limit, released = JumpingClock(), anyio.Event(), anyio.Event()

    async def stop_at_limit(work: WorkStore, run_id: str) -> bool:
        stops = await _STOP(work, run_id)
        if stops:
            at_limit.set()
        return stops

    async def release(work: WorkStore, attempt: PlannedAttempt) -> None:
        await _RELEASE(work, attempt)
        released.set()

    async def answer(request: ChatRequest, times: int) -> Completion:
        with anyio.fail_after(30):
            await at_limit.wait()
        clock.slept_s += NIGHT_S
        return right(request, times)

    monkeypatch.setattr(WorkStore, "stop_at_limit", stop_at_limit)
    monkeypatch.setattr(WorkStore, "release", release)
    write_suite(tmp_path, 3)
    backends = ScriptedBackends({URL: server("m", answer=answer)})
    doors = Doors(clock, backends, OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(tmp_path), doors) as app, working(app):
        await app.endpoints.add(NewEndpoint(URL, "box", concurrency=2))
        await app.models.discover()
        request = RunRequest(("m@box",), ("sums",), limits=RunLimits(attempts=1))
        run = await finished(app, (await app.runs.start(request)).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter())
    assert released.is_set()
    assert (run.state, run.done) == ("cancelled", 0)
    assert {record.state for record in records} == {"cancelled"}
