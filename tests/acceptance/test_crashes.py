"""Front ends and executors killed at random during one long run: nothing lost, nothing doubled, nothing left behind.

``LLMBENCH_CRASHES`` sets how many are killed (32 by default, 200 for the whole proof), ``LLMBENCH_CRASH_SEED`` which
and when.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest

from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, text_reply
from tests.support.front_ends import FrontEnd, GoneError
from tests.support.processes import no_survivors, processes_of
from tests.support.rooms import write_suite
from tests.support.waiting import until

KILLS = int(os.environ.get("LLMBENCH_CRASHES", "32"))
SEED = int(os.environ.get("LLMBENCH_CRASH_SEED", "20260131"))
ATTEMPTS = 300
DRAINED = 100
"""So many turns of the loop after a process has ended, the simulator, which shares it, has read its last question."""
FRONT_ENDS = 3

pytestmark = pytest.mark.timeout(120 + 6 * KILLS)


class Simulator(FakeServer):
    """Counts every question and every overlap; lets the run get no further than the kills have."""

    def __init__(self) -> None:
        super().__init__(["m"], self._decide)
        self.asked: defaultdict[str, list[float]] = defaultdict(list)
        """By prompt, the moments it was asked."""
        self.answered: set[str] = set()
        self.allowance = 0
        self.inside = self.most_inside = self.arrivals = 0
        self._moved = anyio.Event()

    def allow(self, count: int) -> None:
        """So many different questions may be answered by now."""
        self.allowance = count
        self._stir()

    def _stir(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def arrival(self) -> None:
        """Wait for the next question."""
        seen = self.arrivals
        while self.arrivals == seen:
            await self._moved.wait()

    async def _decide(self, request: Received) -> Reply:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.arrivals += 1
        self._stir()
        try:
            return await self._answer_to(request.prompt.strip())
        finally:
            self.inside -= 1

    async def _answer_to(self, prompt: str) -> Reply:
        if prompt.startswith("Question"):
            self.asked[prompt].append(anyio.current_time())
            while prompt not in self.answered and len(self.answered) >= self.allowance:
                await self._moved.wait()
            self.answered.add(prompt)
        return text_reply(prompt.rsplit(" ", 1)[-1])


@dataclass
class Kill:
    """An executor's death by our hand, on the clock of ``anyio.current_time``."""

    sent: float
    victim: psutil.Process
    ended: float = math.inf


