"""Many agents at one HTTP server while a run goes on: are they served in time, and is the run left alone?

    python benchmarks/mcp_load.py [--sessions 200] [--seconds 60] [--every 2] [--rounds 1]

Four processes: a mock inference server whose true times are its log, the executor, ``llmbench-mcp serve``, and this
one with the agents. Half of the agents speak 2026-07-28, half the handshake protocol with its stream open. Each asks
for the run's status or a leaderboard of ten rows in turn, one call every ``--every`` seconds, beginning at a random
moment once all are connected. The same run is done once with nobody asking and once with all, and its own timings are
set side by side.
Goals on 2 cores: no error, p99 below 250 ms, bounded memory, the run's timings the same within noise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.mcp_wire import Agent, RefusedError
from benchmarks.pipeline import log_of, mock_server

TASKS = 20
ROWS = 10
ANSWER_S = 0.68
STREAMS = 4
CONNECTING = 8
"""So many agents connect at the same time; who holds a session is measured, not who opens one."""
TASK = """---
title: Question {number}
difficulty: easy
tags: [load]
---
PROMPT:
Question {number}?

VALIDATION:
```yaml
type: keyword
expected: tok
```
"""


@dataclass(slots=True)
class Tally:
    """What the agents met."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    connecting_s: float = 0.0
    """How long it took until all were connected."""


def prepare(folder: Path) -> dict[str, str]:
    """A suite ``load`` in ``folder``; the environment of every process."""
    tasks = folder / "tasks"
    (tasks / "load").mkdir(parents=True)
    names = [f"load/question_{number}" for number in range(TASKS)]
    for number, name in enumerate(names):
        (tasks / f"{name}.md").write_text(TASK.format(number=number), encoding="utf-8")
    suite = {"name": "load", "title": "Load", "description": "Load.", "version": 1, "tasks": names}
    (tasks / "suites.yaml").write_text(json.dumps([suite]), encoding="utf-8")
    folders = {"LLMBENCH_DATA_DIR": str(folder / "data"), "LLMBENCH_TASKS_DIR": str(tasks)}
    return {**psutil.Process().environ(), **folders, "LLMBENCH_IDLE_EXIT_S": "2", "LLMBENCH_DISCOVER_PORTS": "none"}


