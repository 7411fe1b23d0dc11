"""More of the same: copies of a run within its database, by plain SQL, for what would take hours to make one by one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from llmbench_mcp.store.migrate import migrations
from llmbench_mcp.store.sql import statements

_RECOUNTS = (
    "update jobs set",
    "delete from job_failures",
    "insert into job_failures",
    "delete from scores",
    "update scores set",
)
_LATER = ("non_logic_score",)
"""Columns of ``scores`` that a later migration added and fills by itself."""


def copy_run(path: Path, source: str, name: str, repeats: int) -> int:
    """A run ``name`` with that many repeats of all that ``source`` asked; returns how many attempts.

    Ids are new and random, as the product's are; totals are left to ``recount``.
    """
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("create temp table ids as select id, 'att_' || hex(randomblob(6)) as new from attempts"
                      " where run_id = ? and repeat <= ?", (source, repeats))  # fmt: skip
        plain.execute("create index temp.ids_id on ids (id)")
        _insert(plain, "runs", {"id": "?"}, "where id = ?", (name, source))
        _insert(plain, "jobs", {"id": "id || ?", "run_id": "?"}, "where run_id = ?", (name, name, source))
        copies = "join temp.ids on ids.id = t.id order by t.number"
        count = _insert(
            plain, "attempts", {"id": "ids.new", "job_id": "job_id || ?", "run_id": "?"}, copies, (name, name)
        )
        _insert(plain, "completions", {"attempt_id": "ids.new"}, "join temp.ids on ids.id = t.attempt_id", ())
        events = "select at, ?, kind, data from events where run_id = ? limit ?"
        plain.execute(f"insert into events (at, run_id, kind, data) {events}", (name, source, count))
        return count


def _insert(
    plain: sqlite3.Connection, table: str, other: dict[str, str], which: str, values: tuple[object, ...]
) -> int:
    """Copy rows; ``other``: columns that differ, in the order of the values for them."""
    names = [row[1] for row in plain.execute(f"pragma table_info({table})")]
    order = [*other, *(name for name in names if name not in other)]
    columns = ", ".join(other.get(name, f"t.{name}").replace("job_id ||", "t.job_id ||") for name in order)
    return plain.execute(
        f"insert into {table} ({', '.join(order)}) select {columns} from {table} t {which}", values
    ).rowcount


def recount(path: Path) -> None:
    """All running totals anew, by the statements of the migrations that do so."""
    with closing(sqlite3.connect(path)) as plain, plain:
        names = [row[1] for row in plain.execute("pragma table_info(scores)") if row[1] not in _LATER]
        for script in (text for number, _, text in migrations() if number in (8, 11)):
            for statement in statements(script):
                bare = "\n".join(line for line in statement.splitlines() if not line.startswith("--")).strip()
                if bare.startswith(("insert into scores", *_RECOUNTS)):
                    plain.execute(bare.replace("insert into scores", f"insert into scores ({', '.join(names)})"))
        plain.execute("update jobs set planned = done + errors")
