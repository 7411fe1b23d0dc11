"""The one App of this process: opened at the first call that needs it, kept until the process ends.

Not the MCP lifespan: on SSE that is entered once per connection.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import anyio

from llmbench_mcp.config import Settings

if TYPE_CHECKING:
    from llmbench_mcp.app import App, Doors
    from llmbench_mcp.services.schedules import Schedules


class AppHolder:
    """Opens the App lazily; whoever made the holder closes it."""

    def __init__(self, settings: Settings, doors: Doors | None = None) -> None:
        self.settings = settings
        self._doors = doors
        self._lock = anyio.Lock()
        self._stack = AsyncExitStack()
        self._app: App | None = None

    async def get(self) -> App:
        """The App; opened now if it was not. A failed opening is tried again by the next call.

        Raises:
            StorageError: the data directory or database cannot be used.
        """
        async with self._lock:
            if self._app is None:
                # The services' imports take a noticeable time, so they stay off the event loop.
                await anyio.to_thread.run_sync(import_module, "llmbench_mcp.app")
                from llmbench_mcp.app import open_app

                app = await self._stack.enter_async_context(open_app(self.settings, self._doors))
                self._app = app
                await app.schedules.wake()
            return self._app

    async def keep_waking(self, after_s: float = 5.0) -> None:
        """Until cancelled, see that an executor lives whenever a schedule is due; opens the App only then.

        ``after_s``: so much later than the start, which must not wait for it.
        """
        await anyio.sleep(after_s)
        await anyio.to_thread.run_sync(import_module, "llmbench_mcp.services.waking")
        from llmbench_mcp.domain.clock import SystemClock
        from llmbench_mcp.services.waking import keep_waking

        async def schedules() -> Schedules:
            return (await self.get()).schedules

        await keep_waking(self.settings, self._doors.clock if self._doors else SystemClock(), schedules)

    async def aclose(self) -> None:
        """Close the App if it was opened; the holder can then open it anew."""
        async with self._lock:
            self._app = None
            await self._stack.aclose()
