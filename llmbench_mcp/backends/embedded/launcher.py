"""Starts the embedded inference server as a child process and ends it again."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import anyio
from anyio.abc import Process

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.embedded.gguf import check_gguf
from llmbench_mcp.backends.openai_wire import fetch_models
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.domain.text import one_line

START_S = 120.0
TERMINATE_S = 5.0
_TRIES = 3
_LINE_BYTES = 4096
_TAIL_BYTES = 4096
_TAIL_LINES = 5
_CHILD = "llmbench_mcp.backends.embedded.server_child"
_PORT_TAKEN = "couldn't bind"  # llama.cpp's words


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A running child: its base URL on loopback, process id, model name and file."""

    url: str
    pid: int
    alias: str
    model_path: Path
    log_path: Path
    process: Process = field(repr=False)

    async def fail_when_dead(self) -> NoReturn:
        """Wait for the child's end, which nobody asked for. Raises SetupError with its last words."""
        code = await self.process.wait()
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        words = await anyio.to_thread.run_sync(_tail, self.log_path)
        raise SetupError(f"The embedded server ended by itself ({how}).", words)


@dataclass(frozen=True, slots=True)
class _Plan:
    model_path: Path
    alias: str
    context: int
    port: int | None
    log_path: Path


class _PortTaken(Exception):  # a signal between two functions here, never seen outside
    pass


@asynccontextmanager
async def embedded_server(
    model_path: Path, *, alias: str, context: int = 4096, port: int | None = None, log_path: Path
) -> AsyncIterator[EmbeddedServer]:
    """A server on that GGUF file, loaded and listening, for as long as the block lasts.

    The server's log replaces ``log_path``; ``port`` None means a free one.

    Raises:
        InputError: the file is no readable GGUF file.
        SetupError: xllamacpp is not installed, the port is in use, or the server did not start; with its last words.
    """
    await anyio.to_thread.run_sync(check_gguf, model_path)
    if find_spec("xllamacpp") is None:
        raise SetupError(
            "The embedded inference server needs the package xllamacpp.", "Run: pip install 'llmbench-mcp[embedded]'"
        )
    plan = _Plan(model_path, alias, context, port, log_path)
    for _ in range(_TRIES - 1):
        try:
            async with _running(plan) as server:
                yield server
            return
        except _PortTaken:
            continue
    async with _running(plan) as server:
        yield server


@asynccontextmanager
async def _running(plan: _Plan) -> AsyncIterator[EmbeddedServer]:
    port = _free_port() if plan.port is None else _unused(plan.port)
    process = await _spawn(plan, port)
    try:
        with anyio.move_on_after(START_S) as limit:
            await _wait_until_ready(process, plan, port)
        if limit.cancelled_caught:
            raise SetupError(f"The embedded server did not start within {START_S:g} s.", await _last_words(plan))
        yield EmbeddedServer(_url(port), process.pid, plan.alias, plan.model_path, plan.log_path, process)
    finally:
        await _stop(process)


async def _spawn(plan: _Plan, port: int) -> Process:
    arguments = {
        "--model": str(plan.model_path),
        "--port": str(port),
        "--ctx": str(plan.context),
        "--threads": str(_threads()),
        "--alias": plan.alias,
        "--parent": str(os.getpid()),
    }
    flat = [f"{name}={value}" for name, value in arguments.items()]
    log = await anyio.to_thread.run_sync(_open_log, plan.log_path)
    try:
        return await anyio.open_process([sys.executable, "-P", "-m", _CHILD, *flat], stderr=log, start_new_session=True)
    finally:
        os.close(log)


def _open_log(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


async def _wait_until_ready(process: Process, plan: _Plan, port: int) -> None:
    line = await _first_line(process)
    if not line:
        await process.wait()
        words = await _last_words(plan)
        if _PORT_TAKEN in words and plan.port is None:
            raise _PortTaken
        raise SetupError(f"The embedded server did not start (exit code {process.returncode}).", words)
    listening = json.loads(line)["listening"]
    client = HttpClient(parse_address(_url(port)))
    try:
        names = [entry["id"] for entry in await fetch_models(client)]
    finally:
        await client.aclose()
    if listening != _url(port) or plan.alias not in names:
        raise SetupError(f"Another server than the embedded one answers at {_url(port)}.", "Try again.")


async def _first_line(process: Process) -> bytes:
    """The child's first line of output; empty when it ended without one."""
    assert process.stdout is not None
    line = b""
    try:
        while b"\n" not in line and len(line) < _LINE_BYTES:
            line += await process.stdout.receive()
    except anyio.EndOfStream:
        return b""
    return line


async def _stop(process: Process) -> None:
    """Terminate, and kill what does not go; not interruptible, and bounded."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(TERMINATE_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _last_words(plan: _Plan) -> str:
    return await anyio.to_thread.run_sync(_tail, plan.log_path)


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return f"Its log {path} cannot be read."
    told = [one_line(line, 200) for line in lines if line.strip()]
    return f"Its log {path} ends: {' | '.join(told[-_TAIL_LINES:])}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unused(port: int) -> int:
    """That port. Raises SetupError when it cannot be listened at."""
    with socket.socket() as probe:
        if os.name == "posix":  # elsewhere it would let two listen at the same port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            raise SetupError(f"Port {port} {why}.", "Choose another one.") from error
    return port


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _threads() -> int:
    """All cores but one: the client measures on it, and threads that wait for each other must not wait for it."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    return max(1, cores - 1)
