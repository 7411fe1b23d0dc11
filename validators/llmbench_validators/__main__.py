"""``python -m llmbench_validators [--jobs N] < in.jsonl > out.jsonl``: grading without the server.

Exit status: 0 every line was graded, 1 some could not be, 2 bad arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import closing

from llmbench_validators import lines


def main(arguments: list[str] | None = None) -> int:
    """Grade standard input to standard output; returns the exit status."""
    parser = argparse.ArgumentParser(prog="llmbench_validators", description="Grade JSON lines.")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, help="answers graded at a time")
    options = parser.parse_args(arguments)
    status = 0
    source = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 - its own reader, left to the end of the process
    with closing(lines.grade_lines(lines.bounded(source.readline), options.jobs)) as results:
        for result in results:
            status = 1 if "error" in result else status
            sys.stdout.write(json.dumps(result) + "\n")
            sys.stdout.flush()
    return status


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
