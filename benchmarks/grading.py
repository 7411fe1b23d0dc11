"""How many answers a second the coding validator grades, sandbox included.

``python benchmarks/grading.py [--answers N] [--jobs N] [--humaneval FILE]``: FILE is HumanEval.jsonl or its .gz;
without it three built-in tasks are graded over and over. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

Item = tuple[dict[str, Any], Completion]

BUILT_IN = (
    ("def f(a, b):\n    return a + b\n", "assert f(1, 2) == 3\nassert f(-1, 1) == 0\n"),
    (
        "def f(xs):\n    return sorted(set(xs))\n",
        "def check(c):\n    assert c([3, 1, 3]) == [1, 3]\n    assert c([]) == []\n",
    ),
    ("import re\n\ndef f(s):\n    return re.findall(r'[0-9]+', s)\n", "assert f('a1b22') == ['1', '22']\n"),
)


def built_in() -> Iterator[Item]:
    """Small tasks without end."""
    for code, tests in itertools.cycle(BUILT_IN):
        yield {"type": "coding", "function_name": "f", "test_code": tests}, Completion(f"```python\n{code}```")


def humaneval(path: Path) -> Iterator[Item]:
    """The canonical solutions of HumanEval, over and over."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        tasks = [json.loads(line) for line in lines]
    for task in itertools.cycle(tasks):
        code = task["prompt"] + task["canonical_solution"]
        block = {"type": "coding", "function_name": task["entry_point"]}
        block |= {"setup_code": task["prompt"], "test_code": task["test"]}
        yield block, Completion(f"```python\n{code}\n```")


def grade(item: Item) -> Verdict:
    """The verdict on one item."""
    return registry.grade(*item)


def main() -> None:
    """Warm up, grade, print the rate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--humaneval", type=Path)
    options = parser.parse_args()
    source = humaneval(options.humaneval) if options.humaneval else built_in()
    items = list(itertools.islice(source, options.answers))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(grade, items[: 4 * options.jobs]))
        start = time.perf_counter()
        verdicts = list(pool.map(grade, items))
        seconds = time.perf_counter() - start
    report = {
        "answers": len(verdicts),
        "passed": sum(verdict.passed for verdict in verdicts),
        "jobs": options.jobs,
        "seconds": round(seconds, 2),
        "answers_per_second": round(len(verdicts) / seconds, 1),
        "isolation": registry.isolation_level(),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
