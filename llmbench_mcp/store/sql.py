"""Named SQL: every ``-- name:`` section of ``queries/*.sql``, loaded once."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"\$(\d+)")


@cache
def named_queries() -> dict[str, str]:
    """All queries by name. ``$1`` becomes ``?1``: sqlite3 reads a raw ``$1`` as a name and swaps columns."""
    queries: dict[str, str] = {}
    folder = resources.files("llmbench_mcp.store") / "queries"
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            queries.update(_sections(file.read_text(encoding="utf-8")))
    return queries


def _sections(text: str) -> dict[str, str]:
    parts = _NAME.split(text)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name: to_sqlite(body.strip().rstrip(";")) for name, body in pairs}


def to_sqlite(sql: str) -> str:
    """Numbered parameters as SQLite writes them."""
    return _PARAMETER.sub(r"?\1", sql)


def statements(script: str) -> Iterator[str]:
    """Split a migration into statements; ``executescript`` would commit the open transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
