"""The database file: migrations, transactions, leases, and the errors a user can meet."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.errors import LeaseLost, NewerDatabaseError, StorageBusy, StorageError
from llmbench_mcp.store.database import Database, open_database
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.migrate import latest_version, migrate, migrations
from llmbench_mcp.store.sql import named_queries, statements
from llmbench_mcp.testing.clocks import FastClock

OLD_DATA = Path(__file__).parent / "data"


async def add_endpoint(database: Database, endpoint_id: str) -> None:
    async with database.transaction() as transaction:
        facts = (endpoint_id, endpoint_id, f"http://{endpoint_id}", "openai", "cpu", None, 1, "own", "person")
        await transaction.run("endpoint_insert", *facts, None, 1, "2026-01-01T00:00:00.000Z")


async def test_an_empty_folder_becomes_a_database_of_the_latest_schema(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "llmbench.db"
    async with open_database(path) as database:
        assert await database.all("endpoints_all") == []
    with sqlite3.connect(path) as plain:
        assert plain.execute("select max(version) from schema_migrations").fetchone() == (latest_version(),)
        assert plain.execute("pragma journal_mode").fetchone() == ("wal",)
    plain.close()


@pytest.mark.parametrize("old", sorted(OLD_DATA.glob("v*.sql")), ids=lambda path: path.stem)
async def test_data_of_every_older_schema_is_kept(tmp_path: Path, old: Path) -> None:
    path = tmp_path / "llmbench.db"
    plain = sqlite3.connect(path)
    plain.executescript(old.read_text(encoding="utf-8"))
    plain.close()
    async with open_database(path) as database:
        endpoints = await EndpointStore(database, SystemClock()).all()
        assert [(e.name, e.url, e.backend) for e in endpoints] == [("old box", "http://127.0.0.1:8080", "llamacpp")]
        assert sorted(tmp_path.glob("llmbench.schema*.bak")) == [tmp_path / f"llmbench.schema{int(old.stem[1:])}.bak"]
        attempts = await database.all("attempts_page", "run_old", 10, 0)
        assert [(a["task_id"], a["passed"], a["score"]) for a in attempts] == [
            ("coding/a", 1, 1.0),
            ("coding/b", 0, 0.5),
        ]


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, latest_version() + 1))


def test_running_migrations_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    plain = sqlite3.connect(path, isolation_level=None)
    assert (migrate(plain, path), migrate(plain, path)) == (latest_version(), 0)
    plain.close()


async def test_a_database_from_the_future_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with open_database(path) as database:
        await add_endpoint(database, "a")
    plain = sqlite3.connect(path)
    plain.execute("insert into schema_migrations (version, name) values (999, 'later')")
    plain.commit()
    plain.close()
    before = path.read_bytes()
    with pytest.raises(NewerDatabaseError, match="schema 999.*Upgrade llmbench-mcp"):
        async with open_database(path):
            raise AssertionError("it must not open")
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    path.write_bytes(b"not a database, " * 100)
    with pytest.raises(StorageError, match=r"llmbench\.db is not a usable database"):
        async with open_database(path):
            raise AssertionError("it must not open")


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be created.*LLMBENCH_DATA_DIR"):
        async with open_database(tmp_path / "file" / "deeper" / "llmbench.db"):
            raise AssertionError("it must not open")


async def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        with pytest.raises(RuntimeError):
            async with database.transaction() as transaction:
                await transaction.run("task_insert", "hash", "coding/a", "{}")
                raise RuntimeError
        assert await database.one("task_body", "hash") is None


async def test_a_cancelled_transaction_leaves_nothing_and_the_database_usable(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        inside = anyio.Event()

        async def hang() -> None:
            async with database.transaction() as transaction:
                await transaction.run("task_insert", "hash", "coding/a", "{}")
                inside.set()
                await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(hang)
            await inside.wait()
            group.cancel_scope.cancel()
        assert await database.one("task_body", "hash") is None
        await add_endpoint(database, "after")


async def test_a_database_locked_by_another_process_is_reported_as_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmbench_mcp.store.database._BUSY_TIMEOUT_MS", 10)
    path = tmp_path / "llmbench.db"
    async with open_database(path) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(StorageBusy, match="locked by another process"):
            async with database.transaction():
                raise AssertionError("it must not begin")
        other.execute("rollback")
        other.close()


async def test_one_owner_holds_a_lease_until_it_runs_out(tmp_path: Path) -> None:
    clock = FastClock()
    async with open_database(tmp_path / "llmbench.db") as database:
        leases = LeaseStore(database, clock)
        first = await leases.acquire("executor", 1000.0)
        assert first is not None
        assert await leases.acquire("executor", 1000.0) is None
        await leases.renew(first, 0.0)
        second = await leases.acquire("executor", 1000.0)
        assert second is not None
        assert second.fence == first.fence + 1


async def test_a_revived_owner_changes_nothing(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        leases = LeaseStore(database, SystemClock())
        frozen = await leases.acquire("executor", 0.0)
        assert frozen is not None
        successor = await leases.acquire("executor", 1000.0)
        assert successor is not None
        with pytest.raises(LeaseLost):
            async with database.transaction(frozen.key) as transaction:
                await transaction.run("task_insert", "hash", "coding/a", "{}")
        with pytest.raises(LeaseLost):
            await leases.renew(frozen, 1000.0)
        await leases.release(frozen)
        held = await leases.view("executor")
        assert held is not None
        assert (held.owner, held.alive) == (successor.owner, True)
        assert await database.one("task_body", "hash") is None


async def test_a_lease_of_an_earlier_boot_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        leases = LeaseStore(database, SystemClock())
        assert await leases.acquire("executor", 1e9) is not None
        monkeypatch.setattr("llmbench_mcp.store.leases.boot_id", lambda: "another boot")
        assert await leases.acquire("executor", 10.0) is not None


def test_queries_have_unique_names_and_numbered_parameters() -> None:
    assert len(named_queries()) > 50
    assert not [name for name, sql in named_queries().items() if "$" in sql]


def test_a_script_is_split_at_statements_only() -> None:
    script = "create table a (t text default ';');\n-- a comment; with one\ninsert into a values ('x;y');\n"
    assert len(list(statements(script))) == 2


async def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    plain = sqlite3.connect(path)
    plain.execute("create table models (name text)")
    plain.commit()
    plain.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="belongs to another program"):
        async with open_database(path):
            raise AssertionError("it must not open")
    assert path.read_bytes() == before


async def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(StorageError, match="data is a file"):
        async with open_database(tmp_path / "data" / "llmbench.db"):
            raise AssertionError("it must not open")


async def test_text_that_cannot_be_read_back_means_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "llmbench.db"
    async with open_database(path) as database:
        await add_endpoint(database, "abcdefgh")
    plain = sqlite3.connect(path)
    plain.execute("update endpoints set name = cast(x'ff61' as text)")
    plain.commit()
    plain.close()
    async with open_database(path) as database:
        with pytest.raises(StorageError, match="not a usable database"):
            await database.all("endpoints_all")


async def test_a_database_that_cannot_be_opened_leaves_no_thread_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late_at_its_end(message: str, *about: object) -> None:
        if "close_and_stop" in repr(about):
            threading.Event().wait(0.3)

    monkeypatch.setattr(logging.getLogger("aiosqlite"), "debug", late_at_its_end)
    (tmp_path / "llmbench.db").mkdir()
    before = set(threading.enumerate())
    with pytest.raises(StorageError):
        async with open_database(tmp_path / "llmbench.db"):
            pass
    assert [thread for thread in set(threading.enumerate()) - before if "_connection_worker" in thread.name] == []
