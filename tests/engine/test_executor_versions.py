"""After an upgrade: programs of two versions on one data directory, one executor."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp import __version__
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.versions import is_newer
from llmbench_mcp.testing.scripted import ScriptedServer
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, right, working

LATER = "999.1"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("1.10", "1.9"),
        ("1.0", "1.0rc2"),
        ("1.0rc2", "1.0rc1"),
        ("1.0rc1", "1.0b9"),
        ("1.0.1", "1.0"),
        ("1.0.dev2", "0.9"),
        ("1.0a1", "1.0.dev2"),
        ("0.1", "unknown"),
    ],
)
def test_versions_are_ordered_as_their_numbers_say(newer: str, older: str) -> None:
    assert is_newer(newer, older)
    assert not is_newer(older, newer)


@pytest.mark.parametrize("same", [("1.0", "1.0"), ("1.0", "1.0.0"), ("", "?")])
def test_equal_versions_are_not_newer(same: tuple[str, str]) -> None:
    assert not is_newer(*same)


async def test_an_older_program_lets_the_newer_executor_work_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, 1)
    box: ScriptedServer = server("m", answer=right)
    monkeypatch.setattr("llmbench_mcp.store.leases.__version__", LATER)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        await until(app.executors.alive)
        started = await app.runs.start(RunRequest(("m",), ("sums",)))
        assert not await app.executors.follow_older()
    (remark,) = started.remarks
    assert f"version {LATER}, newer than this program ({__version__})" in remark
    assert "upgrade this program" in remark


async def test_nothing_is_said_where_program_and_executor_are_of_one_version(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app, working(app):
        await assigned(app, URL)
        await until(app.executors.alive)
        assert (await app.runs.start(RunRequest(("m",), ("sums",)))).remarks == ()
        assert not await app.executors.follow_older()
