from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.checks import isolation_check
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.store import soundness
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import program, running
from tests.support.rooms import opened_real

CHECKS = [
    "python",
    "log folder",
    "isolation",
    "validators",
    "backends",
    "embedded server",
    "database",
    "executor",
    "devices",
    "endpoints",
    "credentials",
    "suites",
]


def test_a_sound_installation_passes_every_check(cli: Cli) -> None:
    said = cli("doctor", "--json")
    assert said.code == exit_codes.OK
    assert [check["name"] for check in said.json["checks"]] == CHECKS
    assert all(check["state"] != "fail" for check in said.json["checks"])


def test_a_broken_data_directory_fails_with_what_to_do_and_the_rest_is_still_checked(cli: Cli, data_dir: Path) -> None:
    data_dir.write_text("not a folder", encoding="utf-8")
    said = cli("doctor", "--json")
    by_name = {check["name"]: check for check in said.json["checks"]}
    assert said.code == exit_codes.FAILED
    assert by_name["database"]["state"] == "fail"
    assert by_name["database"]["todo"]
    assert by_name["isolation"]["state"] in ("ok", "warn")


def test_a_silent_endpoint_is_a_warning_that_names_it(cli: Cli) -> None:
    with running(FakeServer()) as fake:
        cli("endpoint", "add", fake.url, "--name", "gone")
    said = cli("doctor")
    assert said.code == exit_codes.OK
    assert "gone" in said.out
    assert "warn" in said.out


@pytest.mark.parametrize("group", ["validators", "backends"])
def test_a_plug_in_that_cannot_be_loaded_fails(data_dir: Path, tmp_path: Path, group: str) -> None:
    plug_in = tmp_path / "site"
    (plug_in / "odd-1.0.dist-info").mkdir(parents=True)
    (plug_in / "odd.py").write_text("1 / 0", encoding="utf-8")
    (plug_in / "odd-1.0.dist-info" / "METADATA").write_text("Name: odd\nVersion: 1.0\n", encoding="utf-8")
    points = f"[llmbench.{group}]\nodd = odd:thing\n"
    (plug_in / "odd-1.0.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    said = program(data_dir, "doctor", "--json", PYTHONPATH=str(plug_in))
    by_name = {check["name"]: check for check in said.json["checks"]}
    assert (said.code, by_name[group]["state"]) == (exit_codes.FAILED, "fail")
    assert "'odd'" in by_name[group]["found"]
    assert "ZeroDivisionError" in by_name[group]["found"]


def test_a_task_that_no_validator_grades_fails_by_its_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tmp_path / "tasks" / "odd" / "one.md"
    task.parent.mkdir(parents=True)
    task.write_text("PROMPT:\nSay one.\n\nVALIDATION:\n```yaml\ntype: nonesuch\n```\n", encoding="utf-8")
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "tasks"))
    said = cli("doctor", "--json")
    check = said.json["checks"][-1]
    assert (check["name"], check["state"]) == ("suites", "fail")
    assert str(task) in check["found"]
    assert "nonesuch" in check["found"]


@pytest.mark.parametrize("called", ["demo", "box"])
async def test_the_demos_endpoint_without_its_server_is_no_warning(tmp_path: Path, called: str) -> None:
    with running(FakeServer()) as fake:
        async with opened_real(tmp_path) as app:
            await app.endpoints.serve("demo", fake.url, "openai", None)
            await app.endpoints.add(NewEndpoint(fake.url, called))
    said = await anyio.to_thread.run_sync(lambda: program(tmp_path / "data", "doctor", "--json"))
    (check,) = [check for check in said.json["checks"] if check["name"] == "endpoints"]
    assert (check["state"], check["found"]) == ("ok", f"0 of 1 answer; stopped ({called})")


def test_what_to_do_stands_whole_on_its_own_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = cli("doctor").out.splitlines()
    assert "     -> Add one: llmbench-mcp endpoint add URL" in lines


def test_weak_isolation_is_a_warning_with_what_it_means() -> None:
    report = {"level": "partial", "guarantees": {"network": False, "files": True}, "mechanisms": {}, "reason": None}
    refused = isolation_check(report, "full")
    assert (refused.state, "network" in refused.found) == ("warn", True)
    assert "refused" in refused.todo
    assert "run all the same" in isolation_check(report, "process").todo


def database_check(cli: Cli) -> tuple[int, dict[str, str]]:
    said = cli("doctor", "--json")
    return said.code, next(check for check in said.json["checks"] if check["name"] == "database")


def test_a_damaged_database_fails_with_what_to_do(cli: Cli, data_dir: Path) -> None:
    assert database_check(cli)[1]["state"] == "ok"
    path = data_dir / "llmbench.db"
    with closing(sqlite3.connect(path)) as plain:
        (page,) = plain.execute("select rootpage from sqlite_master where name = 'events_run'").fetchone()
        (size,) = plain.execute("pragma page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    code, check = database_check(cli)
    assert (code, check["state"]) == (exit_codes.FAILED, "fail")
    assert f"{path} is damaged" in check["found"]
    assert "restore a backup" in check["todo"]


def test_a_database_too_large_to_be_read_in_time_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(path: Path) -> None:
        raise TimeoutError

    monkeypatch.setattr(soundness, "check_soundness", late)
    code, check = database_check(cli)
    assert (code, check["state"]) == (exit_codes.OK, "ok")
    assert "in the first 5 s" in check["found"]
    assert "quick_check" in check["todo"]
