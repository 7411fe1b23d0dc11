"""What is known of an outage ends with the work that waited for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.domain.run import OpenJob, RunRequest
from llmbench_mcp.store.work import WorkStore
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends
from tests.support.rooms import OneCpu, assigned, refuse_credentials, server, settings_in, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, is_in_state, right, working

DAY_S = 86_400.0
_OPEN = WorkStore.open_jobs


async def has_paused_twice(app: App, run_id: str) -> bool:
    """Or has ended."""
    pauses = [event for event in await app.runs.events(run_id) if event.kind == "paused"]
    return len(pauses) == 2 or (await app.runs.get(run_id)).is_over


async def test_a_run_cancelled_in_an_outage_and_gone_on_with_another_day_waits_for_its_server_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    async def open_jobs(work: WorkStore) -> list[OpenJob]:
        nonlocal looks
        found = await _OPEN(work)
        looks += 1
        return found

    monkeypatch.setattr(WorkStore, "open_jobs", open_jobs)
    clock, box = JumpingClock(), server("m", answer=right)
    write_suite(tmp_path, 1)
    doors = Doors(clock, ScriptedBackends({URL: box}), OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(tmp_path, lease_s=10 * DAY_S), doors) as app:
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        box.up = False
        async with working(app):
            await until(lambda: is_in_state(app, run_id, "paused"))
            await app.runs.cancel(run_id)
            before = looks

            async def has_looked() -> bool:
                return looks >= before + 2

            await until(has_looked)
            clock.slept_s += DAY_S
            await app.runs.retry(run_id, "errors")
            await until(lambda: has_paused_twice(app, run_id))
            box.up = True
            run = await finished(app, run_id)
    assert (run.state, run.passed) == ("completed", 1)
