from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmbench_mcp.testing.fake_server import FakeServer

CLOSED_PORT_URL = "http://127.0.0.1:9"  # discard: nothing listens there


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout; fails when anything else is there."""
        return json.loads(self.out)

    @property
    def has_traceback(self) -> bool:
        return "Traceback" in self.out + self.err


@contextmanager
def running(server: FakeServer) -> Iterator[FakeServer]:
    """The server in a thread of its own, because commands run their own event loop."""
    ready, leave = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with server:
            ready.set()
            await leave.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(leave.set)
        thread.join(10)
        loop.close()


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LLMBENCH_")}
    return {**kept, "LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_IDLE_EXIT_S": "0.2", **more}


def spawn(data_dir: Path, *argv: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "llmbench_mcp", *argv]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment(data_dir, **more), text=True, **pipes)


def finish(process: subprocess.Popen[str]) -> Result:
    out, err = process.communicate(timeout=120)
    return Result(process.returncode, out, err)


def program(data_dir: Path, *argv: str, **more: str) -> Result:
    """The program as people start it, in a process of its own."""
    return finish(spawn(data_dir, *argv, **more))
