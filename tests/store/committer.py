"""Commits attempts one by one and says so after each, until it is killed: ``python -m`` with a path and a run."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from tests.store.support import answer, grade, graded, stores


async def commit_all(path: Path, run_id: str) -> None:
    async with stores(path) as all_:
        await all_.work.recover()
        for row in await all_.database.all("run_jobs", run_id):
            while waiting := await all_.work.next_attempts(row["id"], 1):
                await all_.work.claim(waiting[0], "asking")
                await all_.work.grading(waiting[0], None)
                await all_.work.finish(graded(waiting[0], grade(), answer("some words of an answer " * 80)))
                sys.stdout.write("committed\n")
                sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(commit_all, Path(sys.argv[1]), sys.argv[2])
