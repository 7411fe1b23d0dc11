"""A schedule comes due while nothing but clients is open: real processes, nobody calls anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from llmbench_mcp.app import open_app
from llmbench_mcp.config import load_settings
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.schedules import NewSchedule
from llmbench_mcp.testing.fake_server import FakeServer
from tests.support.front_ends import FrontEnd
from tests.support.processes import no_survivors
from tests.support.rooms import write_suite
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(170)


async def test_clients_that_are_merely_open_keep_a_schedule_once(tmp_path: Path) -> None:
    write_suite(tmp_path, 3)
    folders = {"data_dir": tmp_path / "data", "tasks_dir": tmp_path / "tasks"}
    server = FakeServer(["m"], answer=lambda prompt: prompt.strip().rsplit(" ", 1)[-1])
    async with server as box, open_app(load_settings({}, **folders)) as app:
        await app.endpoints.add(NewEndpoint(box.url, "box"))
        await app.models.discover()
        await app.models.assign("m", "box")
        request = RunRequest((), ("sums",), select="active")
        made, _ = await app.schedules.add(NewSchedule("night", "nightly", request, "UTC"))
        with closing(sqlite3.connect(tmp_path / "data" / "llmbench.db")) as plain, plain:
            plain.execute("update schedules set due_at = '2026-01-01T00:00:00.000Z'")

        async def is_over() -> bool:
            events = await app.schedules.events(made)
            return bool(events) and (await app.runs.get(events[0].run_id or "")).is_over

        tasks_dir = str(folders["tasks_dir"])
        async with no_survivors(tmp_path / "data"):
            clients = [
                await FrontEnd.start(tmp_path / "data", tmp_path / "log", LLMBENCH_TASKS_DIR=tasks_dir)
                for _ in range(3)
            ]
            await until(is_over, 90)
            for client in clients:
                await client.hang_up()
        found, total = await app.runs.page(10)
        assert (total, found[0].passed) == (1, 3)
        assert sorted(box.prompts.count(f"Question {n}") for n in (1, 2, 3)) == [1, 1, 1]
