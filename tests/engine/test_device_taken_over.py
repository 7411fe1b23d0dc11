"""A device that another process took over while this one stood still: its job waits, everything else goes on."""

from __future__ import annotations

import math
from pathlib import Path

import anyio

from llmbench_mcp.app import Doors, open_app
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.engine.device_lock import lock_scope
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store.database import open_database
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.scripted import ScriptedBackends
from tests.support.rooms import OneCpu, refuse_credentials, server, settings_in, write_suite
from tests.support.work import URL, finished, right, working

OTHER_URL = "http://127.0.0.1:2222"


class LaterClock(FastClock):
    """The clock of somebody for whom every lease ran out long ago."""

    def monotonic(self) -> float:
        return super().monotonic() + 1e6


async def test_a_job_whose_device_was_taken_over_waits_and_the_other_devices_work_goes_on(tmp_path: Path) -> None:
    asked, left = anyio.Event(), anyio.Event()

    async def answer(request: ChatRequest, times: int) -> Completion:
        if not asked.is_set():
            asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                left.set()
        return right(request, times)

    write_suite(tmp_path, 2)
    boxes = {URL: server("m", answer=answer), OTHER_URL: server("n", answer=right)}
    settings = settings_in(tmp_path, lease_s=100.0)
    doors = Doors(FastClock(), ScriptedBackends(boxes), OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings, doors) as app, working(app), open_database(settings.database_path) as database:
        await app.endpoints.add(NewEndpoint(URL, "one", device="nvidia:0"))
        await app.endpoints.add(NewEndpoint(OTHER_URL, "two", device="nvidia:1"))
        await app.models.discover()
        taken = (await app.runs.start(RunRequest(("m@one",), ("sums",)))).run.id
        with anyio.fail_after(30):
            await asked.wait()
        others = LeaseStore(database, LaterClock())
        lease = await others.acquire(lock_scope("nvidia:0", ""), math.inf)
        assert lease is not None
        with anyio.fail_after(30):
            await left.wait()
        other = await finished(app, (await app.runs.start(RunRequest(("n@two",), ("sums",)))).run.id)
        meanwhile = await app.runs.get(taken)
        await others.release(lease)
        run = await finished(app, taken)
    assert (other.state, meanwhile.is_over) == ("completed", False)
    assert (run.state, run.passed) == ("completed", 2)
