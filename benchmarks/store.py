"""The store with a million attempts: how fast one is committed, how fast it is looked at, how large it is.

Fills a database: one run of a tenth of the attempts by the product's own statements, many to a transaction, and
copies of it; then measures through the doors the product uses: ``WorkStore`` for commits, the services for reading.

::

    .venv/bin/python -m benchmarks.store [--attempts 1000000] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from benchmarks.copies import copy_run, recount
from benchmarks.prose import Prose
from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.attempt import AttemptOutcome, Grade, PlannedAttempt, Where
from llmbench_mcp.domain.chat import Completion, Sampling, Timing, Usage
from llmbench_mcp.domain.clock import SystemClock, boot_id
from llmbench_mcp.domain.endpoint import Endpoint, ServerInfo
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.domain.run import PlannedJob, RunPlan, RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.store.attempts import AttemptFilter, finished
from llmbench_mcp.store.database import Database, open_database
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.runs import RunStore
from llmbench_mcp.store.work import WorkStore

MODELS, SUITES, TASKS = 40, 5, 50
ROUND = MODELS * SUITES * TASKS
"""Attempts of one repeat of everything."""
CHUNK = 2000
FAILURES = ("wrong_answer", "format", "no_code", "timeout", "empty")


class Nobody:
    """No devices and no servers: nothing is asked here."""

    async def read(self) -> Sequence[Device]:
        """None."""
        return []

    def open(self, endpoint: Endpoint) -> Backend:
        """Never."""
        raise AssertionError("the benchmark asks no server")

    async def detect(self, url: str, credential_ref: str | None = None, by_agent: bool = False) -> ServerInfo:
        """Never."""
        raise AssertionError("the benchmark asks no server")

    def names(self) -> Sequence[str]:
        """None."""
        return ()


@dataclass(frozen=True)
class Place:
    """What is measured: the application and, beside it, the executor's connection."""

    app: App
    database: Database
    work: WorkStore
    suites: dict[str, tuple[Task, ...]]
    prose: Prose

    @property
    def runs(self) -> RunStore:
        """Where runs are made."""
        return RunStore(self.database, SystemClock())


def write_tasks(folder: Path) -> None:
    """Suites of tasks that the catalogue reads."""
    listed = []
    for suite in range(SUITES):
        (folder / f"s{suite}").mkdir(parents=True)
        ids = [f"s{suite}/task_{number:03}" for number in range(TASKS)]
        for number, task_id in enumerate(ids):
            block = f'```yaml\ntype: reasoning\nexpected_answer: "{number}"\nanswer_type: number\n```'
            (folder / f"{task_id}.md").write_text(f"PROMPT:\nQuestion {task_id}\n\nVALIDATION:\n{block}\n")
        tasks = "".join(f"    - {task_id}\n" for task_id in ids)
        head = f"- name: suite_{suite}\n  title: Suite\n  description: Made for measuring.\n  version: 1\n  tasks:\n"
        listed.append(head + tasks)
    (folder / "suites.yaml").write_text("".join(listed))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Place]:
    """The application and the executor's side on one database."""
    if not (folder / "tasks").exists():
        write_tasks(folder / "tasks")
    settings = Settings(folder / "data", folder / "cache", folder / "tasks", discover_ports="none")
    nobody, clock = Nobody(), SystemClock()
    doors = Doors(clock, nobody, nobody, lambda ref, by_agent: None, spawns_executors=False)
    async with open_app(settings, doors) as app, open_database(settings.database_path) as database:
        lease = await LeaseStore(database, clock).acquire("executor", 1e6)
        assert lease is not None, "nobody else is here"
        suites = {f"suite_{n}": (await app.suites.get(f"suite_{n}")).tasks for n in range(SUITES)}
        yield Place(app, database, WorkStore(database, clock, lease), suites, Prose(seed=7))


async def make_run(place: Place, name: str, models: int, repeats: int) -> str:
    """A run of all suites, as a request makes it."""
    request = RunRequest(tuple(f"model-{n}" for n in range(models)), tuple(place.suites), repeats=repeats)
    jobs, served, labels = [], {}, {}
    for model in range(models):
        for suite, tasks in place.suites.items():
            job_id = f"job_{name}{model:03}{suite[-1]}"
            manifest = _manifest(model, suite)
            jobs.append(PlannedJob(job_id, f"model_{model:010}", "ep_benchmark0", suite, Sampling(), manifest, tasks))
            served[job_id], labels[job_id] = f"model-{model}", (f"model-{model}", "box", "nvidia:0")
    return await place.runs.create(RunPlan(f"run_{name}", request, tuple(jobs)), served, labels)


