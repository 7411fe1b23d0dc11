"""The one connection owner: WAL, short immediate transactions, foreign errors mapped here."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import anyio

from llmbench_mcp.domain.errors import InputError, LeaseLost, StorageBusy, StorageError
from llmbench_mcp.store.migrate import migrate
from llmbench_mcp.store.sql import named_queries

Row = dict[str, Any]
_BUSY_TIMEOUT_MS = 15_000
_LEAST_FREE = 1 << 20


class Database:
    """Named queries on one SQLite file; at most one transaction at a time in this process."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._lock = anyio.Lock()
        self.path = path

    async def all(self, query: str, *parameters: Any) -> list[Row]:
        """Every row of a named query, as dicts: committed data only, never a transaction's half."""
        # One connection sees its own uncommitted changes, so reading waits for the transaction under way.
        async with self._lock:
            with mapped_errors(self.path):
                return await Transaction(self._connection).all(query, *parameters)

    async def one(self, query: str, *parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = await self.all(query, *parameters)
        return rows[0] if rows else None

    @asynccontextmanager
    async def transaction(self, fence: tuple[str, str, int] | None = None) -> AsyncIterator[Transaction]:
        """One immediate transaction, committed at the end of the block, rolled back on any exception.

        Args:
            fence: (scope, owner, fence number) that must still hold the lease.

        Raises:
            LeaseLost: another owner has the lease; nothing was written.
        """
        async with self._lock:
            with mapped_errors(self.path):
                await self._begin()
                try:
                    transaction = Transaction(self._connection)
                    if fence is not None and not await transaction.all("lease_holds", *fence):
                        raise LeaseLost(f"Another process took over the {fence[0]} lease.")
                    yield transaction
                    await self._finish("commit")
                finally:
                    await self._finish("rollback")  # nothing is left to roll back after a commit

    async def _begin(self) -> None:
        # Shielded: a BEGIN that lands after its caller was cancelled would leave a transaction nobody ends.
        with anyio.CancelScope(shield=True):
            await self._connection.execute("begin immediate")

    async def _finish(self, how: str) -> None:
        with anyio.CancelScope(shield=True):
            if self._connection.in_transaction:
                await self._connection.execute(how)


class Transaction:
    """Named statements inside an open transaction."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, query: str, *parameters: Any) -> int:
        """Execute a named statement; returns the number of rows changed."""
        cursor = await self._connection.execute(named_queries()[query], parameters)
        changed = cursor.rowcount
        await cursor.close()
        return changed

    async def many(self, query: str, rows: list[tuple[Any, ...]]) -> None:
        """Execute a named statement once per row."""
        cursor = await self._connection.executemany(named_queries()[query], rows)
        await cursor.close()

    async def all(self, query: str, *parameters: Any) -> list[Row]:
        """Every row of a named query."""
        cursor = await self._connection.execute(named_queries()[query], parameters)
        rows = await cursor.fetchall()
        await cursor.close()
        return [dict(row) for row in rows]

    async def one(self, query: str, *parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = await self.all(query, *parameters)
        return rows[0] if rows else None


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """Open (creating and migrating as needed) the database at ``path``.

    Raises:
        StorageError: the folder or file cannot be used; NewerDatabaseError when a newer program wrote it.
    """
    _make_folder(path.parent)
    connection = aiosqlite.connect(path, isolation_level=None, timeout=_BUSY_TIMEOUT_MS / 1000)
    with mapped_errors(path):
        # Shielded: a connection given up half open would leave its thread behind.
        with anyio.CancelScope(shield=True):
            await connection
    try:
        connection.row_factory = sqlite3.Row
        with mapped_errors(path):
            await _prepare(connection, path)
        yield Database(connection, path)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


async def _prepare(connection: aiosqlite.Connection, path: Path) -> None:
    # First, so that a database that is not ours, or newer, is left as it was.
    # aiosqlite has no public way to run one function on its connection's thread as a whole.
    await connection._execute(migrate, connection._conn, path)  # type: ignore[no-untyped-call]  # untyped in aiosqlite
    for pragma in ("foreign_keys = on", "journal_mode = wal", "synchronous = normal", "temp_store = memory"):
        await connection.execute(f"pragma {pragma}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except FileExistsError as error:
        raise StorageError(
            f"The data directory {folder} is a file.", "Set LLMBENCH_DATA_DIR (or --data-dir) to a folder."
        ) from error
    except OSError as error:
        raise StorageError(
            f"The data directory {folder} cannot be created: {error.strerror}.",
            "Set LLMBENCH_DATA_DIR (or --data-dir) to a folder you can write.",
        ) from error


@contextmanager
def mapped_errors(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into the domain's, naming the file and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _operational(error, path) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            "A value cannot be stored: half of a character pair, or a number beyond 64 bits.", "Send another."
        ) from error
    except UnicodeDecodeError as error:
        raise _damaged(error, path) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise _damaged(error, path) from error


def _damaged(error: Exception, path: Path) -> StorageError:
    return StorageError(
        f"The file {path} is not a usable database: {error}.", "Move it away and start again, or restore a backup."
    )


def _is_full(path: Path) -> bool:
    return shutil.disk_usage(path.parent).free < _LEAST_FREE


def _operational(error: sqlite3.OperationalError, path: Path) -> StorageError:
    text = str(error)
    if "full" in text or ("disk I/O" in text and _is_full(path)):
        return StorageError(f"No space is left for the database {path}.", "Free disk space, then run again.")
    if "decode" in text:
        return _damaged(error, path)
    if "locked" in text or "busy" in text:
        return StorageBusy(f"The database {path} stayed locked by another process.", "Try again shortly.")
    if "readonly" in text or "read-only" in text or "unable to open" in text or "disk I/O" in text:
        remedy = "Make the folder and file writable, or set LLMBENCH_DATA_DIR to a folder you can write."
        return StorageError(f"The database {path} cannot be opened for writing: {text}.", remedy)
    return StorageError(f"The database {path} refused a statement: {text}.", "Please report this.")
