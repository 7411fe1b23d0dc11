"""The program as clients start it: a process that speaks over its standard streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from mcp import Client, StdioServerParameters
from mcp.types import EmptyResult, PingRequest

from llmbench_mcp.app import open_app
from llmbench_mcp.config import Settings
from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, Era, inside_doors, settings_in
from tests.mcp.test_run_tools import Held
from tests.support.waiting import until


def environment(settings: Settings, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LLMBENCH_")}
    folders = {"LLMBENCH_DATA_DIR": str(settings.data_dir), "LLMBENCH_TASKS_DIR": str(settings.tasks_dir)}
    return clean | folders | {"LLMBENCH_IDLE_EXIT_S": "0.5"} | more


class Wire:
    """Frames to and from one server process, handshake done."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.frames: list[dict[str, Any]] = []
        self._rest = ""
        self._id = 0
        assert process.stdout is not None
        self._out = TextReceiveStream(process.stdout)

    async def send(self, method: str, params: dict[str, Any], *, notify: bool = False) -> int:
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notify:
            self._id += 1
            frame["id"] = self._id
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(frame).encode() + b"\n")
        return self._id

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        wanted = await self.send(method, params)
        with anyio.fail_after(60):
            while True:
                frame = await self._next()
                if frame.get("id") == wanted:
                    result: dict[str, Any] = frame["result"]
                    return result

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        return content

    async def _next(self) -> dict[str, Any]:
        while "\n" not in self._rest:
            self._rest += await self._out.receive()
        line, self._rest = self._rest.split("\n", 1)
        frame: dict[str, Any] = json.loads(line)
        assert frame["jsonrpc"] == "2.0"
        self.frames.append(frame)
        return frame

    async def leave(self) -> int:
        """Close standard input, as a client that goes away does; the exit code. What still comes are frames."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with anyio.fail_after(30):
            with suppress(anyio.EndOfStream):
                while True:
                    await self._next()
            assert self._rest == ""
            return await self.process.wait()


@asynccontextmanager
async def serving(settings: Settings, **more: str) -> AsyncIterator[Wire]:
    command = [sys.executable, "-m", "llmbench_mcp"]
    async with await anyio.open_process(command, env=environment(settings, **more), stderr=None) as process:
        wire = Wire(process)
        client = {"name": "test", "version": "1"}
        await wire.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        await wire.send("notifications/initialized", {}, notify=True)
        yield wire
        await wire.leave()


def test_standard_output_carries_frames_only_and_the_process_ends_with_its_input(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    handshake = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "suite_list", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "gpu_stats", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "run_status", "arguments": {"x": 1}}},
        {"jsonrpc": "2.0", "id": 6, "method": "no/such"},
    ]
    command = [sys.executable, "-m", "llmbench_mcp"]
    with subprocess.Popen(command, env=environment(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames) + b"not json\n")
        process.stdin.flush()
        answers: dict[int | None, dict[str, Any]] = {}
        while len(answers) < 7:
            frame = json.loads(process.stdout.readline())
            assert frame["jsonrpc"] == "2.0"
            if "id" in frame:
                answers[frame["id"]] = frame
        process.stdin.close()
        assert process.wait(30) == 0
        for line in process.stdout.read().splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
    assert answers[3]["result"]["structuredContent"]["total"] >= 1
    assert answers[4]["result"]["structuredContent"]["devices"]
    assert answers[5]["result"]["isError"] is True
    assert "error" in answers[6]
    assert answers[None]["error"]["code"] == -32700


def test_the_start_imports_neither_the_store_nor_the_services(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from llmbench_mcp.config import load_settings\n"
        "from llmbench_mcp.server.build import build_server\n"
        "from llmbench_mcp.server.holder import AppHolder\n"
        "import llmbench_mcp.cli.main, llmbench_mcp.cli.serving, llmbench_mcp.server.stdio\n"
        "build_server(AppHolder(load_settings({})))\n"
        "late = ('aiosqlite', 'sqlite3', 'yaml', 'typer', 'pynvml', 'psutil', 'llmbench_mcp.app',"
        " 'llmbench_mcp.services', 'llmbench_mcp.store', 'llmbench_mcp.backends', 'llmbench_validators')\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(settings_in(tmp_path)), capture_output=True)
    assert done.stdout.decode().strip() == "[]", done.stderr.decode()


async def test_the_switches_reach_the_server(tmp_path: Path) -> None:
    async with serving(settings_in(tmp_path), LLMBENCH_READ_ONLY="1", LLMBENCH_TOOLSETS="core") as wire:
        names = {tool["name"] for tool in (await wire.ask("tools/list"))["tools"]}
    assert "run_start" not in names
    assert "gpu_stats" not in names
    assert "run_status" in names


async def test_a_run_outlives_the_client_that_started_it(tmp_path: Path) -> None:
    settings, held = settings_in(tmp_path), Held()
    async with FakeServer(["alpha"], held) as fake, executor_ended(settings):
        async with serving(settings) as wire:
            await wire.call("endpoint_add", url=fake.url, name="fake")
            await wire.call("models_discover")
            await wire.call("model_assign", model="alpha")
            run_id = (await wire.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
            await held.gate.reached()
            # A call that still waits must not keep the process from ending with its input.
            waiting = {"name": "run_status", "arguments": {"run_id": run_id, "wait_s": 45}}
            await wire.send("tools/call", waiting)
            assert await wire.leave() == 0
        held.gate.open()
        async with serving(settings) as wire:
            status = await wire.call("run_status", run_id=run_id, wait_s=30)
            while status["state"] in ("queued", "running"):
                status = await wire.call("run_status", run_id=run_id, wait_s=30)
            assert (status["state"], status["done"], status["passed"]) == ("completed", 3, 3)
            results = await wire.call("run_results", run_id=run_id)
            assert [row["number"] for row in results["attempts"]] == [1, 2, 3]
        assert fake.prompts.count("What is 2 + 2? Reply with the number only.") == 1


@asynccontextmanager
async def executor_ended(settings: Settings) -> AsyncIterator[None]:
    """Whatever happens inside, no executor outlives the test."""
    try:
        yield
    finally:
        await _end_executor(settings)


async def _end_executor(settings: Settings) -> None:
    async with open_app(settings, inside_doors()) as app:
        await app.executors.stop()

        async def gone() -> bool:
            return not await app.executors.alive()

        await until(gone)


async def test_both_eras_speak_over_the_streams(tmp_path: Path, era: Era) -> None:
    settings = settings_in(tmp_path)
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "llmbench_mcp"], env=environment(settings, LLMBENCH_READ_ONLY="1")
    )
    async with Client(program, mode=era) as raw:
        await raw.session.send_request(PingRequest(), EmptyResult)
        client = BenchClient(raw)
        assert (await client.call("suite_list", suite="sums"))["total"] == 3
        assert "read-only" in await client.refused("run_cancel", run_id="run_x")
