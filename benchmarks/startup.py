"""How long a client waits for this server to start, against importing the MCP SDK alone.

Each round runs, in turn and in alternating order, (a) an interpreter that imports ``mcp.server.mcpserver`` and ends,
and (b) ``python -m llmbench_mcp`` until it has answered ``initialize`` over stdio. A first, unmeasured round of both
writes the bytecode. Exit code 1 when the median of the rounds' ratios b/a is above the limit.

    python benchmarks/startup.py [--rounds 15] [--limit 1.3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "startup-benchmark", "version": "1"},
    },
}


def import_sdk(env: dict[str, str]) -> float:
    """Seconds for an interpreter to start, import the SDK's server and end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server.mcpserver"], env=env, check=True)
    return time.perf_counter() - start


def answer_initialize(env: dict[str, str]) -> float:
    """Seconds from starting this server until its answer to ``initialize`` is read."""
    frame = json.dumps(_INITIALIZE).encode() + b"\n"
    command = [sys.executable, "-m", "llmbench_mcp"]
    start = time.perf_counter()
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None, "a pipe"
        assert server.stdout is not None, "a pipe"
        server.stdin.write(frame)
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        took = time.perf_counter() - start
        server.stdin.close()
        server.wait(30)
    if "result" not in answer:
        raise SystemExit(f"initialize was refused: {answer}")
    return took


def measure(rounds: int, env: dict[str, str]) -> list[tuple[float, float]]:
    """Pairs of (import, initialize) seconds; which comes first alternates."""
    runs: tuple[Callable[[dict[str, str]], float], ...] = (import_sdk, answer_initialize)
    for run in runs:
        run(env)
    pairs = []
    for index in range(rounds):
        order = (0, 1) if index % 2 == 0 else (1, 0)
        took = {which: runs[which](env) for which in order}
        pairs.append((took[0], took[1]))
    return pairs


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit", type=float, default=1.3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LLMBENCH_DATA_DIR": str(Path(folder) / "data")}
        pairs = measure(options.rounds, env)
    ratios = [ours / theirs for theirs, ours in pairs]
    ratio = statistics.median(ratios)
    print(f"import mcp.server.mcpserver   median {statistics.median(a for a, _ in pairs):.3f} s")
    print(f"llmbench_mcp to initialize    median {statistics.median(b for _, b in pairs):.3f} s")
    print(f"ratio                         median {ratio:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"limit                         {options.limit} over {options.rounds} rounds")
    return int(ratio > options.limit)


if __name__ == "__main__":
    sys.exit(main())
