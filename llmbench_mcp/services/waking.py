"""Front ends that are open anyway see to it that schedules are kept, though no executor lives."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.ports import Clock

if TYPE_CHECKING:
    from llmbench_mcp.services.schedules import Schedules

log = logging.getLogger(__name__)

LOOK_S = 60.0


async def keep_waking(settings: Settings, clock: Clock, schedules: Callable[[], Awaitable[Schedules]]) -> None:
    """Until cancelled, start an executor whenever a schedule is due and none lives.

    ``schedules`` is called, and with it the application opened, only when one is due.
    """
    from llmbench_mcp.store.due import schedule_is_due

    if settings.read_only:
        return
    while True:
        if await anyio.to_thread.run_sync(schedule_is_due, settings.database_path, clock.utc_now()):
            try:
                await (await schedules()).wake()
            except StorageError as error:
                log.warning("a schedule is due, and the database cannot be opened: %s", error)
        await clock.sleep(LOOK_S)
