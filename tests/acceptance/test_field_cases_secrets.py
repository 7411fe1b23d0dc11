"""A key that servers send back in every form: where it may not turn up, and what is told instead."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import psutil
import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Reply, chunk, error_reply, streamed, usage_chunk
from tests.cli.conftest import Cli
from tests.cli.support import program, running
from tests.mcp.bench import open_bench
from tests.support.front_ends import FrontEnd
from tests.support.processes import no_survivors
from tests.support.rooms import write_suite

pytestmark = pytest.mark.timeout(170)

KEY = "zz-LIVE-7f3a9c51d2e8"
CODED = base64.b64encode(KEY.encode()).decode().rstrip("=")
FORMS = (KEY, quote(KEY, safe=""), KEY.replace("-", "%2D"), "".join(f"%{ord(c):02X}" for c in KEY), CODED)
TRACE = "; ".join(
    [
        f"GET /v1/chat/completions?api_key={quote(KEY, safe='')}",
        f"forwarded as {KEY.replace('-', '%2D')} and {FORMS[3]}",
        f"basic {base64.b64encode(f'user:{KEY}'.encode()).decode()}",
        f"raw {CODED}",
    ]
)


class Blabbing(FakeServer):
    """Lists its model, and one named after the key; what it is asked it refuses or repeats, with all it was told."""

    def __init__(self) -> None:
        super().__init__(["m", f"m-{KEY}"])
        self.shut = False
        self.repeats = False
        self.arguments: list[str] = []

    def refused(self, request: Received) -> Reply | None:
        return self._refusal() if self.shut else None

    def _refusal(self) -> Reply:
        error = {"message": f"No access with {KEY}. {TRACE}", "type": "authentication_error", "trace": TRACE}
        return Reply(401, {"error": error, "key": KEY}, {"WWW-Authenticate": f'Bearer realm="{KEY}", trace="{CODED}"'})

    async def chat(self, request: Received) -> Reply:
        self.arguments += command_lines()
        if not self.repeats:
            return self._refusal()
        told = json.dumps({**request.headers, "trace": TRACE})
        halves = (told[:30], told[30:])
        return streamed(
            [
                chunk("", role="assistant", model=KEY),
                *(chunk(reasoning_content=half, model=KEY) for half in halves),
                *(chunk(half, model=KEY) for half in halves),
                chunk(finish="stop", model=KEY),
                usage_chunk(7, 3, model=KEY),
                DONE,
            ]
        )


def command_lines() -> Iterator[str]:
    for process in psutil.process_iter():
        try:
            yield from process.cmdline()
        except psutil.Error:
            continue


def leaks(told: str | bytes) -> list[str]:
    """The forms of the key in ``told``, in any case of letters."""
    data = told.encode() if isinstance(told, str) else told
    return [form for form in FORMS if form.lower().encode() in data.lower()]


def kept(folder: Path) -> dict[str, list[str]]:
    """The files below ``folder`` that hold the key, and in what form."""
    found = {str(path): leaks(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    return {path: forms for path, forms in found.items() if forms}


async def over(front: FrontEnd) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run's last status and all that is told of its attempts."""
    run_id = (await front.call("run_start", models=["m"], suites=["sums"]))["run_id"]
    with anyio.fail_after(60):
        while True:
            status = await front.call("run_status", run_id=run_id, wait_s=20, detail="detailed")
            if status["state"] not in ("queued", "running", "paused"):
                break
    results = await front.call("run_results", run_id=run_id, detail="detailed")
    await front.call("run_results", run_id=run_id, attempt=1, include_completion=True)
    return status, results


