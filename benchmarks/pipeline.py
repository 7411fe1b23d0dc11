"""How much a run adds to the time its server is busy: asking, grading and committing between the answers.

    python benchmarks/pipeline.py [--attempts 150] [--rounds 3]

A mock server whose true times are its log answers in 0.68 s (64 tokens, 10 ms apart). The run goes the product's
whole way: the command line queues it, a detached executor asks, grades and commits every attempt. Wall time is from
the first measured request read to the last answer written; busy time is the sum over answers, divided by the
concurrency. Limits: 1.03 at concurrency 1, 1.08 at 8.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIMITS = {1: 1.03, 8: 1.08}


@contextmanager
def mock_server() -> Iterator[str]:
    """A server of its own process; gives its address."""
    process = subprocess.Popen([sys.executable, str(HERE / "mock_server.py")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def product(data_dir: Path, *words: str) -> dict[str, Any]:
    """One command's JSON."""
    command = [sys.executable, "-m", "llmbench_mcp", *words, "--json"]
    env = {**os.environ, "LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_IDLE_EXIT_S": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return dict(json.loads(done.stdout))


def log_of(url: str) -> list[dict[str, float]]:
    """The server's log so far, which it then forgets."""
    with urllib.request.urlopen(f"{url}/log") as answer:
        return list(json.load(answer))


def measure(attempts: int, concurrency: int) -> float:
    """Wall time over busy time of one run."""
    with tempfile.TemporaryDirectory() as folder, mock_server() as url:
        data_dir, tasks = Path(folder) / "data", Path(folder) / "tasks.jsonl"
        lines = [json.dumps({"prompt": f"Question {n}", "expected": "tok"}) for n in range(attempts)]
        tasks.write_text("\n".join(lines), encoding="utf-8")
        product(data_dir, "endpoint", "add", url, "--name", "mock", "--concurrency", str(concurrency))
        product(data_dir, "discover")
        product(data_dir, "run", "start", "--model", "m", "--endpoint", "mock", "--tasks", str(tasks), "--wait")
        answers = sorted(log_of(url), key=lambda truth: truth["read_at"])[1:]  # the first is the warm-up
        assert len(answers) == attempts, f"{len(answers)} answers"
    wall = max(truth["last_at"] for truth in answers) - answers[0]["read_at"]
    busy = sum(truth["last_at"] - truth["read_at"] for truth in answers) / concurrency
    return wall / busy


def main() -> None:
    """Print every round and the median per concurrency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for concurrency, limit in LIMITS.items():
        ratios = [measure(options.attempts * concurrency, concurrency) for _ in range(options.rounds)]
        shown = ", ".join(f"{ratio:.4f}" for ratio in ratios)
        median = statistics.median(ratios)
        print(f"concurrency {concurrency}: wall / busy {shown}; median {median:.4f} (limit {limit})", flush=True)


if __name__ == "__main__":
    main()
