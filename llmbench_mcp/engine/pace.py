"""How many attempts of a job are in flight at once, and which may be in flight together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from llmbench_mcp.domain.task import Task

WarmUp = Callable[[Task], Awaitable[None]]


class Pace:
    """Admits attempts one by one, in their order.

    Ordinary tasks share the endpoint's concurrency. One that measures speed is asked at its own concurrency and beside
    nothing else; before its first attempt it is warmed up.

    Args:
        usual: attempts at once of ordinary tasks.
        warm_up: called with nothing in flight when a task that measures speed is about to begin.
    """

    def __init__(self, usual: int, warm_up: WarmUp) -> None:
        self._usual = usual
        self._warm_up = warm_up
        self._measuring: str | None = None
        self._in_flight = 0
        self._change = anyio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return self._in_flight == 0

    async def admit(self, task: Task) -> None:
        """Wait until an attempt at this task may begin."""
        while not self._may_begin(task):
            await self.change()
        wanted = task.id if task.load else None
        if wanted != self._measuring:
            if task.load is not None:
                await self._warm_up(task)
            self._measuring = wanted

    def began(self) -> None:
        """An attempt that was admitted is in flight."""
        self._in_flight += 1

    def ended(self) -> None:
        """One is no longer."""
        self._in_flight -= 1
        self._change.set()

    async def change(self) -> None:
        """Wait until one more attempt has ended."""
        self._change = anyio.Event()
        await self._change.wait()

    def _may_begin(self, task: Task) -> bool:
        if (task.id if task.load else None) != self._measuring:
            return self.is_idle
        return self._in_flight < (task.load.concurrency if task.load else self._usual)