def _manifest(model: int, suite: str) -> dict[str, Any]:
    digest = f"sha256:{model:064x}"
    facts = {"model_digest": digest, "quantisation": "Q4_K_M", "parameter_count": 8_030_261_248, "suite": suite}
    more = {"context_length": 8192, "backend": "llamacpp", "server_version": "b6789", "device": "nvidia:0"}
    return {**facts, **more, "suite_version": 1, "program_version": "0.1.0", "sampling": Sampling().as_dict()}


def outcome(place: Place, attempt: PlannedAttempt, rng: random.Random) -> AttemptOutcome:
    """A graded answer of 2 kB; the higher a model's number, the better it is."""
    skill = int(attempt.job_id[-4:-1]) / MODELS
    passed = rng.random() < 0.2 + 0.6 * skill
    failure = None if passed else rng.choice(FAILURES)
    findings = () if passed else (f"expected {rng.randint(0, 99)}, got {rng.randint(0, 99)}",)
    grade = Grade(passed, float(passed), "high", "reasoning", "1.4", failure, findings, {"answer": (int(passed), 1)})
    speed = 40 + 60 * rng.random()
    timing = Timing(0.1, 0.12, 500 / speed, (1 / speed,) * 8, speed, 900.0, {"prompt_ms": 81.2, "predicted_ms": 9211.0})
    usage = Usage(rng.randint(50, 400), 500)
    answer = Completion(place.prose.answer(), finish_reason="stop", usage=usage, timing=timing)
    where = Where("workstation", boot_id(), "nvidia:0", "exec_benchmark0")
    return AttemptOutcome(attempt, where, answer, grade)


async def fill(place: Place, run_id: str) -> int:
    """End all attempts of a run; many to a transaction, each with the statements of its own."""
    now, rng, count = SystemClock().utc_now(), random.Random(run_id), 0
    for job in [row["id"] for row in await place.database.all("run_jobs", run_id)]:
        while waiting := await place.work.next_attempts(job, CHUNK):
            count += len(waiting)
            async with place.database.transaction() as transaction:
                await transaction.batch(list(_statements(place, waiting, rng, now)))
    return count


def _statements(
    place: Place, waiting: Sequence[PlannedAttempt], rng: random.Random, now: str
) -> Iterator[tuple[Any, ...]]:
    for attempt in waiting:
        yield from finished(outcome(place, attempt, rng), now)


Spans = list[tuple[float, float]]
"""Milliseconds of each call: on the wall, of the processor."""


async def timed(times: int, work: Callable[[int], Awaitable[object]]) -> Spans:
    """Measure each of that many calls."""
    spans = []
    for number in range(times):
        began, cpu = time.perf_counter(), time.process_time()
        await work(number)
        spans.append((1000 * (time.perf_counter() - began), 1000 * (time.process_time() - cpu)))
    return spans


def report(name: str, spans: Spans, target_ms: float | None = None) -> None:
    """One row: least, median and 99th percentile, and the median of processor time: of a busy machine, believe that."""
    wall = [span for span, _ in spans]
    least, p50 = min(wall), statistics.median(wall)
    p99 = statistics.quantiles(wall, n=100, method="inclusive")[98]
    cpu = statistics.median(span for _, span in spans)
    aim = "" if target_ms is None else f"   aim < {target_ms:g} ms: {'met' if p99 < target_ms else 'missed'}"
    print(f"  {name:33} least {least:6.2f}  p50 {p50:6.2f}  p99 {p99:6.2f}  processor {cpu:6.2f} ms{aim}", flush=True)


