"""An application at work: the executor in the test's own task group, and waiting for what it does."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import Run
from llmbench_mcp.testing.scripted import completion
from tests.support.waiting import until

URL = "http://127.0.0.1:1111"


def right(request: ChatRequest, times: int) -> Completion:
    """The right answer to ``Question n``."""
    return completion(request.prompt.strip().rsplit(" ", 1)[1])


@asynccontextmanager
async def working(app: App) -> AsyncIterator[None]:
    """The executor at work, until the block ends; it does not leave for want of work, for a test's clock is fast."""
    async with anyio.create_task_group() as group:
        group.start_soon(app.executor.run, math.inf)
        yield
        group.cancel_scope.cancel()


async def finished(app: App, run_id: str) -> Run:
    async def over() -> bool:
        return (await app.runs.get(run_id)).is_over

    await until(over)
    return await app.runs.get(run_id)


async def is_in_state(app: App, run_id: str, state: str) -> bool:
    return (await app.runs.get(run_id)).state == state


async def has_done(app: App, run_id: str, count: int) -> bool:
    return (await app.runs.get(run_id)).done >= count