async def test_a_key_that_comes_back_is_told_kept_and_logged_nowhere(tmp_path: Path) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "said.log"
    write_suite(tmp_path, 2)
    more = {"LLMBENCH_KEY_PLANTED": KEY, "LLMBENCH_TASKS_DIR": str(tmp_path / "tasks"), "LLMBENCH_DEBUG": "1"}

    async def cli(*argv: str) -> str:
        said = await anyio.to_thread.run_sync(lambda: program(data_dir, *argv, "--json", **more))
        return said.out + said.err

    async with Blabbing() as box, no_survivors(data_dir):
        front = await FrontEnd.start(data_dir, log, **more)
        await front.call("endpoint_add", url=box.url, name="box", credential_ref="env:LLMBENCH_KEY_PLANTED")
        await front.call("models_discover")
        await front.call("model_assign", model="m")
        box.repeats = True
        repeated, answers = await over(front)
        box.repeats = False
        refused, _ = await over(front)
        box.shut = True
        report = await front.call("models_discover")
        listed = await front.call("endpoint_list", detail="detailed")
        model = await front.call("model_get", model="m")
        told = [
            await cli("run", "results", repeated["run_id"], "--attempt", "1"),
            await cli("endpoint", "probe", "box", "--model", "m"),
        ]
        assert kept(tmp_path) == {}
        await front.hang_up()
        await front.ended()
    assert leaks("".join([*front.answers, *told])) == []
    assert leaks("".join(box.arguments)) == []
    assert kept(tmp_path) == {}
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in box.requests)

    assert (repeated["state"], repeated["done"], repeated["errors"]) == ("completed", 2, 0)
    assert [row["details"]["untrusted_answered_as"] for row in answers["attempts"]] == ["[redacted]"] * 2
    assert '"authorization": "Bearer [redacted]"' in json.loads(told[0])["attempt"]["completion_text"]
    assert (refused["state"], refused["failures"], refused["jobs"][0]["state"]) == ("failed", {"auth": 2}, "blocked")
    for message in (refused["untrusted_reason"], report["reports"][0]["untrusted_error"]):
        assert "refused access (HTTP 401): No access with [redacted]. GET /v1/chat/completions?api_key=[r" in message
    assert listed["endpoints"][0]["credential"] == "env:LLMBENCH_KEY_PLANTED (refused)"
    assert model["status"] == "active"


async def test_a_server_that_wants_its_key_in_the_query_is_named_as_refusing_and_no_key_is_put_into_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_PLANTED", KEY)
    async with Wanting() as box, open_bench(tmp_path) as bench, bench.client("auto") as client:
        told = [
            await client.refused("endpoint_add", url=box.url, credential_ref="env:LLMBENCH_KEY_PLANTED"),
            await client.refused("endpoint_add", url=f"{box.url}/v1?api_key={KEY}"),
            await client.refused("endpoint_add", url=box.url, credential_ref=f"env:{KEY}"),
            await client.refused("endpoint_add", url=box.url, credential_ref=KEY),
            await client.refused("model_get", model=KEY),
            await client.refused("run_start", models=["alpha"], suites=[CODED]),
        ]
        assert "put it there: ?api_key=[redacted]" in told[0]
        assert "query" in told[1]
        assert leaks("".join(told)) == []
        assert kept(tmp_path) == {}
    assert all(KEY not in request.query for request in box.requests)


class Wanting(FakeServer):
    """Takes a key from the query only, and shows how."""

    def refused(self, request: Received) -> Reply | None:
        if f"api_key={KEY}" in request.query:
            return None
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        return error_reply(401, f"The key is missing, put it there: ?api_key={key}")


@pytest.mark.parametrize("value", ["test", "lm-studio", "12345678"])
async def test_a_short_or_common_key_is_refused_and_takes_no_word_out_of_any_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_COMMON", value)
    said = f"This {value} is no {value}."
    async with open_bench(tmp_path, script=lambda request: said) as bench, bench.client("auto") as client:
        told = await client.refused("endpoint_add", url=bench.fake.url, credential_ref="env:LLMBENCH_KEY_COMMON")
        assert "The environment variable LLMBENCH_KEY_COMMON holds" in told
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        await client.finish(started["run_id"])
        shown = await client.call("run_results", run_id=started["run_id"], attempt=1, include_completion=True)
    assert shown["untrusted_completion"]["text"] == said


def test_a_fault_of_our_own_that_names_the_key_is_logged_without_it(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError(f"no such thing as {KEY} in {TRACE}")

    monkeypatch.setenv("LLMBENCH_KEY_PLANTED", KEY)
    monkeypatch.setenv("LLMBENCH_DEBUG", "1")
    monkeypatch.setenv("LLMBENCH_IDLE_EXIT_S", "0.2")
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers])  # the executor's log ends with this test
    with running(FakeServer(["m"])) as fake:
        cli("endpoint", "add", fake.url, "--name", "box", "--credential-env", "LLMBENCH_KEY_PLANTED")
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
    for said in (logged, crashed):
        assert "Traceback" in said.err
        assert "no such thing as [redacted] in GET /v1/chat" in said.err
        assert leaks(said.out + said.err) == []
    assert kept(data_dir) == {}


async def nothing(executors: object) -> bool:
    return False
