"""Front ends as bare processes that tests may kill at any moment: an MCP client without a library."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.support.processes import environment

_FRAME = 10_000_000


CONNECTION_CLOSED = -32000
"""What a server that is leaving answers to a call in flight, by JSON-RPC's range for servers."""


class GoneError(Exception):
    """The process ended before it answered."""


class FrontEnd:
    """One stdio server. What it writes to standard error goes to ``log``."""

    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdout is not None
        self._out = BufferedByteReceiveStream(process.stdout)
        self._lock = anyio.Lock()
        self._number = 0
        self.answers: list[str] = []
        """Every answer as it came."""

    @classmethod
    async def start(cls, data_dir: Path, log: Path, **changes: str) -> Self:
        """Start one and shake hands."""
        command = [sys.executable, "-m", "llmbench_mcp", "--toolsets", "core,manage"]
        with log.open("ab") as errors:
            process = await anyio.open_process(
                command, stdin=subprocess.PIPE, stderr=errors, env=environment(data_dir, **changes)
            )
        front_end = cls(process)
        who = {"name": "test", "version": "0"}
        await front_end._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who})
        await front_end._send({"method": "notifications/initialized"})
        return front_end

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured result. Raises GoneError; a refusal fails the test."""
        result = await self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("error", {}).get("code") == CONNECTION_CLOSED:
            with anyio.fail_after(30):  # one that says so and stays is a fault
                await self._process.wait()
            raise GoneError
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    async def hang_up(self) -> None:
        """Close its standard input."""
        assert self._process.stdin is not None
        await self._process.stdin.aclose()

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            self._process.send_signal(number)

    async def ended(self) -> None:
        """Wait for its end, reading on so that nothing holds it up."""
        with anyio.fail_after(30):
            await self._process.wait()

    async def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        async with self._lock:
            self._number += 1
            await self._send({"id": self._number, "method": method, "params": parameters})
            while True:
                try:
                    line = await self._out.receive_until(b"\n", _FRAME)
                except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError) as error:
                    raise GoneError from error
                frame = json.loads(line)
                if frame.get("id") == self._number:
                    self.answers.append(line.decode())
                    return dict(frame.get("result") or {"isError": True, "error": frame.get("error")})

    async def _send(self, frame: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send(json.dumps({"jsonrpc": "2.0"} | frame).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise GoneError from error
