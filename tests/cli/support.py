from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def speaking(greeting: bytes) -> Iterator[str]:
    """A server that says one thing to whoever connects and hangs up; gives its address as if it were HTTP."""

    def greet() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(greeting)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LLMBENCH_")}
    return {**kept, "LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_IDLE_EXIT_S": "0.2", **more}


def spawn(data_dir: Path, *argv: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "llmbench_mcp", *argv],
        env=environment(data_dir, **more),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str]) -> Result:
    out, err = process.communicate(timeout=120)
    return Result(process.returncode, out, err)


def program(data_dir: Path, *argv: str, **more: str) -> Result:
    """The program as people start it, in a process of its own."""
    return finish(spawn(data_dir, *argv, **more))
