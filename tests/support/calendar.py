"""An application whose wall clock the test sets, on scripted servers; it works until nothing is left to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.domain.schedule import Schedule
from llmbench_mcp.services.schedules import NewSchedule
from llmbench_mcp.testing.clocks import JumpingClock
from llmbench_mcp.testing.scripted import ScriptedBackends, ScriptedServer
from tests.support.rooms import OneCpu, refuse_credentials, settings_in

HOUR, DAY = 3600.0, 86_400.0


def early_clock() -> JumpingClock:
    """A clock that begins at a minute past one, so that nothing hourly or at noon falls due by itself for long."""
    clock = JumpingClock()
    now = datetime.fromisoformat(clock.utc_now())
    clock.set_by_s = (now.replace(hour=13, minute=1, second=0, microsecond=0) - now).total_seconds()
    return clock


@asynccontextmanager
async def at(
    folder: Path, clock: JumpingClock, servers: dict[str, ScriptedServer], **changes: object
) -> AsyncIterator[App]:
    doors = Doors(clock, ScriptedBackends(servers), OneCpu(), refuse_credentials, spawns_executors=False)
    async with open_app(settings_in(folder, **changes), doors) as app:
        yield app


async def work_off(app: App) -> None:
    """The executor's life: all that is queued or due, then it leaves."""
    assert await app.executor.run(1.0)


async def scheduled(app: App, *models: str, when: str = "hourly", **more: object) -> Schedule:
    """A schedule for the suite ``sums``; without models, for the active ones."""
    request = RunRequest(models, ("sums",), select=None if models else "active", sampling=Sampling())
    made, _ = await app.schedules.add(NewSchedule("again", when, request, "UTC", **more))  # type: ignore[arg-type]  # fields
    return made


async def runs(app: App) -> list[Run]:
    """All runs with their jobs, oldest first."""
    found, _ = await app.runs.page(100)
    return [await app.runs.get(run.id) for run in reversed(found)]
