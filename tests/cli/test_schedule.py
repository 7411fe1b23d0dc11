"""``schedule`` and ``models history``, as typed."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import finish, program, running, spawn
from tests.support.processes import processes_of
from tests.support.rooms import write_suite


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with the suite ``sums`` of one task."""
    write_suite(tmp_path, 1)
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "tasks"))
    return str(tmp_path / "tasks")


@pytest.fixture
def ready(cli: Cli, tasks: str) -> Iterator[FakeServer]:
    """A server with one model, discovered and assigned."""
    with running(FakeServer(["alpha"], answer=lambda prompt: "1")) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        cli("assign", "alpha")
        yield fake


def make_due(data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / "llmbench.db")) as plain, plain:
        plain.execute("update schedules set due_at = '2026-01-01T00:00:00.000Z'")


def test_a_schedule_is_made_shown_listed_and_removed(cli: Cli, ready: FakeServer) -> None:
    made = cli("schedule", "add", "night", "daily", "03:30", "--suite", "sums", "--zone", "UTC", "--json")
    assert made.code == exit_codes.OK, made.err
    schedule = made.json["schedule"]
    assert (schedule["when"], schedule["zone"], schedule["only_changed"]) == ("daily 03:30", "UTC", True)
    assert schedule["due_at"].endswith("T03:30:00.000Z")
    assert schedule["request"]["select"] == "active"
    listed = cli("schedule", "list").out
    assert "sums for active models where something changed" in listed
    assert "never yet" in listed
    shown = cli("schedule", "show", "night")
    assert "alpha on mine, sums: never run" in shown.out
    assert cli("schedule", "show", schedule["id"], "--json").json["now"]["reasons"] == [
        "alpha on mine, sums: never run"
    ]
    assert "is removed" in cli("schedule", "remove", "night").out
    assert cli("schedule", "list", "--json").json == {"schedules": []}
    assert "There are no schedules" in cli("schedule", "list").out


def test_options_make_the_request(cli: Cli, ready: FakeServer) -> None:
    words = ("--model", "alpha", "--always", "--repeats", "2", "--param", "temperature=0,0.5", "--limit-tokens", "9")
    made = cli("schedule", "add", "x", "0 3 * * 1-5", "--suite", "sums", *words, "--json").json["schedule"]
    request = made["request"]
    assert (request["models"], request["select"], request["repeats"]) == (["alpha"], None, 2)
    assert (request["matrix"], request["limits"]["tokens"]) == ({"temperature": [0, 0.5]}, 9)
    assert (made["when"], made["only_changed"]) == ("0 3 * * 1-5", False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sometimes", "--suite", "sums"), "names no time"),
        (("nightly", "--suite", "nothing"), "no suite"),
        (("nightly", "--suite", "sums", "--zone", "Mars"), "no time zone"),
        (("nightly", "--suite", "sums", "--model", "beta"), "no model 'beta'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_to_do(
    cli: Cli, ready: FakeServer, words: tuple[str, ...], told: str
) -> None:
    refused = cli("schedule", "add", "x", *words)
    assert refused.code == exit_codes.FAILED
    assert told in refused.err
    assert cli("schedule", "list", "--json").json == {"schedules": []}


def test_run_now_runs_it_and_then_finds_nothing_changed(
    cli: Cli, ready: FakeServer, data_dir: Path, tasks: str
) -> None:
    cli("schedule", "add", "night", "nightly", "--suite", "sums")
    started = program(data_dir, "schedule", "run-now", "night", "--json", LLMBENCH_TASKS_DIR=tasks)
    assert started.json["result"]["outcome"] == "started", started.err
    run_id = started.json["result"]["run_id"]
    assert program(data_dir, "run", "status", run_id, "--wait").code == exit_codes.OK
    again = cli("schedule", "run-now", "night")
    assert (again.code, "nothing has changed" in again.out) == (exit_codes.OK, True)
    days = cli("models", "history", "alpha", "--json").json
    assert [(day["suite"], day["graded"], day["passed"]) for day in days["days"]] == [("sums", 1, 1)]
    shown = cli("models", "history", "alpha").out
    assert "100 %" in shown
    assert "Endpoint: mine" in shown
    for told in (" ".join(shown.split()), days["basis"]):  # not a leaderboard's figures
        assert "each answer counts once, whatever its task's weight and version" in told


def test_a_model_without_results_has_an_empty_history(cli: Cli, ready: FakeServer) -> None:
    assert "alpha has no results yet" in cli("models", "history", "alpha").out
    assert cli("models", "history", "beta").code == exit_codes.FAILED


def test_any_command_starts_an_executor_when_a_schedule_is_due(
    cli: Cli, ready: FakeServer, data_dir: Path, tasks: str
) -> None:
    cli("schedule", "add", "night", "nightly", "--suite", "sums")
    make_due(data_dir)
    assert program(data_dir, "executor", "status").code == exit_codes.OK
    assert processes_of(data_dir, "executor run") == []
    assert program(data_dir, "models", LLMBENCH_TASKS_DIR=tasks).code == exit_codes.OK
    for process in processes_of(data_dir, "executor run"):
        process.wait(60)
    (run,) = cli("run", "list", "--json").json["runs"]
    assert (run["state"], run["passed"]) == ("completed", 1)
    (found,) = cli("schedule", "list", "--json").json["schedules"]
    assert (found["last"]["outcome"], found["last"]["run_id"]) == ("started", run["id"])


def test_an_executor_that_stays_does_not_leave_without_work_and_takes_over_from_another(
    cli: Cli, data_dir: Path
) -> None:
    first = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60")
    assert first.stderr is not None
    assert "started" in first.stderr.readline()
    staying = spawn(data_dir, "executor", "run", "--stay", LLMBENCH_IDLE_EXIT_S="0.1")
    first.send_signal(signal.SIGTERM)
    assert finish(first).code == exit_codes.OK
    assert staying.stderr is not None
    assert "started" in staying.stderr.readline()
    with pytest.raises(Exception, match="timed out"):
        staying.wait(2)
    assert cli("executor", "status", "--json").json["executor"]["pid"] == staying.pid
    assert str(staying.pid) in cli("executor", "stop").out
    assert finish(staying).code == exit_codes.OK


def test_an_executor_that_waits_to_take_over_leaves_when_asked(data_dir: Path) -> None:
    first = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60")
    assert first.stderr is not None
    first.stderr.readline()
    waiting = spawn(data_dir, "executor", "run", "--stay")
    assert waiting.stderr is not None
    assert "waits" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGTERM)
    assert finish(waiting).code == exit_codes.OK
    first.send_signal(signal.SIGTERM)
    assert finish(first).code == exit_codes.OK
