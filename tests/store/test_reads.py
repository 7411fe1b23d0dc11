"""Reading by many at once: each gets its own answer, and few hops to the database's thread are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.store import database as module
from llmbench_mcp.store.database import Database, open_database


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    on_thread = module._on_thread

    async def counting(connection: Any, work: Any, *arguments: Any) -> Any:
        made.append(work.__name__)
        return await on_thread(connection, work, *arguments)

    monkeypatch.setattr(module, "_on_thread", counting)
    return made


async def add(database: Database, count: int) -> None:
    async with database.transaction() as transaction:
        rows = [(f"event_{number}", f"2026-01-01T00:00:0{number}.000Z") for number in range(count)]
        await transaction.many("chore_done", rows)


async def test_many_readers_at_once_get_their_own_rows_in_few_hops(tmp_path: Path, hops: list[str]) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        await add(database, 9)
        hops.clear()
        found: dict[int, str] = {}

        async def read(number: int) -> None:
            row = await database.one("chore_get", f"event_{number}")
            assert row is not None
            found[number] = row["done_at"]

        async with anyio.create_task_group() as group:
            for number in range(9):
                group.start_soon(read, number)
        assert found == {number: f"2026-01-01T00:00:0{number}.000Z" for number in range(9)}
        assert len(hops) <= 3


async def test_a_read_that_fails_fails_alone(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        await add(database, 3)
        met: list[str] = []

        async def read(query: str, *arguments: Any) -> None:
            try:
                await database.all(query, *arguments)
            except KeyError:
                met.append("no such query")
            else:
                met.append("rows")

        async with anyio.create_task_group() as group:
            for query in ("chore_get", "no_such_query", "chore_get", "no_such_query", "chore_get"):
                group.start_soon(read, query, "event_1")
        assert sorted(met) == ["no such query"] * 2 + ["rows"] * 3


async def test_a_reader_that_leaves_takes_nobody_along(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        await add(database, 5)
        answered: list[int] = []
        scopes = [anyio.CancelScope() for _ in range(5)]
        written, queued = anyio.Event(), anyio.Event()

        async def write() -> None:
            async with database.transaction():
                written.set()
                await queued.wait()

        async def read(number: int) -> None:
            with scopes[number]:
                assert await database.one("chore_get", f"event_{number}")
                answered.append(number)

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await written.wait()
            for number in range(5):
                group.start_soon(read, number)
            while len(database._asks) < 5:
                await anyio.lowlevel.checkpoint()
            scopes[0].cancel()
            scopes[3].cancel()
            queued.set()
        assert sorted(answered) == [1, 2, 4]


async def test_readers_of_a_closed_database_are_told(tmp_path: Path) -> None:
    async with open_database(tmp_path / "llmbench.db") as database:
        pass
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no active connection|Connection closed"):
            await database.all("endpoints_all")
    assert database._asks == []
