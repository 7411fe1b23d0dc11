"""Runs survive the death of clients and executors: real processes against a counting server."""

from __future__ import annotations

import signal
from pathlib import Path

import anyio
import pytest
from mcp.client import Client

from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from tests.support.processes import call, no_survivors, processes_of, stdio
from tests.support.rooms import write_suite
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(170)

TASKS = 10


class Held(FakeServer):
    """Answers right, but holds the first request for one task until its gate opens."""

    def __init__(self, held: str) -> None:
        super().__init__(["m"], self._decide)
        self.gate = Gate()
        self._held = held
        self._times = 0

    def _decide(self, request: Received) -> Reply:
        answer = request.prompt.strip().rsplit(" ", 1)[-1]
        if request.prompt.strip() == self._held:
            self._times += 1
            if self._times == 1:
                return Reply(steps=[self.gate])
        return text_reply(answer)

    def asked(self) -> list[int]:
        return [self.prompts.count(f"Question {n}") for n in range(1, TASKS + 1)]


async def start(client: Client, url: str) -> str:
    await call(client, "endpoint_add", url=url, name="box")
    await call(client, "models_discover")
    await call(client, "model_assign", model="m")
    return str((await call(client, "run_start", models=["m"], suites=["sums"]))["run_id"])


async def ended(client: Client, run_id: str) -> dict[str, object]:
    with anyio.fail_after(120):
        while True:
            status = await call(client, "run_status", run_id=run_id, wait_s=10)
            if status["state"] not in ("queued", "running", "paused"):
                return status


async def test_a_killed_executor_is_replaced_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_suite(tmp_path, TASKS)
    tasks = str(tmp_path / "tasks")
    async with Held("Question 4") as box, no_survivors(data_dir):
        async with Client(stdio(data_dir, LLMBENCH_TASKS_DIR=tasks)) as client:
            run_id = await start(client, box.url)
            await box.gate.reached()
            await until(lambda: graded(client, run_id, 3))
            (executor,) = processes_of(data_dir, "executor run")
            executor.send_signal(signal.SIGKILL)
            status = await ended(client, run_id)
            results = await call(client, "run_results", run_id=run_id, limit=50)
        box.gate.open()
    assert (status["state"], status["done"], status["passed"], status["interrupted"]) == ("completed", TASKS, TASKS, 1)
    assert box.asked() == [1, 1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert [row["number"] for row in results["attempts"]] == list(range(1, TASKS + 1))


async def graded(client: Client, run_id: str, count: int) -> bool:
    return int((await call(client, "run_status", run_id=run_id))["done"]) >= count


async def test_a_run_goes_on_when_every_client_is_gone(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_suite(tmp_path, TASKS)
    tasks = str(tmp_path / "tasks")
    async with (
        FakeServer(["m"], answer=lambda prompt: prompt.strip().rsplit(" ", 1)[-1]) as box,
        no_survivors(data_dir),
    ):
        async with Client(stdio(data_dir, LLMBENCH_TASKS_DIR=tasks)) as client:
            run_id = await start(client, box.url)
        await until(lambda: only_executors(data_dir), 20)
        async with Client(stdio(data_dir, LLMBENCH_TASKS_DIR=tasks)) as client:
            status = await ended(client, run_id)
    assert (status["state"], status["passed"], status["interrupted"]) == ("completed", TASKS, 0)
    assert [box.prompts.count(f"Question {n}") for n in range(1, TASKS + 1)] == [1] * TASKS


async def only_executors(data_dir: Path) -> bool:
    return len(processes_of(data_dir)) == len(processes_of(data_dir, "executor run"))


async def test_clients_that_queue_at_the_same_moment_share_one_executor(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_suite(tmp_path, 3)
    server = stdio(data_dir, LLMBENCH_TASKS_DIR=str(tmp_path / "tasks"))
    async with Held("Question 1") as box, no_survivors(data_dir), Client(server) as first, Client(server) as second:
        runs = [await start(first, box.url)]
        runs.append((await call(second, "run_start", models=["m"], suites=["sums"]))["run_id"])
        await box.gate.reached()
        await until(lambda: has_one_executor(data_dir), 20)
        box.gate.open()
        states = [(await ended(second, run_id))["state"] for run_id in runs]
    assert states == ["completed", "completed"]


async def has_one_executor(data_dir: Path) -> bool:
    return len(processes_of(data_dir, "executor run")) == 1
