"""A process killed in the middle of commits leaves a whole database, and everything that it said was committed."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.store.support import assert_totals_are_right, make_run, stores, tasks

ROUNDS = 6


def killed_after(path: Path, run_id: str, commits: int) -> int:
    """How many commits a process told of that was killed after so many."""
    command = [sys.executable, "-m", "tests.store.committer", str(path), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        for _ in range(commits):
            assert process.stdout.readline() == b"committed\n"
        process.send_signal(signal.SIGKILL)
        more = process.stdout.read().count(b"\n")
    return commits + more


def free_leases(path: Path) -> None:
    """The lease of the dead is free at once: what is tested here is the database."""
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("update leases set expires_mono = 0")


async def test_a_database_is_whole_after_kills_in_the_middle_of_commits(tmp_path: Path) -> None:
    path, rng, told = tmp_path / "llmbench.db", random.Random(5), 0
    async with stores(path) as all_:
        run_id = await make_run(all_.runs, models=2, asked=tasks(50), repeats=20)
    for _ in range(ROUNDS):
        free_leases(path)
        told += killed_after(path, run_id, rng.randint(1, 60))
        with closing(sqlite3.connect(path)) as plain:
            assert plain.execute("pragma integrity_check").fetchall() == [("ok",)]
            assert plain.execute("pragma foreign_key_check").fetchall() == []
            (done,) = plain.execute("select count(*) from attempts where state = 'done'").fetchone()
            (answers,) = plain.execute("select count(*) from completions").fetchone()
            (flying,) = plain.execute("select count(*) from attempts where state like 'g%'").fetchone()
        assert told <= done == answers <= told + 1
        assert flying <= 1
        assert_totals_are_right(path)
        told = done