@contextmanager
def serving(env: dict[str, str]) -> Iterator[tuple[psutil.Process, int]]:
    """The HTTP server; gives its process and port."""
    command = [sys.executable, "-m", "llmbench_mcp", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            text += process.stdout.readline()
        try:
            yield psutil.Process(process.pid), int(json.loads(text)["url"].rpartition(":")[2])
        finally:
            process.terminate()
            print(f"the server ended with code {process.wait(30)}")


def product(env: dict[str, str], *words: str) -> dict[str, Any]:
    """One command's JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "llmbench_mcp", *words, "--json"], env=env, capture_output=True, text=True, check=False
    )
    if not done.stdout.startswith("{") or '"error": {' in done.stdout[:20]:
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return dict(json.loads(done.stdout))


def set_up(env: dict[str, str], url: str) -> None:
    """A model with a leaderboard of ten rows: ten temperatures are never pooled."""
    product(env, "endpoint", "add", url, "--name", "mock", "--concurrency", "16")
    product(env, "discover")
    product(env, "assign", "m", "mock")
    temperatures = ",".join(f"{(1 + row) / 10}" for row in range(ROWS))
    product(env, "run", "start", "--model", "m", "--suite", "load", "--param", f"temperature={temperatures}", "--wait")
    product(env, "endpoint", "add", url, "--name", "mock", "--concurrency", str(STREAMS))


async def agents(port: int, count: int, run_id: str, seconds: float, every: float) -> Tally:
    """All agents connect, a few at a time; then all are at work for a while."""
    tally, door = Tally(), asyncio.Semaphore(CONNECTING)
    crowd = [Agent(port, modern=number % 2 == 0) for number in range(count)]
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for agent in crowd:
            group.create_task(connected(agent, door, tally))
    tally.connecting_s = time.monotonic() - began
    end = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for agent in crowd:
            group.create_task(one_agent(agent, run_id, end, every, tally))
    return tally


async def connected(agent: Agent, door: asyncio.Semaphore, tally: Tally) -> None:
    """Open a session."""
    async with door:
        with noting(tally):
            await agent.connect()


@contextmanager
def noting(tally: Tally) -> Iterator[None]:
    """What goes wrong is counted."""
    try:
        yield
    except (OSError, RefusedError, asyncio.IncompleteReadError) as error:
        tally.errors[f"{type(error).__name__}: {error}"[:160]] += 1


async def one_agent(agent: Agent, run_id: str, end: float, every: float, tally: Tally) -> None:
    """Ask now and then."""
    calls = [("run_status", {"run_id": run_id}), ("leaderboard_query", {"suite": "load"})]
    with noting(tally):
        await asyncio.sleep(random.random() * every)
        while time.monotonic() < end:
            calls.append(calls.pop(0))
            began = time.perf_counter()
            await agent.call(*calls[0])
            took = time.perf_counter() - began
            tally.seconds.append(took)
            await asyncio.sleep(max(0.0, every - took))
        await agent.close()


def attempts_of(env: dict[str, str], run_id: str) -> list[dict[str, Any]]:
    """What the run measured."""
    rows = product(env, "run", "results", run_id, "--limit", "100000")["attempts"]
    return [row for row in rows if row["state"] == "done"]


def start(env: dict[str, str], seconds: float, seed: int) -> str:
    """A run that lasts longer than the agents ask."""
    repeats = int((seconds + 15) * STREAMS / ANSWER_S / TASKS) + 1
    words = ("--model", "m", "--suite", "load", "--repeats", str(repeats), "--seed", str(seed))
    run_id = str(product(env, "run", "start", *words)["run"]["id"])
    while product(env, "run", "status", run_id)["run"]["done"] < STREAMS:
        time.sleep(0.2)
    return run_id


def finish(env: dict[str, str], run_id: str, url: str, label: str) -> None:
    """Stop the run; print its own timings beside the truth."""
    product(env, "run", "cancel", run_id)
    while product(env, "run", "status", run_id)["run"]["state"] != "cancelled":
        time.sleep(0.2)
    rows, truths = attempts_of(env, run_id), [truth for truth in log_of(url) if truth["last_at"]]
    measured = {
        name: [row[name] for row in rows if row[name] is not None] for name in ("ttft_s", "e2e_s", "decode_tps")
    }
    true = [truth["first_at"] - truth["read_at"] for truth in truths]
    print(f"{label}: {len(rows)} attempts; " + "; ".join(f"{name} {spread(found)}" for name, found in measured.items()))
    print(f"{label}: the mock's own time to the first token {spread(true)}")


def spread(values: Sequence[float]) -> str:
    """Median and 95th percentile."""
    cuts = statistics.quantiles(values, n=20)
    return f"p50 {statistics.median(values):.4g} p95 {cuts[18]:.4g}"


def report(tally: Tally, process: psutil.Process, before: tuple[float, float], seconds: float) -> bool:
    """Print what the agents met and what the server took; whether the goals are met."""
    took = sorted(1000 * value for value in tally.seconds)
    cpu = sum(process.cpu_times()[:2]) - before[0]
    p50, p99 = took[len(took) // 2], took[int(len(took) * 0.99)]
    grown = (process.memory_info().rss - before[1]) / 2**20
    print(f"{len(took)} calls ({len(took) / seconds:.0f}/s), {sum(tally.errors.values())} errors {dict(tally.errors)}")
    print(f"all connected after {tally.connecting_s:.1f} s")
    print(f"p50 {p50:.1f} ms, p95 {took[int(len(took) * 0.95)]:.1f} ms, p99 {p99:.1f} ms, longest {took[-1]:.1f} ms")
    print(f"server: {1000 * cpu / len(took):.2f} ms of CPU per call, {100 * cpu / seconds:.0f} % of one core", end="; ")
    print(f"resident {before[1] / 2**20:.0f} MiB before, {grown:+.1f} MiB after", flush=True)
    return not tally.errors and p99 < 250


def main() -> None:
    """Print every round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        env = prepare(folder)
        url = stack.enter_context(mock_server())
        set_up(env, url)
        process, port = stack.enter_context(serving(env))
        good = [one_round(env, url, process, port, number, options) for number in range(options.rounds)]
    sys.exit(not all(good))


def one_round(
    env: dict[str, str], url: str, process: psutil.Process, port: int, number: int, options: argparse.Namespace
) -> bool:
    """An idle run and a run under load."""
    log_of(url)
    run_id = start(env, options.seconds, 2 * number)
    time.sleep(options.seconds)
    finish(env, run_id, url, "idle")
    run_id = start(env, options.seconds, 2 * number + 1)
    # So that what is loaded once, at the first calls, is no growth.
    asyncio.run(agents(port, options.sessions, run_id, 3, options.every))
    before = (sum(process.cpu_times()[:2]), process.memory_info().rss)
    tally = asyncio.run(agents(port, options.sessions, run_id, options.seconds, options.every))
    good = report(tally, process, before, options.seconds)
    finish(env, run_id, url, "load")
    return good


if __name__ == "__main__":
    main()