def is_gone(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


async def watch_deaths(deaths: list[Kill]) -> None:
    """Note when each of the killed is gone, until cancelled."""
    while True:
        for death in deaths:
            if death.ended == math.inf and is_gone(death.victim):
                for _ in range(DRAINED):
                    await anyio.lowlevel.checkpoint()
                death.ended = anyio.current_time()
        await anyio.sleep(0.05)


@dataclass
class Crowd:
    """Three front ends, whatever happens to them, one of which always asks how the run is."""

    data_dir: Path
    log: Path
    tasks: str
    chance: random.Random
    alive: list[FrontEnd] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    state: str = "queued"

    async def fill(self) -> None:
        while len(self.alive) < FRONT_ENDS:
            with suppress(GoneError):
                front_end = await FrontEnd.start(self.data_dir, self.log, LLMBENCH_TASKS_DIR=self.tasks)
                front_end.answers = self.answers
                self.alive.append(front_end)

    async def watch(self, run_id: str) -> None:
        """Until the run is over; each look also sees that an executor works."""
        while not await self.is_over():
            with suppress(GoneError, IndexError):
                self.state = (await self.chance.choice(self.alive).call("run_status", run_id=run_id))["state"]
            await anyio.sleep(0.2)

    async def is_over(self) -> bool:
        return self.state not in ("queued", "running", "paused")

    async def lose_one(self, how: str) -> None:
        victim = self.alive.pop(self.chance.randrange(len(self.alive)))
        if how == "hang up":
            await victim.hang_up()
        else:
            victim.signal(signal.Signals[how])
        await victim.ended()
        await self.fill()


async def test_kills_at_any_moment_lose_and_double_nothing(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    write_suite(tmp_path, ATTEMPTS)
    data_dir = tmp_path / "data"
    crowd = Crowd(data_dir, tmp_path / "front_ends.log", str(tmp_path / "tasks"), chance)
    done: Counter[str] = Counter()
    deaths: list[Kill] = []
    async with Simulator() as simulator, no_survivors(data_dir):
        await crowd.fill()
        run_id = await queued(crowd.alive[0], simulator.url)
        async with anyio.create_task_group() as group:
            group.start_soon(crowd.watch, run_id)
            group.start_soon(watch_deaths, deaths)
            while sum(done.values()) < KILLS:
                # Never the last one: the run must not end before the kills do.
                simulator.allow(min(ATTEMPTS - 1, ATTEMPTS * sum(done.values()) // KILLS + 2))
                done[await kill_something(crowd, simulator, chance, deaths)] += 1
            simulator.allow(ATTEMPTS)
            await until(crowd.is_over, 120)
            group.cancel_scope.cancel()
        results = await crowd.alive[0].call("run_status", run_id=run_id)
        for front_end in crowd.alive:
            await front_end.hang_up()
            await front_end.ended()
    print(f"seed {SEED}: {dict(done)}; asked {sum(map(len, simulator.asked.values()))} times for {ATTEMPTS} attempts")  # noqa: T201 - the figures of a long run
    assert (results["state"], results["done"], results["passed"]) == ("completed", ATTEMPTS, ATTEMPTS)
    assert simulator.most_inside == 1, "two executors asked at the same time"
    check_database(data_dir / "llmbench.db", done["executor SIGKILL"] + done["executor SIGTERM"])
    log = (data_dir / "logs" / "executor.log").read_text()
    stood_still = {
        prompt: log.count(f"{task_of(prompt)} is asked again: this process stood still") for prompt in simulator.asked
    }
    assert {
        prompt: moments
        for prompt, moments in simulator.asked.items()
        if unexplained(moments, deaths) > stood_still[prompt]
    } == {}
    told = "".join(crowd.answers) + crowd.log.read_text() + log
    assert "locked" not in told


async def queued(front_end: FrontEnd, url: str) -> str:
    await front_end.call("endpoint_add", url=url, name="box")
    await front_end.call("models_discover")
    await front_end.call("model_assign", model="m")
    return str((await front_end.call("run_start", models=["m"], suites=["sums"]))["run_id"])


async def kill_something(crowd: Crowd, simulator: Simulator, chance: random.Random, deaths: list[Kill]) -> str:
    """At some moment of an executor's life, from its first import to its last commit, kill it or a front end."""
    if chance.random() < 0.8:
        with anyio.move_on_after(20):
            await simulator.arrival()
    await anyio.sleep(chance.random() ** 2 * 0.5)
    if chance.random() < 0.3:
        how = chance.choice(("SIGKILL", "SIGTERM", "hang up"))
        await crowd.lose_one(how)
        return f"front end {how}"
    how = chance.choice(("SIGKILL", "SIGKILL", "SIGTERM"))
    await until(lambda: an_executor(crowd.data_dir), 60)
    with suppress(psutil.Error, IndexError):
        victim = chance.choice(processes_of(crowd.data_dir, "executor run"))
        victim.send_signal(signal.Signals[how])
        deaths.append(Kill(anyio.current_time(), victim))
    return f"executor {how}"


async def an_executor(data_dir: Path) -> bool:
    return bool(processes_of(data_dir, "executor run"))


def unexplained(moments: list[float], deaths: list[Kill]) -> int:
    """How often a question was asked again without the death, between the two, of an executor.

    No death explains two repetitions. What remains is for a starved machine to explain: an answer during which the
    executor stood still is no measurement, is asked for again, and the log says so.
    """
    left, without = list(deaths), 0
    for before, after in pairwise(moments):
        cause = next((death for death in left if death.sent <= after and death.ended >= before), None)
        if cause is None:
            without += 1
        else:
            left.remove(cause)
    return without


def task_of(prompt: str) -> str:
    return f"own/q{int(prompt.rpartition(' ')[2]):02d}"


def check_database(path: Path, kills: int) -> None:
    """Every attempt graded once, and the totals their sums."""
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert database.execute("pragma foreign_key_check").fetchall() == []
        attempts = database.execute("select task_id, interrupted, state, passed from attempts").fetchall()
        graded = Counter(database.execute("select json_extract(data, '$.task') from events where kind = 'attempt'"))
        completions = database.execute("select count(*) from completions").fetchone()
        job = database.execute("select done, errors, passed, planned, interrupted from jobs").fetchall()
    database.close()
    assert Counter(state for *_, state, _ in attempts) == {"done": ATTEMPTS}
    assert set(graded.values()) == {1}
    assert (len(graded), completions) == (ATTEMPTS, (ATTEMPTS,))
    assert [row[:4] for row in job] == [(ATTEMPTS, 0, ATTEMPTS, ATTEMPTS)]
    assert job[0][4] <= kills
    assert max(interrupted for _, interrupted, *_ in attempts) <= kills
