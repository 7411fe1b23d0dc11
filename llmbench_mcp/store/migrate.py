"""Numbered migrations: applied in order, recorded, append-only; a newer database is left alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path

from llmbench_mcp.domain.errors import NewerDatabaseError, StorageError
from llmbench_mcp.store.sql import statements


@cache
def migrations() -> tuple[tuple[int, str, str], ...]:
    """(number, name, script) of every migration, in order."""
    folder = resources.files("llmbench_mcp.store") / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple((int(name[:4]), name[5:-4], (folder / name).read_text(encoding="utf-8")) for name in names)


def latest_version() -> int:
    """The schema number this program writes."""
    return migrations()[-1][0]


def migrate(connection: sqlite3.Connection, path: Path) -> int:
    """Bring the database at ``path`` to the latest schema; returns how many migrations ran.

    Raises:
        StorageError: the file is another program's database.
        NewerDatabaseError: its schema number is above ours; nothing was changed.
    """
    present = _version(connection)
    if present > latest_version():
        raise NewerDatabaseError(
            f"The database {path} has schema {present}; this program knows up to {latest_version()}.",
            "Upgrade llmbench-mcp, or point LLMBENCH_DATA_DIR at another folder. Nothing was changed.",
        )
    if present == 0 and connection.execute("select 1 from sqlite_master where name not like 'sqlite_%'").fetchone():
        raise StorageError(
            f"The database {path} belongs to another program: it has tables, and none of ours.",
            "Point LLMBENCH_DATA_DIR at another folder. Nothing was changed.",
        )
    due = [step for step in migrations() if step[0] > present]
    if not due:
        return 0
    if present:
        _back_up(connection, path.with_suffix(f".schema{present}.bak"))
    connection.execute("begin immediate")
    try:
        done = _apply(connection, _version(connection))
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.execute("rollback")
    return done


def _back_up(connection: sqlite3.Connection, copy: Path) -> None:
    """Keep the database as the older program left it, which can still read the copy."""
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(part)) as target:
            connection.backup(target)
        part.replace(copy)
    finally:
        part.unlink(missing_ok=True)


def _apply(connection: sqlite3.Connection, present: int) -> int:
    done = 0
    for number, name, script in migrations():
        if number <= present:
            continue
        for statement in statements(script):
            connection.execute(statement)
        connection.execute("insert into schema_migrations (version, name) values (?, ?)", (number, name))
        done += 1
    return done


def _version(connection: sqlite3.Connection) -> int:
    known = connection.execute("select 1 from sqlite_master where name = 'schema_migrations'").fetchone()
    if not known:
        if connection.in_transaction:
            connection.execute(
                "create table schema_migrations (version integer primary key, name text not null,"
                " applied_at text not null default current_timestamp)"
            )
        return 0
    return int(connection.execute("select coalesce(max(version), 0) from schema_migrations").fetchone()[0])
