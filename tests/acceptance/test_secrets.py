"""Keys that a person entered, by page, by command and by variable: used by every process, and found nowhere."""

from __future__ import annotations

import base64
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import psutil
import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Reply, chunk, streamed, usage_chunk
from tests.cli.conftest import Cli
from tests.cli.support import Result, environment, running
from tests.support.front_ends import FrontEnd
from tests.support.pages import fill
from tests.support.processes import no_survivors
from tests.support.rooms import write_suite

pytestmark = pytest.mark.timeout(170)

KEYS = {"page": "zz-PAGE/7f3a9c+51d2e8", "command": "zz-COMMAND-81b2c3d4e5", "variable": "zz-VARIABLE-0a9b8c7d6e"}


def forms(key: str) -> list[str]:
    """The key as it travels: plain, URL-encoded once and twice, in base64, in hexadecimal."""
    return [
        key,
        quote(key, safe=""),
        quote(quote(key, safe=""), safe=""),
        key.replace("-", "%2D"),
        "".join(f"%{ord(char):02X}" for char in key),
        base64.b64encode(key.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
        key.encode().hex(),
    ]


def inside(key: str) -> str:
    """The key within a longer text in base64."""
    return base64.b64encode(f"user:{key}".encode()).decode().rstrip("=")


def leaks(told: str | bytes) -> list[str]:
    data = (told.encode() if isinstance(told, str) else told).lower()
    sought = [form for key in KEYS.values() for form in (*forms(key), inside(key)[8:])]
    return [form for form in sought if form.lower().encode() in data]


def kept(folder: Path) -> dict[str, list[str]]:
    found = {str(path): leaks(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    return {path: hits for path, hits in found.items() if hits}


class Echoing(FakeServer):
    """Wants its key, and says it again wherever it can: in names, answers, errors and headers."""

    def __init__(self, key: str) -> None:
        super().__init__(["m", f"m-{key}"], api_key=key)
        self.key = key
        self.trace = "; ".join([*forms(key), inside(key)])
        self.lines: list[str] = []

    def refused(self, request: Received) -> Reply | None:
        self.lines += command_lines()
        if request.headers.get("authorization") == f"Bearer {self.key}":
            return None
        return Reply(401, {"error": {"message": f"No access. {self.trace}"}}, {"WWW-Authenticate": f"X {self.key}"})

    async def chat(self, request: Received) -> Reply:
        if "1 + 1" in request.prompt:
            headers = {"X-Trace": self.key, "Location": f"http://127.0.0.1:9/?api_key={self.key}"}
            return Reply(400, {"error": {"message": f"You sent {self.key}: {self.trace}"}}, headers)
        told = json.dumps({**request.headers, "trace": self.trace})
        pieces = [told[start : start + 7] for start in range(0, len(told), 7)]
        texts = [chunk(reasoning_content=piece) for piece in pieces] + [chunk(piece) for piece in pieces]
        head = chunk("", role="assistant", model=self.key)
        return streamed([head, *texts, chunk(finish="stop", model=self.key), usage_chunk(7, 3), DONE])


def command_lines() -> Iterator[str]:
    """Arguments and environment of every process, but for the variable that a person set."""
    for process in psutil.process_iter():
        try:
            yield " ".join(process.cmdline())
            yield json.dumps(process.environ()).replace(KEYS["variable"], "")
        except psutil.Error:
            continue


class Desk:
    """One data directory with everything that was ever said about it."""

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self.more = {
            "LLMBENCH_TASKS_DIR": str(folder / "tasks"),
            "LLMBENCH_CREDENTIAL_STORE": "vault",
            "LLMBENCH_DISCOVER_PORTS": "none",
            "LLMBENCH_KEY_BOX": KEYS["variable"],
            "LLMBENCH_DEBUG": "1",
        }
        self.said: list[str] = []

    async def cli(self, *argv: str, stdin: str = "") -> Any:
        command = [sys.executable, "-m", "llmbench_mcp", *argv, "--json"]
        env = environment(self.data_dir, **self.more)
        done = await anyio.run_process(command, input=stdin.encode(), env=env, check=False)
        self.said += [done.stdout.decode(), done.stderr.decode()]
        return json.loads(done.stdout)


async def over(front: FrontEnd, run_id: str) -> dict[str, Any]:
    with anyio.fail_after(90):
        while True:
            status = await front.call("run_status", run_id=run_id, wait_s=20, detail="detailed")
            if status["state"] not in ("queued", "running", "paused"):
                return status


async def test_keys_entered_by_page_command_and_variable_are_used_and_found_nowhere(tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    desk = Desk(tmp_path)
    async with (
        Echoing(KEYS["page"]) as paged,
        Echoing(KEYS["command"]) as typed,
        Echoing(KEYS["variable"]) as named,
        no_survivors(desk.data_dir),
    ):
        await desk.cli("credential", "set", "typed", "--origin", typed.url, stdin=KEYS["command"])
        front = await FrontEnd.start(desk.data_dir, tmp_path / "said.log", **desk.more)
        asked = await front.call("credential_request", endpoint=paged.url, name="paged")
        desk.said.append(await fill(asked["page"], KEYS["page"]))
        assert (await front.call("credential_request", endpoint=paged.url, name="paged"))["state"] == "set"
        for box, name, reference in (
            (paged, "paged", "stored:paged"),
            (typed, "typed", "stored:typed"),
            (named, "named", "env:LLMBENCH_KEY_BOX"),
        ):
            await front.call("endpoint_add", url=box.url, name=name, credential_ref=reference)
        await front.call("models_discover")
        ends = []
        for name in ("paged", "typed", "named"):
            await front.call("model_assign", model="m", endpoint=name)
            started = await front.call("run_start", models=["m"], suites=["sums"], endpoint=name)
            ends.append(await over(front, started["run_id"]))
            await front.call("run_results", run_id=started["run_id"], detail="detailed")
            await front.call("run_results", run_id=started["run_id"], attempt=1, include_completion=True)
        for kind in ("json", "csv", "html"):
            await front.call("results_export", format=kind, include_completions=kind != "html")
        await front.call("endpoint_list", detail="detailed")
        await desk.cli("credential", "list")
        await desk.cli("credential", "status", "typed")
        await desk.cli("endpoint", "probe", "typed", "--model", "m")
        await desk.cli("run", "list")
        assert kept(tmp_path) == {}
        await front.hang_up()
        await front.ended()
    assert [end["done"] for end in ends] == [2, 2, 2]
    assert leaks("".join([*front.answers, *desk.said])) == []
    assert kept(tmp_path) == {}
    for box, others in ((paged, "command"), (typed, "variable"), (named, "page")):
        assert leaks("".join(box.lines)) == []
        asked_with = {request.headers.get("authorization") for request in box.requests}
        assert f"Bearer {box.key}" in asked_with
        assert f"Bearer {KEYS[others]}" not in asked_with
    assert "[redacted]" in "".join(front.answers)


async def test_a_key_is_not_taken_along_by_a_redirect(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    async with FakeServer(["m"]) as elsewhere, FakeServer(["m"]) as box:
        for path in ("/v1/models", "/api/tags", "/props", "/health"):
            box.routes[f"GET {path}"] = lambda request: Reply(307, {}, {"Location": f"{elsewhere.url}{request.path}"})
        await desk.cli("credential", "set", "typed", "--origin", box.url, stdin=KEYS["command"])
        told = await desk.cli("endpoint", "add", box.url, "--credential", "stored:typed")
        assert f"redirects to {elsewhere.url}" in told["error"]["what"]
        assert elsewhere.requests == []
        assert box.requests[0].headers["authorization"] == f"Bearer {KEYS['command']}"


async def test_a_vault_that_is_damaged_stops_nothing_else_and_is_told_without_a_key(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    async with FakeServer(["m"], api_key=KEYS["command"]) as box:
        await desk.cli("credential", "set", "typed", stdin=KEYS["command"])
        await desk.cli("endpoint", "add", box.url, "--name", "box", "--credential", "stored:typed")
        (desk.data_dir / "credentials" / "vault").write_bytes(b"damaged")
        (endpoint,) = (await desk.cli("endpoint", "list"))["endpoints"]
        again = await desk.cli("credential", "set", "typed", stdin=KEYS["command"])
        checks = {check["name"]: check for check in (await desk.cli("doctor"))["checks"]}
    assert checks["credentials"]["state"] == "warn"
    assert "stored:typed" in checks["credentials"]["found"]
    assert endpoint["state"] == "no_access"
    assert "cannot be read" in endpoint["error"]
    assert "vault" in endpoint["error"]
    assert "Nothing was changed" in again["error"]["next"]
    assert leaks("".join(desk.said)) == []


def test_a_fault_of_our_own_that_names_a_stored_key_is_logged_without_it(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError(f"no such thing as {KEYS['command']} in {'; '.join(forms(KEYS['command']))}")

    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "vault")
    monkeypatch.setenv("LLMBENCH_DEBUG", "1")
    monkeypatch.setenv("LLMBENCH_IDLE_EXIT_S", "0.2")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(KEYS["command"].encode())))
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers])  # the executor's log ends with this test
    with running(FakeServer(["m"], api_key=KEYS["command"])) as box:
        cli("credential", "set", "typed")
        cli("endpoint", "add", box.url, "--name", "box", "--credential", "stored:typed")
        cli("discover")
        cli("assign", "m")
        with monkeypatch.context() as patched:
            patched.setattr("llmbench_mcp.services.executors.Executors.ensure", nothing)
            cli("run", "start", "--model", "m", "--suite", "reasoning_smoke")
        monkeypatch.setattr("llmbench_mcp.engine.job.JobWorker.run", broken)
        logged = cli("executor", "run")
        monkeypatch.setattr("llmbench_mcp.services.endpoints.Endpoints.views", broken)
        crashed = cli("endpoint", "list")
    assert (logged.code, crashed.code) == (exit_codes.OK, exit_codes.INTERNAL)
    said: list[Result] = [logged, crashed]
    for result in said:
        assert "no such thing as [redacted] in [redacted]; [redacted]" in result.err
        assert leaks(result.out + result.err) == []
    assert kept(data_dir) == {}


async def nothing(executors: object) -> bool:
    return False
