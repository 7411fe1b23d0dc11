"""The command line with small portions, held after the first portion of a large run until its standard input ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from llmbench_mcp.cli.main import run
from llmbench_mcp.domain.run import RunPlan
from llmbench_mcp.store import runs

PORTION = 2
_portions = runs._portions


def held(plan: RunPlan) -> Iterator[list[tuple[object, ...]]]:
    portions = _portions(plan)
    yield next(portions)
    yield next(portions)  # the second is written when the third is asked for
    sys.stderr.write("half way\n")
    sys.stderr.flush()
    sys.stdin.read()
    yield from portions


if __name__ == "__main__":
    runs.PORTION = PORTION
    runs._portions = held
    sys.exit(run(sys.argv[1:]))