async def measure_commits(place: Place, times: int) -> None:
    """One transaction per attempt, as the executor does it."""
    run_id = await make_run(place, f"c{time.time_ns()}", 8, 1)
    rng, outcomes = random.Random(1), []
    for job in [row["id"] for row in await place.database.all("run_jobs", run_id)]:
        waiting = await place.work.next_attempts(job, 1000)
        outcomes += [outcome(place, attempt, rng) for attempt in waiting]
    half = min(times, len(outcomes)) // 2

    async def whole(number: int) -> None:
        ended = outcomes[half + number]
        await place.work.next_attempts(ended.attempt.job_id, 1)
        await place.work.claim(ended.attempt, "asking")
        await place.work.grading(ended.attempt, ended.completion.usage if ended.completion else None)
        assert await place.work.finish(ended)

    began, cpu = time.perf_counter(), time.process_time()
    spans = await timed(half, lambda number: place.work.finish(outcomes[number]))
    span, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"\nCommits: {half / span:,.0f} a second; {1000 * cpu / half:.2f} ms of processor time each")
    report("finish, one transaction", spans)
    report("next, claim, grading, finish", await timed(half, whole))


async def measure_reads(place: Place, big: str, planned: int) -> None:
    """Through the services."""
    app = place.app
    deep, failed = planned - 100, AttemptFilter(only_failed=True)
    one_model = AttemptFilter(model="model-3", suite="suite_1")
    print(f"\nReading, from a run of {planned:,} attempts where one is named")
    report("run_status", await timed(300, lambda _: app.runs.status(big)), 5)
    report("leaderboard", await timed(100, lambda n: app.leaderboards.query(f"suite_{n % SUITES}")), 100)
    report("run_results, first page", await timed(200, lambda _: app.runs.results(big, AttemptFilter())))
    report("run_results, deep page", await timed(100, lambda _: app.runs.results(big, AttemptFilter(), 10, deep)))
    report("run_results, failed", await timed(100, lambda _: app.runs.results(big, failed)))
    report("run_results, failed, deep", await timed(100, lambda _: app.runs.results(big, failed, 10, planned // 4)))
    report("run_results, one model and suite", await timed(100, lambda _: app.runs.results(big, one_model)))
    wrong = AttemptFilter(failure="timeout")
    report("run_results, one failure word", await timed(50, lambda _: app.runs.results(big, wrong)))
    report("one attempt with its answer", await timed(200, lambda n: app.runs.attempt(big, 1 + n)))
    report("run_list", await timed(200, lambda _: app.runs.page()))


async def size(place: Place, attempts: int) -> None:
    """Bytes per attempt."""
    await place.database.checkpoint()
    path = place.database.path
    total = path.stat().st_size
    print(f"\nDatabase: {total / 1e6:,.0f} MB, {total / attempts:,.0f} bytes an attempt")
    answer = [len(place.prose.answer().encode()) for _ in range(1000)]
    print(f"  answers: {statistics.mean(answer):,.0f} bytes each before compression")


async def fill_all(place: Place, attempts: int) -> None:
    """One large run, attempt by attempt; then smaller copies of it until there are that many attempts."""
    began, cpu, path = time.perf_counter(), time.process_time(), place.database.path
    big = await make_run(place, "big", MODELS, max(1, round(attempts / 10 / ROUND)))
    count = made = await fill(place, big)
    span = time.perf_counter() - began
    print(f"{made:,} attempts in {span:,.0f} s ({time.process_time() - cpu:,.0f} s of processor time)", flush=True)
    while count < attempts:
        repeats = min(3, -(-(attempts - count) // ROUND))
        count += await anyio.to_thread.run_sync(copy_run, path, big, f"run_copy{count // ROUND:03}", repeats)
    await anyio.to_thread.run_sync(recount, path)
    print(f"{count - made:,} copied", flush=True)


async def run(attempts: int, folder: Path) -> None:
    """Fill, unless that was done before, and measure."""
    async with opened(folder) as place:
        if await place.runs.get("run_big") is None:
            await fill_all(place, attempts)
        big = await place.app.runs.get("run_big")
        runs, _ = await place.app.runs.page(1000)
        await size(place, sum(run.done for run in runs))
        await measure_reads(place, big.id, big.planned)
        await measure_commits(place, 2000)


def main() -> None:
    """Run in a folder of its own, which is removed afterwards unless it was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument(
        "--keep", type=Path, help="a folder to work in and leave the database in; a database there is measured"
    )
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="llmbench-store-"))
    try:
        anyio.run(run, options.attempts, folder)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
