"""Whether a schedule is due, told without opening the database for work: a waiting front end stays small."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from llmbench_mcp.store.sql import named_queries

_WAIT_S = 1.0


def schedule_is_due(path: Path, now: str) -> bool:
    """Whether the database at ``path`` holds a schedule due by that UTC time. False where it cannot be told."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as plain:
            return bool(plain.execute(named_queries()["schedules_overdue"], (now,)).fetchone()[0])
    except sqlite3.Error:
        return False
