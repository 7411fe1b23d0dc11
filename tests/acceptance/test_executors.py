"""One executor at a time, whatever starts, stops or is upgraded: real processes against a server that counts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest

from llmbench_mcp import __version__
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from tests.support.front_ends import FrontEnd
from tests.support.processes import environment, no_survivors, processes_of
from tests.support.rooms import write_suite
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(170)

OLD = """
import sys
import llmbench_mcp
llmbench_mcp.__version__ = "0.0.1"
from llmbench_mcp.__main__ import main
sys.exit(main())
"""


class Counting(FakeServer):
    """Answers right, remembers the most requests at once, and may hold the first request for one prompt."""

    def __init__(self, held: str = "") -> None:
        super().__init__(["m"], self._decide)
        self.gate = Gate()
        self.inside = self.most_inside = 0
        self._held = held

    async def _decide(self, request: Received) -> Reply:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            prompt = request.prompt.strip()
            if prompt == self._held and self.prompts.count(request.prompt) == 1:
                await self.gate.pass_through()
            return text_reply(prompt.rsplit(" ", 1)[-1])
        finally:
            self.inside -= 1


async def run_started(front_end: FrontEnd) -> str:
    return str((await front_end.call("run_start", models=["m"], suites=["sums"]))["run_id"])


async def prepared(front_end: FrontEnd, url: str) -> None:
    await front_end.call("endpoint_add", url=url, name="box")
    await front_end.call("models_discover")
    await front_end.call("model_assign", model="m")


async def ended(front_end: FrontEnd, run_id: str) -> dict[str, object]:
    with anyio.fail_after(120):
        while True:
            status = await front_end.call("run_status", run_id=run_id, wait_s=5)
            if status["state"] not in ("queued", "running", "paused"):
                return status


def executor_process(data_dir: Path, log: Path, *python: str, **changes: str) -> psutil.Popen:
    command = [sys.executable, *(python or ("-m", "llmbench_mcp")), "executor", "run"]
    with log.open("ab") as out:
        env = environment(data_dir, **changes)
        return psutil.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env)


async def test_three_front_ends_and_competing_executors_are_one_executor_at_any_time(tmp_path: Path) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "said.log"
    write_suite(tmp_path, 20)
    tasks = {"LLMBENCH_TASKS_DIR": str(tmp_path / "tasks")}
    answers: list[str] = []
    async with Counting() as box, no_survivors(data_dir):
        fronts = [await FrontEnd.start(data_dir, log, **tasks) for _ in range(3)]
        for front in fronts:
            front.answers = answers
        await prepared(fronts[0], box.url)
        runs: dict[FrontEnd, str] = {}

        async def use(front: FrontEnd) -> None:
            runs[front] = await run_started(front)
            assert (await ended(front, runs[front]))["state"] == "completed"

        executors = [executor_process(data_dir, log) for _ in range(3)]
        async with anyio.create_task_group() as group:
            for front in fronts:
                group.start_soon(use, front)
        await until(lambda: all_ended(executors), 60)
        results = [await front.call("run_status", run_id=run_id) for front, run_id in runs.items()]
        for front in fronts:
            await front.hang_up()
            await front.ended()
    assert [(result["passed"], result["interrupted"]) for result in results] == [(20, 0)] * 3
    assert {process.returncode for process in executors} == {0}
    assert box.most_inside == 1
    assert len([prompt for prompt in box.prompts if prompt.startswith("Question")]) == 60
    told = "".join(answers) + log.read_text() + read(data_dir / "logs" / "executor.log")
    assert "locked" not in told
    assert "Traceback" not in told


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def all_ended(processes: list[psutil.Popen]) -> bool:
    return all(process.poll() is not None for process in processes)


async def test_a_newer_program_has_the_older_executor_drain_and_follows_it(tmp_path: Path) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "said.log"
    write_suite(tmp_path, 6)
    async with Counting("Question 2") as box, no_survivors(data_dir):
        front = await FrontEnd.start(data_dir, log, LLMBENCH_TASKS_DIR=str(tmp_path / "tasks"))
        await prepared(front, box.url)
        old = executor_process(data_dir, log, "-c", OLD, LLMBENCH_IDLE_EXIT_S="60")
        await until(lambda: has_started(log), 60)
        started = await front.call("run_start", models=["m"], suites=["sums"])
        with anyio.fail_after(60):
            await box.gate.reached()
        await until(lambda: is_waited_for(data_dir), 60)
        assert old.poll() is None, "it finishes the answer in flight"
        box.gate.open()
        status = await ended(front, started["run_id"])
        await until(lambda: all_ended([old]), 30)
        await front.hang_up()
        await front.ended()
    assert f"version 0.0.1 was asked to leave; {__version__} then takes over" in started["remarks"][0]
    assert (status["state"], status["passed"], status["interrupted"]) == ("completed", 6, 0)
    assert old.returncode == 0
    assert box.most_inside == 1
    assert sorted(box.prompts.count(f"Question {n}") for n in range(1, 7)) == [1] * 6
    assert [box.prompts.count("Hi"), read(log).count("passed")] == [2, 2], "the old one asked no third question"


async def is_waited_for(data_dir: Path) -> bool:
    return "waits for process" in read(data_dir / "logs" / "executor.log")


async def has_started(log: Path) -> bool:
    return "started with fence" in read(log)


async def test_a_frozen_executor_is_replaced_and_when_it_wakes_changes_nothing(tmp_path: Path) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "said.log"
    write_suite(tmp_path, 4)
    changes = {"LLMBENCH_TASKS_DIR": str(tmp_path / "tasks"), "LLMBENCH_LEASE_S": "1.5"}
    async with Counting("Question 2") as box, no_survivors(data_dir):
        front = await FrontEnd.start(data_dir, log, **changes)
        await prepared(front, box.url)
        run_id = await run_started(front)
        with anyio.fail_after(60):
            await box.gate.reached()
        await until(lambda: has_done(front, run_id, 1), 60)
        (frozen,) = processes_of(data_dir, "executor run")
        frozen.suspend()
        try:
            status = await ended(front, run_id)
        finally:
            frozen.resume()
        box.gate.open()
        await until(lambda: has_left(frozen), 30)
        again = await front.call("run_status", run_id=run_id)
        await front.hang_up()
        await front.ended()
    assert (status["state"], status["passed"], status["interrupted"]) == ("completed", 4, 1)
    assert {name: again[name] for name in ("done", "passed")} == {"done": 4, "passed": 4}
    assert [box.prompts.count(f"Question {n}") for n in range(1, 5)] == [1, 2, 1, 1]


async def has_done(front: FrontEnd, run_id: str, count: int) -> bool:
    return int((await front.call("run_status", run_id=run_id))["done"]) >= count


async def has_left(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


async def test_a_run_whose_executor_was_just_killed_is_cancelled_at_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "said.log"
    write_suite(tmp_path, 4)
    changes = {"LLMBENCH_TASKS_DIR": str(tmp_path / "tasks"), "LLMBENCH_LEASE_S": "100"}
    async with Counting("Question 2") as box, no_survivors(data_dir):
        front = await FrontEnd.start(data_dir, log, **changes)
        await prepared(front, box.url)
        run_id = await run_started(front)
        with anyio.fail_after(60):
            await box.gate.reached()
        (executor,) = processes_of(data_dir, "executor run")
        executor.send_signal(signal.SIGKILL)
        began = time.monotonic()
        with anyio.fail_after(4):
            cancelled = await front.call("run_cancel", run_id=run_id)
        record_property("cancel_s executor dead", round(time.monotonic() - began, 3))
        await front.hang_up()
        await front.ended()
    assert cancelled["state"] == "cancelled"
    assert box.prompts.count("Question 3") == 0
