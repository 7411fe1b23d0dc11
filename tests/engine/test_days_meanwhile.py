"""A day is summed up the moment it has ended: what was being stored then belongs to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.app import Doors, open_app
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.store.database import Database, Fence, Statements
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends
from tests.support.rooms import OneCpu, assigned, refuse_credentials, server, settings_in, write_suite
from tests.support.work import URL, finished, right, working

DAY_S = 86_400.0
_WRITE = Database.write


async def test_an_answer_stored_while_its_day_is_summed_up_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = JumpingClock()
    write_suite(tmp_path, 2)
    backends = ScriptedBackends({URL: server("m", answer=right)})
    doors = Doors(clock, backends, OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(tmp_path), doors) as app, working(app):

        async def write(database: Database, fence: Fence | None, statements: Statements) -> int:
            if callable(statements) and not clock.set_by_s:
                clock.set_by_s = DAY_S  # midnight, between the look at the clock and the writing
                await app.upkeep.sum_up()
            return await _WRITE(database, fence, statements)

        monkeypatch.setattr(Database, "write", write)
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id)
        _, days = await app.upkeep.history("m")
    assert (run.done, clock.set_by_s) == (2, DAY_S)
    assert sum(day.graded for day in days) == 2
