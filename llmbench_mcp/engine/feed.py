"""The pending attempts of one job, read ahead so that no answer waits for the database."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from llmbench_mcp.domain.attempt import PlannedAttempt
from llmbench_mcp.domain.run import Job
from llmbench_mcp.domain.task import Task
from llmbench_mcp.engine.pace import Pace
from llmbench_mcp.store.work import WorkStore

_AHEAD = 32


class Feed:
    """Hands out each attempt once, with its task.

    A run without limits is claimed while its question is on its way (``claim``); of one with limits every attempt
    is claimed before it is handed out, so that no more are asked than may be.

    Args:
        check_room: raises StorageError when an answer could not be stored.
        pace: says when the next one may begin.
        limited: whether the run has limits.

    ``at_limit`` says whether it stopped for one of those.
    """

    def __init__(
        self, work: WorkStore, job: Job, check_room: Callable[[], Awaitable[None]], pace: Pace, *, limited: bool
    ) -> None:
        self._work = work
        self._job = job
        self._check_room = check_room
        self._pace = pace
        self.limited = limited
        self.at_limit = False
        self._lock = anyio.Lock()
        self._ahead: deque[PlannedAttempt] = deque()
        self._unclaimed: set[str] = set()
        self._tasks: dict[str, Task] = {}

    async def next(self) -> tuple[PlannedAttempt, Task] | None:
        """The next attempt, when it may begin; None when there is none, or the run has reached a limit.

        Raises StorageError, LeaseLost.
        """
        async with self._lock:
            while not self.at_limit:
                if not self._ahead:
                    await self._read()
                if not self._ahead:
                    return None
                task = await self._task(self._ahead[0].task_hash)
                await self._pace.admit(task)
                await self._check_room()
                attempt = await self._claimed() if self.limited else self._unlimited()
                if attempt is not None:
                    return attempt, task
        return None

    def _unlimited(self) -> PlannedAttempt:
        attempt = self._ahead.popleft()
        self._unclaimed.add(attempt.id)
        return attempt

    async def _claimed(self) -> PlannedAttempt | None:
        """The next one, already claimed; None at a limit, or where another job took what was left meanwhile."""
        self.at_limit = await self._work.stop_at_limit(self._job.run_id)
        attempt = self._ahead.popleft()
        self._ahead.clear()
        mine = not self.at_limit and await self._work.claim_within_limits(attempt, f"asking {attempt.task_id}")
        return attempt if mine else None

    async def claim(self, attempt: PlannedAttempt) -> None:
        """Mark it as being asked. Raises StorageError, LeaseLost."""
        if attempt.id in self._unclaimed:
            await self._work.claim(attempt, f"asking {attempt.task_id}")
            self._unclaimed.discard(attempt.id)

    async def _read(self) -> None:
        # As of before the read: one claimed meanwhile may still be among its rows.
        handed_out = set(self._unclaimed)
        rows = await self._work.next_attempts(self._job.id, _AHEAD + len(handed_out))
        self._ahead.extend(row for row in rows if row.id not in handed_out)

    async def _task(self, task_hash: str) -> Task:
        if task_hash not in self._tasks:
            if len(self._tasks) >= 4 * _AHEAD:
                self._tasks.clear()
            self._tasks[task_hash] = await self._work.task(task_hash)
        return self._tasks[task_hash]
