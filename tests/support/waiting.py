"""Bounded waiting for a condition that another task or process brings about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30.0, every_s: float = 0.01) -> None:
    """Return once ``condition`` holds; fail after ``seconds``. Looks in the database, which sends no events.

    ``every_s`` is longer where a look is dear.
    """
    with anyio.fail_after(seconds):
        while not await condition():  # noqa: ASYNC110 - another process or the database cannot set an Event here
            await anyio.sleep(every_s)
