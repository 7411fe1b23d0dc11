"""``llmbench-mcp serve`` as the process that people start and stop."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, right, settings_in
from tests.mcp.sites import ANNA, MCP_HEADERS, bearer, handshake
from tests.mcp.test_stdio import environment
from tests.support.processes import no_survivors, processes_of


@dataclass(frozen=True, slots=True)
class Served:
    """A process, what it told at its start, and where its log goes."""

    process: Process
    out: BufferedByteReceiveStream
    told: dict[str, Any]
    log: Path

    @property
    def url(self) -> str:
        return str(self.told["url"])

    async def end(self, number: signal.Signals) -> int:
        """Ask it to end; its exit code. It has written nothing more to standard output."""
        self.process.send_signal(number)
        with anyio.fail_after(60):
            with pytest.raises(anyio.EndOfStream):
                await self.out.receive()
            return await self.process.wait()


@asynccontextmanager
async def served(folder: Path, *options: str, **more: str) -> AsyncIterator[Served]:
    command = [sys.executable, "-m", "llmbench_mcp", "serve", "--port", "0", "--json", *options]
    log = folder / "serve.log"
    with log.open("wb") as errors:
        process = await anyio.open_process(command, env=environment(settings_in(folder), **more), stderr=errors)
    async with process:
        assert process.stdout is not None
        out = BufferedByteReceiveStream(process.stdout)
        with anyio.fail_after(60):
            told = json.loads(await out.receive_until(b"\n}\n", 10_000) + b"}")
        try:
            yield Served(process, out, told, log)
        finally:
            if process.returncode is None:
                process.kill()


def refused(folder: Path, options: Sequence[str], **more: str) -> tuple[int, str]:
    """The exit code and message of a server that does not start."""
    command = [sys.executable, "-m", "llmbench_mcp", "serve", *options]
    done = subprocess.run(
        command, env=environment(settings_in(folder), **more), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_in_order_with_streams_open(tmp_path: Path, number: signal.Signals) -> None:
    async with served(tmp_path) as server, httpx2.AsyncClient(base_url=server.url, timeout=60) as web:
        assert server.told["client"]["mcpServers"]["llmbench"] == {"type": "http", "url": f"{server.url}/mcp"}
        async with web.stream("GET", "/sse") as stream:
            lines = stream.aiter_lines()
            assert "endpoint" in await anext(lines)
            opened = await web.post("/mcp", json=handshake(), headers=MCP_HEADERS)
            assert opened.status_code == 200
            assert await server.end(number) == 0
            async for _ in lines:
                pass  # to a proper end: one cut off raises
        assert server.log.read_text() == ""


async def test_the_token_stays_out_of_logs_and_of_processes_it_starts(tmp_path: Path) -> None:
    data_dir = settings_in(tmp_path).data_dir
    options = ("--token-env", "anna=TEAM_TOKEN")
    async with (
        FakeServer(["alpha"], right) as fake,
        no_survivors(data_dir),
        served(tmp_path, *options, TEAM_TOKEN=ANNA) as server,
        httpx2.AsyncClient(headers=bearer(ANNA), timeout=60) as web,
    ):
        async with Client(streamable_http_client(f"{server.url}/mcp", http_client=web)) as raw:
            client = BenchClient(raw)
            await client.set_up(fake, "alpha")
            run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
            assert (await client.finish(run_id))["passed"] == 3
            started = [process for process in processes_of(data_dir) if process.pid != server.process.pid]
            for process in started:
                assert ANNA not in " ".join(process.environ().values())
            assert ANNA not in " ".join(psutil.Process(server.process.pid).cmdline())
        assert (await web.get(f"{server.url}/metrics", headers={"Authorization": "Bearer x"})).status_code == 401
        assert await server.end(signal.SIGTERM) == 0
        written = [path for path in data_dir.rglob("*") if path.is_file()] + [server.log]
        assert not [path for path in written if ANNA.encode() in path.read_bytes()]
        assert server.told["client"]["mcpServers"]["llmbench"]["headers"] == {
            "Authorization": "Bearer ${LLMBENCH_TOKEN}"
        }


@pytest.mark.parametrize(
    ("bind", "url"),
    [("127.0.0.1", "https://bench.example.org/mcp"), ("0.0.0.0", "http://bench.example.org:{port}/mcp")],
)
async def test_a_name_leads_to_the_proxy_before_a_loopback_address_and_else_to_the_server_itself(
    tmp_path: Path, bind: str, url: str
) -> None:
    options = ("--host", bind, "--allow-host", "bench.example.org", "--token-env", "T")
    async with served(tmp_path, *options, T=ANNA) as server:
        told = server.told["client"]["mcpServers"]["llmbench"]["url"]
        assert told == url.format(port=server.url.rpartition(":")[2])


def test_a_port_that_is_taken_is_told_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, told = refused(tmp_path, ["--port", str(taken.getsockname()[1])])
    assert code == 1
    assert "cannot be had: Address already in use" in told
    assert "--port" in told


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--host", "no.such.host.invalid", "--token-env", "T", "--allow-host", "x"], "is not known"),
        (["--host", "203.0.113.7", "--token-env", "T", "--allow-host", "x"], "cannot be had"),
        (["--host", "0.0.0.0", "--allow-host", "x"], "so a token is needed."),
        (["--host", "0.0.0.0"], "a token is needed and the names it is reached by must be listed"),
        (["--host", "0.0.0.0"], "--token-env. Give each name with --allow-host"),
        (["--host", "0.0.0.0", "--token-env", "T"], "--allow-host"),
        (["--token-env", ANNA], "Never give the token itself"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--toolsets", "nonsense"], "no toolset"),
    ],
)
def test_what_cannot_be_served_is_told_plainly(tmp_path: Path, options: list[str], word: str) -> None:
    code, told = refused(tmp_path, options, T=ANNA)
    assert code == 1
    assert word in told
    assert "Traceback" not in told
    assert ANNA not in told


def test_a_data_directory_that_cannot_be_used_is_told_before_anything_is_served(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.data_dir.write_text("a file")
    code, told = refused(tmp_path, ["--port", "0"])
    assert code == 1
    assert "is a file" in told
    assert "Serving" not in told
