"""The one connection owner: WAL, short immediate transactions, each in as few hops to its thread as it allows."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
import anyio

from llmbench_mcp.domain.errors import LeaseLost, StorageBusy, StorageError
from llmbench_mcp.store.failures import mapped_errors, trouble, try_writing
from llmbench_mcp.store.migrate import migrate
from llmbench_mcp.store.sql import named_queries

Row = dict[str, Any]
Statement = tuple[Any, ...]
"""A named statement and its parameters, to run with others in one hop."""
Statements = Sequence[Statement] | Callable[[], Sequence[Statement]]
Fence = tuple[str, str, int]
"""(scope, owner, fence number) that must still hold the lease."""

_BUSY_TIMEOUT_MS = 15_000
_READS_AT_ONCE = 16
_T = TypeVar("_T")


class Database:
    """Named queries on one SQLite file; at most one transaction at a time in this process."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, file: tuple[int, int]) -> None:
        self._connection = connection
        self._file = file
        self._lock = anyio.Lock()
        self._asks: list[_Ask] = []
        self._failed = False
        self.path = path

    async def all(self, query: str, *parameters: Any) -> list[Row]:
        """Every row of a named query, as dicts: committed data only, never a transaction's half."""
        return (await self.look((query, *parameters)))[0]

    async def one(self, query: str, *parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = await self.all(query, *parameters)
        return rows[0] if rows else None

    async def look(self, *queries: Statement) -> list[list[Row]]:
        """The rows of several queries at one moment: no commit comes between them."""
        ask = _Ask(queries)
        self._asks.append(ask)
        try:
            # One connection sees its own uncommitted changes, so reading waits for the transaction under way.
            async with self._lock:
                if ask in self._asks:
                    await self._answer_asks()
        finally:
            if ask in self._asks:
                self._asks.remove(ask)
        with mapped_errors(self.path):
            return ask.result()

    async def _answer_asks(self) -> None:
        """Whoever's turn it is reads for the next in the queue, too: a hop to the thread costs more than most reads."""
        asks, self._asks = self._asks[:_READS_AT_ONCE], self._asks[_READS_AT_ONCE:]
        try:
            await _shielded(self._connection, _look_for_all, asks)
        finally:
            self._asks = [ask for ask in asks if not ask.answered] + self._asks

    async def write(self, fence: Fence | None, statements: Statements) -> int:
        """One immediate transaction in one hop: all statements, or only the first where that changes no row.

        A function that makes them is called in the connection's thread: compressing a long answer takes its time.
        Returns how many rows the first changed. Raises as ``transaction``.
        """
        async with self._lock:
            with self._writing():
                return await _shielded(self._connection, _write, fence, statements)

    @asynccontextmanager
    async def transaction(self, fence: Fence | None = None) -> AsyncIterator[Transaction]:
        """One immediate transaction, committed at the end of the block, rolled back on any exception.

        Raises:
            LeaseLost: another owner has the lease; nothing was written.
        """
        async with self._lock:
            with self._writing():
                try:
                    await _shielded(self._connection, _begin, fence)
                    yield Transaction(self._connection)
                    await _shielded(self._connection, _end, "commit")
                finally:
                    await _shielded(self._connection, _end, "rollback")  # nothing is left of it after a commit

    async def check_room(self) -> None:
        """Before work that costs something: that its result can be stored.

        Raises:
            StorageError: too little free space, read-only, or a write failed before and still does.
        """
        found = trouble(self.path)
        if found is not None:
            raise found
        if self._failed:
            await anyio.to_thread.run_sync(try_writing, self.path)
            self._failed = False

    async def checkpoint(self) -> None:
        """Bring everything committed into the database file itself; what somebody else reads just now may stay."""
        async with self._lock:
            with mapped_errors(self.path):
                await _shielded(self._connection, _checkpoint)

    async def compact(self) -> int:
        """Write the database anew without what was removed from it; returns by how many bytes the file shrank.

        Nobody else can write meanwhile, and as much room as it takes must be free. Raises StorageError.
        """
        async with self._lock:
            with mapped_errors(self.path):
                return await _shielded(self._connection, _compact, self.path)

    def size(self) -> int:
        """Bytes of the database file."""
        return self.path.stat().st_size

    async def is_in_place(self) -> bool:
        """Whether the file at the path is still the one worked on: neither removed nor replaced, as far as it shows."""
        try:
            return await _file_at(self.path) == self._file
        except FileNotFoundError:
            return False
        except OSError:  # a file system that is away for a while
            return True

    def trouble(self) -> StorageError | None:
        """What keeps the database from being written, as far as can be seen without writing."""
        return trouble(self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with mapped_errors(self.path):
                yield
        except StorageBusy:
            raise
        except StorageError:
            self._failed = True  # until there was room for a file on trial
            raise


class Transaction:
    """Named statements inside an open transaction."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, query: str, *parameters: Any) -> int:
        """Execute a named statement; returns the number of rows changed."""
        return (await self.batch([(query, *parameters)]))[0]

    async def batch(self, statements: Sequence[Statement]) -> list[int]:
        """Execute named statements in one hop; returns the number of rows each changed."""
        return await _on_thread(self._connection, _batch, statements)

    async def many(self, query: str, rows: list[tuple[Any, ...]]) -> None:
        """Execute a named statement once per row."""
        await _on_thread(self._connection, _many, query, rows)

    async def all(self, query: str, *parameters: Any) -> list[Row]:
        """Every row of a named query."""
        return await _on_thread(self._connection, _rows, (query, *parameters))

    async def one(self, query: str, *parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = await self.all(query, *parameters)
        return rows[0] if rows else None


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """Open (creating and migrating as needed) the database at ``path``; what cannot be written can still be read.

    Raises:
        StorageError: the folder or file cannot be used; NewerDatabaseError when a newer program wrote it.
    """
    _make_folder(path.parent)
    with mapped_errors(path):
        connection = await _connect(path)
    try:
        yield Database(connection, path, await _file_at(path))
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


async def _file_at(path: Path) -> tuple[int, int]:
    """What tells the file from every other one."""
    found = await anyio.Path(path).stat()
    return found.st_dev, found.st_ino


async def _connect(path: Path) -> aiosqlite.Connection:
    try:
        return await _opened(path, path)
    except sqlite3.OperationalError:
        target = _reading_only(path)
        if target is None:
            raise
    return await _opened(target, path)


def _reading_only(path: Path) -> str | None:
    """How to open a whole database in a read-only folder: SQLite can have no shared memory there, and needs none."""
    unfinished = path.with_name(f"{path.name}-wal").exists()
    if unfinished or not path.is_file() or trouble(path) is None:
        return None
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


async def _opened(target: str | Path, path: Path) -> aiosqlite.Connection:
    uri = isinstance(target, str)
    connection = aiosqlite.connect(target, isolation_level=None, timeout=_BUSY_TIMEOUT_MS / 1000, uri=uri)
    # Shielded: a connection given up half open would leave its thread behind.
    with anyio.CancelScope(shield=True):
        try:
            await connection
        except BaseException:
            # Else its thread might tell a loop that is closed by then that it has ended.
            if connection._thread.is_alive():
                await anyio.to_thread.run_sync(connection._thread.join)
            raise
        try:
            await _on_thread(connection, _prepare, path)
        except BaseException:  # cancellation too: closed, then raised on
            await connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # First, so that a database that is not ours, or newer, is left as it was.
    migrate(connection, path)
    for pragma in ("foreign_keys = on", "synchronous = normal", "temp_store = memory"):
        connection.execute(f"pragma {pragma}")
    if connection.execute("pragma journal_mode").fetchone()[0] != "wal":
        connection.execute("pragma journal_mode = wal")


async def _on_thread(connection: aiosqlite.Connection, work: Callable[..., _T], *arguments: Any) -> _T:
    # aiosqlite has no public way to run one function on its connection's thread as a whole.
    call = connection._execute(work, connection._conn, *arguments)  # type: ignore[no-untyped-call]  # untyped in aiosqlite
    result: _T = await call
    return result


async def _shielded(connection: aiosqlite.Connection, work: Callable[..., _T], *arguments: Any) -> _T:
    """To its end even when the caller is cancelled: the lock is not given back while the thread is still at it."""
    with anyio.CancelScope(shield=True):
        result = await _on_thread(connection, work, *arguments)
    return result  # noqa: RET504 - a scope may swallow a cancellation, so mypy wants the return outside it


def _run(connection: sqlite3.Connection, statement: Statement) -> int:
    return connection.execute(named_queries()[statement[0]], statement[1:]).rowcount


def _rows(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    cursor = connection.execute(named_queries()[statement[0]], statement[1:])
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _batch(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[int]:
    return [_run(connection, statement) for statement in statements]


def _many(connection: sqlite3.Connection, query: str, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(named_queries()[query], rows)


def _look(connection: sqlite3.Connection, queries: Sequence[Statement]) -> list[list[Row]]:
    if len(queries) == 1:
        return [_rows(connection, queries[0])]
    connection.execute("begin")
    try:
        return [_rows(connection, query) for query in queries]
    finally:
        _end(connection, "commit")


class _Ask:
    """Queries that somebody waits for; in the end their rows, or why there are none."""

    def __init__(self, queries: Sequence[Statement]) -> None:
        self.queries = queries
        self.rows: list[list[Row]] = []
        self.error: Exception | None = None
        self.answered = False

    def result(self) -> list[list[Row]]:
        if self.error is not None:
            raise self.error
        return self.rows


def _look_for_all(connection: sqlite3.Connection, asks: Sequence[_Ask]) -> None:
    for ask in asks:
        try:
            ask.rows = _look(connection, ask.queries)
        except Exception as error:  # noqa: BLE001 - raised where it was asked for, and nobody else's
            ask.error = error
        ask.answered = True


def _write(connection: sqlite3.Connection, fence: Fence | None, given: Statements) -> int:
    statements = given() if callable(given) else given
    _begin(connection, fence)
    try:
        changed = _run(connection, statements[0])
        if changed:
            _batch(connection, statements[1:])
        _end(connection, "commit")
    finally:
        _end(connection, "rollback")  # nothing is left of it after a commit
    return changed


def _begin(connection: sqlite3.Connection, fence: Fence | None) -> None:
    connection.execute("begin immediate")
    if fence is not None and not _rows(connection, ("lease_holds", *fence)):
        _end(connection, "rollback")
        raise LeaseLost(f"Another process took over the {fence[0]} lease.")


def _checkpoint(connection: sqlite3.Connection) -> None:
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def _compact(connection: sqlite3.Connection, path: Path) -> int:
    before = path.stat().st_size
    connection.execute("vacuum")
    _checkpoint(connection)
    return max(0, before - path.stat().st_size)


def _end(connection: sqlite3.Connection, how: str) -> None:
    if connection.in_transaction:
        connection.execute(how)


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
