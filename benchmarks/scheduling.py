"""How good and how dear the scheduler's choices are: makespan, model loads, seconds per step.

    python benchmarks/scheduling.py [--jobs 10000] [--models 40] [--largest 1000000]

Simulates 1, 4 and 64 devices: jobs arrive in random order, each with a random model and length, and all wait
from the start. The lower bound of the makespan is the longest device's work with each of its models loaded
once; the least number of loads is one per (device, model). Beside our scheduler: first in, first out per
device, and one model at a time on the whole machine. Then one step is timed over ever more waiting jobs.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.run import OpenJob
from llmbench_mcp.engine.scheduler import Held, Loaded, lane, next_jobs

LOAD_S = 30.0


@dataclass(frozen=True)
class Work:
    """Jobs with their lengths in seconds, by id."""

    jobs: list[OpenJob]
    seconds: dict[str, float]


@dataclass
class Outcome:
    """What a way of scheduling came to."""

    makespan_s: float
    loads: int


Order = Callable[[list[OpenJob], set[str], dict[str, Loaded], float], list[OpenJob]]


def make_work(count: int, devices: int, models: int, seed: int) -> Work:
    """Random jobs; every model has its home on one device."""
    rng = random.Random(seed)
    home = {model: f"gpu:{model % devices}" for model in range(max(models, devices))}
    jobs, seconds = [], {}
    for n in range(count):
        model = rng.randrange(len(home))
        jobs.append(OpenJob(f"j{n}", f"r{n % 50}", home[model], home[model], f"m{model}", 0, float(n) / 1000))
        seconds[f"j{n}"] = rng.lognormvariate(3.0, 1.0)
    rng.shuffle(jobs)
    return Work(jobs, seconds)


def least(work: Work) -> Outcome:
    """The bounds."""
    busy: dict[str, float] = defaultdict(float)
    pairs = {(job.device, job.served_name) for job in work.jobs}
    for job in work.jobs:
        busy[job.device] += work.seconds[job.id]
    for device, _ in pairs:
        busy[device] += LOAD_S
    return Outcome(max(busy.values()), len(pairs))


def simulate(work: Work, order: Order) -> Outcome:
    """Event by event: whenever a device falls idle, the order is asked."""
    waiting = {job.id: job for job in work.jobs}
    loaded: dict[str, Loaded] = {}
    busy: set[str] = set()
    ends: list[tuple[float, str]] = []
    now, loads = 0.0, 0
    while waiting or ends:
        for job in order(list(waiting.values()), busy, loaded, now):
            del waiting[job.id]
            where, model = lane(job), (job.endpoint_id, job.served_name)
            new = loaded.get(where) != model
            loads += new
            loaded[where] = model
            busy.add(where)
            heapq.heappush(ends, (now + work.seconds[job.id] + (LOAD_S if new else 0.0), where))
        now, where = heapq.heappop(ends)
        busy.discard(where)
    return Outcome(now, loads)


def ours(jobs: list[OpenJob], busy: set[str], loaded: dict[str, Loaded], now: float) -> list[OpenJob]:
    """The product's scheduler."""
    return next_jobs(jobs, busy, loaded, Held(), now)


def first_in_first_out(jobs: list[OpenJob], busy: set[str], loaded: dict[str, Loaded], now: float) -> list[OpenJob]:
    """The oldest job of each idle device."""
    chosen: dict[str, OpenJob] = {}
    for job in jobs:
        if job.device not in busy:
            chosen.setdefault(job.device, job)
    return list(chosen.values())


def one_model_at_a_time(jobs: list[OpenJob], busy: set[str], loaded: dict[str, Loaded], now: float) -> list[OpenJob]:
    """All jobs of one model, then all of the next, on the whole machine."""
    if busy or not jobs:
        return []
    current = set(loaded.values())
    same = [job for job in jobs if (job.endpoint_id, job.served_name) in current]
    first = (same or jobs)[0]
    loaded.clear()
    if same:
        loaded[lane(first)] = (first.endpoint_id, first.served_name)
    return [first]


def compare(jobs: int, devices: int, models: int) -> None:
    """Print one row per order."""
    work = make_work(jobs, devices, models, seed=devices)
    bound = least(work)
    print(f"\n{jobs} jobs, {max(models, devices)} models, {devices} devices; bound {bound.makespan_s:,.0f} s", end="")
    print(f" and {bound.loads} loads")
    orders: Sequence[tuple[str, Order]] = (
        ("ours", ours),
        ("first in, first out", first_in_first_out),
        ("one model at a time", one_model_at_a_time),
    )
    for name, order in orders:
        got = simulate(work, order)
        ratio, loads = got.makespan_s / bound.makespan_s, got.loads / bound.loads
        print(f"  {name:22} makespan {ratio:8.3f} x bound   loads {got.loads:6} = {loads:8.2f} x least")


def time_steps(largest: int) -> None:
    """Print the cost of one step in processor time, and how it grows, against n log n.

    The jobs come oldest first, as the store gives them.
    """
    print("\nOne step over n waiting jobs (64 devices, 1000 models), best of 5, processor time:")
    first = before = (0, 0.0)
    count = 1000
    while count <= largest:
        work = make_work(count, 64, 1000, seed=1)
        jobs = sorted(work.jobs, key=lambda job: job.created_s)
        best = min(_timed(jobs) for _ in range(5))
        grown = ""
        if before[0]:
            grown = f"   grew {best / before[1]:6.1f} x; n log n {_fair(before[0], count):5.1f} x"
        print(f"  {count:9,} {best * 1000:10.2f} ms {best / count * 1e6:7.2f} us a job{grown}")
        before = (count, best)
        first, count = first if first[0] else before, count * 10
    print(f"  from first to last {before[1] / first[1]:,.0f} x; n log n {_fair(first[0], before[0]):,.0f} x")


def _fair(small: int, large: int) -> float:
    """How much n log n grows."""
    return large * math.log(large) / (small * math.log(small))


def _timed(jobs: list[OpenJob]) -> float:
    began = time.process_time()
    next_jobs(jobs, (), {}, Held(), 10.0)
    return time.process_time() - began


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--largest", type=int, default=1_000_000)
    options = parser.parse_args()
    for devices in (1, 4, 64):
        compare(options.jobs, devices, options.models)
    time_steps(options.largest)


if __name__ == "__main__":
    main()
