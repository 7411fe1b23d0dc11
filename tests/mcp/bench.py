"""A whole server in this process: real services, real SQLite, a scripted inference server."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import anyio
from mcp import Client
from mcp.types import CallToolResult, ResourceLink, TextContent

from llmbench_mcp.app import App, Doors, real_doors
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.config import Settings, load_settings
from llmbench_mcp.domain.hardware import Device, DeviceProcess
from llmbench_mcp.domain.ports import Clock, DeviceReader
from llmbench_mcp.server.build import BenchServer, build_server
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.testing.fake_server import FakeServer, Received, Script
from tests.support.waiting import until

Era = Literal["auto", "legacy"]

GPU = Device(
    id="nvidia:0",
    name="Test GPU",
    kind="nvidia",
    memory_total_bytes=24 * 2**30,
    memory_used_bytes=2**30 // 3,
    utilisation_pct=12.3456,
    processes=(DeviceProcess(42, "server\x1b[31m", 2**29), DeviceProcess(os.getpid(), None, None)),
    unknown=("power: not supported",),
    energy_j=123_456.0,
)

_TASK = """---
title: Sum {number}
difficulty: easy
tags: [arithmetic]
---
PROMPT:
What is {number} + {number}? Reply with the number only.

VALIDATION:
```yaml
type: reasoning
expected_answer: {answer}
answer_type: number
```
"""


class FixedDevices:
    """One GPU."""

    async def read(self) -> Sequence[Device]:
        return [GPU]


@dataclass(frozen=True, slots=True)
class Bench:
    """What a test holds."""

    holder: AppHolder
    server: BenchServer
    fake: FakeServer

    async def app(self) -> App:
        return await self.holder.get()

    @asynccontextmanager
    async def client(self, era: Era) -> AsyncIterator[BenchClient]:
        async with Client(self.server, mode=era) as client:
            yield BenchClient(client)


@dataclass(frozen=True, slots=True)
class BenchClient:
    """A connected client whose calls also check what holds for every result."""

    raw: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must succeed; its text must say the same."""
        result = await self.result(tool, arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content == json.loads(text_of(result))
        assert len(text_of(result)) < 8_000 * 3.5
        return result.structured_content or {}

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = await self.result(tool, arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    async def result(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        result = await self.raw.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        return result

    async def set_up(self, fake: FakeServer, *models: str) -> None:
        """Add the fake server, discover and assign the models."""
        await self.call("endpoint_add", url=fake.url, name="fake")
        await self.call("models_discover")
        for model in models:
            await self.call("model_assign", model=model)

    async def finish(self, run_id: str) -> dict[str, Any]:
        """Follow a run to its end."""
        while True:
            status = await self.call("run_status", run_id=run_id, wait_s=20)
            if status["state"] in ("completed", "cancelled", "failed"):
                return status


def text_of(result: CallToolResult) -> str:
    """The one text of a result; only links to files may come after it."""
    block, *links = result.content
    assert all(isinstance(link, ResourceLink) for link in links)
    assert isinstance(block, TextContent)
    return block.text


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Settings whose data lies in ``folder`` and whose suites include ``sums``, three small tasks."""
    tasks = folder / "tasks"
    if not tasks.exists():
        (tasks / "sums").mkdir(parents=True)
        for number in (1, 2, 3):
            text = _TASK.format(number=number, answer=2 * number)
            (tasks / "sums" / f"double_{number}.md").write_text(text, encoding="utf-8")
        suite = {
            "name": "sums",
            "title": "Sums",
            "description": "Three sums.",
            "version": 1,
            "tasks": [f"sums/double_{number}" for number in (1, 2, 3)],
        }
        (tasks / "suites.yaml").write_text(json.dumps([suite]), encoding="utf-8")
    changes = {"discover_ports": "none"} | changes  # other servers of this machine are no part of a test
    return load_settings({}, data_dir=folder / "data", tasks_dir=tasks, **changes)


def right(request: Received) -> str | None:
    """The right answer to a task of ``sums``; an ordinary one to anything else, such as a warm-up."""
    task = re.match(r"What is (\d+) \+", request.prompt)
    return str(2 * int(task[1])) if task else None


def inside_doors(devices: DeviceReader | None = None, clock: Clock | None = None, stamps: Clock | None = None) -> Doors:
    """The real ones, but for a fixed device and no process started; ``stamps`` is the clock that times streams."""
    doors = real_doors()
    backends = EntryPointBackends(clock=stamps) if stamps else doors.backends
    facts = {"devices": devices or FixedDevices(), "clock": clock or doors.clock, "backends": backends}
    return replace(doors, spawns_executors=False, **facts)  # type: ignore[arg-type]  # a dict of mixed kinds


@asynccontextmanager
async def open_bench(
    folder: Path,
    *,
    models: Sequence[Any] = ("alpha", "beta"),
    script: Script = right,
    api_key: str | None = None,
    devices: DeviceReader | None = None,
    clock: Clock | None = None,
    stamps: Clock | None = None,
    **changes: Any,
) -> AsyncIterator[Bench]:
    """A server with an executor working in this process, so that nothing is spawned.

    A fast ``clock`` wants a long lease.
    """
    async with FakeServer(models, script, api_key=api_key) as fake:
        holder = AppHolder(settings_in(folder, **changes), inside_doors(devices, clock, stamps))
        try:
            bench = Bench(holder, build_server(holder), fake)
            async with _working(await holder.get()):
                yield bench
        finally:
            await holder.aclose()


@asynccontextmanager
async def _working(app: App) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(app.executor.run, math.inf)
        await until(app.executors.alive)
        yield
        group.cancel_scope.cancel()
