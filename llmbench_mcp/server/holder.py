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

                self._app = await self._stack.enter_async_context(open_app(self.settings, self._doors))
            return self._app

    async def aclose(self) -> None:
        """Close the App if it was opened; the holder can then open it anew."""
        async with self._lock:
            self._app = None
            await self._stack.aclose()
