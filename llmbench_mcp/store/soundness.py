"""Whether a database file is whole, as SQLite itself finds."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from llmbench_mcp.domain.errors import StorageError

LIMIT_S = 5.0


def check_soundness(path: Path, limit_s: float = LIMIT_S) -> None:
    """Read through the file, on a connection of its own.

    Raises:
        StorageError: it is damaged. TimeoutError: nothing was found within ``limit_s``, and not all was read.
    """
    try:
        found = _first_finding(path, limit_s)
    except sqlite3.DatabaseError as error:
        if "interrupted" in str(error):
            raise TimeoutError from error
        found = str(error)
    if found is not None:
        raise StorageError(
            f"The database {path} is damaged: {' '.join(found.split())[:300]}.",
            "Stop the executor (llmbench-mcp executor stop) and copy the folder. Then restore a backup, save what can "
            f"be read (sqlite3 {path.name} .recover | sqlite3 new.db), or move the file away to begin anew.",
        )


def _first_finding(path: Path, limit_s: float) -> str | None:
    target = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(target, uri=True, check_same_thread=False)) as connection:
        timer = threading.Timer(limit_s, connection.interrupt)
        timer.start()
        try:
            found = str(connection.execute("pragma quick_check(1)").fetchone()[0])
        finally:
            timer.cancel()
            timer.join()
    return None if found == "ok" else found
