from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.figures import percent
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Received
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.cli.conftest import Cli
from tests.cli.support import finish, program, running, spawn

SUITE = "reasoning_smoke"
TASKS = len(Catalog.load().suite(SUITE).items)
ONE_RIGHT = percent(1 / TASKS)


def answer(prompt: str) -> str:
    return "\x1b[31m[red]The answer is 4." if "2 + 2" in prompt else "I do not know."


@pytest.fixture
def ready(cli: Cli) -> Iterator[FakeServer]:
    """A server with one model, discovered and assigned."""
    with running(FakeServer(["[red]alpha"], answer=answer)) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        cli("assign", "[red]alpha")
        yield fake


@contextmanager
def held(fake: FakeServer) -> Iterator[threading.Event]:
    """Hold every answer back until the block ends; the event is set when the first question has come."""
    asked, go = threading.Event(), threading.Event()

    async def script(request: Received) -> Reply | None:
        import asyncio

        asked.set()
        await asyncio.to_thread(go.wait, 60)
        return None

    fake.script = script
    try:
        yield asked
    finally:
        go.set()


def test_a_run_is_started_waited_for_and_read(cli: Cli, ready: FakeServer, data_dir: Path) -> None:
    started = program(data_dir, "run", "start", "--model", "[red]alpha", "--suite", SUITE, "--wait", "--json")
    assert started.code == exit_codes.OK, started.err
    run = started.json["run"]
    assert (run["state"], run["done"], run["planned"], run["passed"]) == ("completed", TASKS, TASKS, 1)
    assert f"{TASKS} of {TASKS} over" in started.err
    assert ready.count(CHAT) >= TASKS

    shown = cli("run", "status", run["id"])
    assert f"Run {run['id']}: completed" in shown.out
    assert "[red]alpha" in shown.out
    assert cli("run", "list", "--json").json["runs"][0]["id"] == run["id"]
    assert run["id"] in cli("run", "list").out

    results = cli("run", "results", run["id"], "--json").json
    assert (results["total"], len(results["attempts"])) == (TASKS, TASKS)
    assert all("completion_text" not in attempt for attempt in results["attempts"])
    passed = next(attempt for attempt in results["attempts"] if attempt["passed"])
    assert passed["task_id"] == "reasoning/two_plus_two"
    failed = cli("run", "results", run["id"], "--only-failed", "--json").json
    assert failed["total"] == TASKS - 1
    table = cli("run", "results", run["id"]).out
    assert "reasoning/two_plus_two" in table
    assert "passed" in table

    one = cli("run", "results", run["id"], "--attempt", str(passed["number"]))
    assert "\\x1b[31m[red]The answer is 4." in one.out
    assert "\x1b" not in one.out
    raw = cli("run", "results", run["id"], "--attempt", str(passed["number"]), "--json").json["attempt"]
    assert raw["completion_text"] == answer("2 + 2")
    assert cli("run", "results", run["id"], "--attempt", "99").code == exit_codes.FAILED

    board = cli("leaderboard", "--json").json
    assert (board["suite"], board["entries"][0]["model"]) == (SUITE, "[red]alpha")
    assert board["entries"][0]["pass_rate"] == pytest.approx(1 / TASKS)
    ranking = cli("leaderboard")
    assert "[red]alpha" in ranking.out
    assert ONE_RIGHT in ranking.out
    assert "no results yet" in cli("leaderboard", "coding_smoke").out


def test_a_dry_run_says_what_would_be_done_and_does_nothing(cli: Cli, ready: FakeServer) -> None:
    asked = ready.count(CHAT)
    said = cli("run", "start", "--model", "[red]alpha", "--suite", SUITE, "--repeats", "3", "--dry-run", "--json")
    assert said.json["dry_run"]["attempts"] == 3 * TASKS
    assert (
        f"{3 * TASKS} times"
        in cli(
            *["run", "start", "--model", "[red]alpha", "--suite", "reasoning_smoke", "--repeats", "3", "--dry-run"]
        ).out
    )
    assert ready.count(CHAT) == asked
    assert cli("run", "list", "--json").json == {"runs": [], "total": 0}


def test_how_long_it_may_take_is_told_as_soon_as_something_like_it_has_run(
    cli: Cli, ready: FakeServer, data_dir: Path
) -> None:
    start = ("run", "start", "--model", "[red]alpha", "--suite", SUITE)
    assert "No estimate: nothing like it has run yet. Nothing was started." in cli(*start, "--dry-run").out
    first = program(data_dir, *start, "--wait")
    assert "stimate" not in first.out + first.err.replace("No estimate", "")
    assert re.search(r"Estimate: about \d+ s\. Nothing was started\.", cli(*start, "--dry-run").out)
    with held(ready):
        *_, estimate, following = program(data_dir, *start).out.splitlines()
        assert re.fullmatch(r"Estimate: about \d+ s\.", estimate)
        assert following.startswith("Next: llmbench-mcp run status")
        cli("run", "cancel", "--all")


def test_a_limit_is_told_with_the_plan_and_shortens_the_estimate(cli: Cli, ready: FakeServer, data_dir: Path) -> None:
    start = ("run", "start", "--model", "[red]alpha", "--suite", SUITE, "--limit-attempts", "3")
    told = f"Would ask {TASKS} times, and stop at its limit of 3 attempts, with 1 model load: [red]alpha on mine."
    assert told in cli(*start, "--dry-run").out
    program(data_dir, *start[:-2], "--wait")
    limited = cli(*start, "--dry-run", "--json").json["dry_run"]
    whole = cli(*start[:-2], "--dry-run", "--json").json["dry_run"]
    assert (limited["stops_at"], whole["stops_at"]) == ("its limit of 3 attempts", None)
    assert limited["estimate_s"] <= whole["estimate_s"] / 2
    with held(ready):
        started = program(data_dir, *start).out
        assert "It stops at its limit of 3 attempts.\n" in started
        cli("run", "cancel", "--all")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--model", "zzz", "--suite", SUITE), "There is no model"),
        (("--model", "[red]alpha", "--suite", "reasoning_smok"), SUITE),
        (("--model", "[red]alpha", "--suite", SUITE, "--repeats", "0"), "repeats is 0"),
        (("--model", "[red]alpha", "--suite", SUITE, "--temperature", "99"), "temperature is 99"),
        (("--model", "[red]alpha", "--suite", SUITE, "--endpoint", "nowhere"), "There is no endpoint"),
    ],
)
def test_what_cannot_run_is_refused_at_once(cli: Cli, ready: FakeServer, argv: tuple[str, ...], words: str) -> None:
    said = cli("run", "start", *argv)
    assert said.code == exit_codes.FAILED
    assert words in said.err
    assert not said.has_traceback


def test_a_model_without_assignment_is_not_run(cli: Cli, ready: FakeServer) -> None:
    cli("assign", "[red]alpha", "--none")
    said = cli("run", "start", "--model", "[red]alpha", "--suite", SUITE, "--json")
    assert (said.code, said.json["error"]["kind"]) == (exit_codes.FAILED, "conflict")


def test_at_80_columns_reasons_stand_below_and_nothing_is_broken(
    cli: Cli, ready: FakeServer, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = program(data_dir, "run", "start", "--model", "[red]alpha", "--suite", SUITE, "--wait", "--json").json["run"]
    shown = {columns: _results(cli, monkeypatch, run["id"], columns) for columns in ("80", "120")}
    assert all(len(line) <= 80 for line in shown["80"])
    assert any(line.startswith("    wrong_answer: ") for line in shown["80"])
    assert any("reasoning/two_plus_two" in line for line in shown["80"])
    assert any("failed" in line and "wrong_answer: " in line for line in shown["120"])
    monkeypatch.setenv("COLUMNS", "80")
    made = run["created_at"][:16].replace("T", " ")
    listed = cli("run", "list").out
    assert "Created (UTC)" in listed
    assert made in listed


def _results(cli: Cli, monkeypatch: pytest.MonkeyPatch, run_id: str, columns: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", columns)
    return cli("run", "results", run_id).out.splitlines()


def test_without_results_the_leaderboard_says_how_to_get_some(cli: Cli) -> None:
    assert cli("leaderboard", "--json").json == {"suites_with_results": []}
    assert "run start" in cli("leaderboard").out


@pytest.mark.parametrize("command", ["status", "results", "cancel"])
def test_an_unknown_run_is_told(cli: Cli, command: str) -> None:
    said = cli("run", command, "run_nope", "--json")
    assert (said.code, said.json["error"]["kind"]) == (exit_codes.FAILED, "not_found")


def test_interrupting_the_wait_leaves_the_run_on_and_says_how_to_stop_it(
    cli: Cli, ready: FakeServer, data_dir: Path
) -> None:
    with held(ready) as asked:
        both = ("--suite", SUITE, "--suite", "coding_smoke")
        weak = {"LLMBENCH_ALLOW_WEAK_SANDBOX": "1"}
        waiting = spawn(data_dir, "run", "start", "--model", "[red]alpha", *both, "--wait", **weak)
        assert asked.wait(60)
        waiting.send_signal(signal.SIGINT)
        said = finish(waiting)
        assert said.code == exit_codes.INTERRUPTED
        assert "The run goes on" in said.err
        assert not said.has_traceback
        run = cli("run", "list", "--json").json["runs"][0]
        assert run["state"] == "running"
        assert f"run cancel {run['id']}" in said.err
        cancelled = cli("run", "cancel", run["id"], "--json").json["run"]
        assert cancelled["state"] == "cancelled"
    assert sorted(cli("leaderboard", "--json").json["suites_with_results"]) == ["coding_smoke", SUITE]
    assert "Several suites have results" in cli("leaderboard").out
    assert cli("run", "status", run["id"], "--wait", "1").code == exit_codes.RUN_NOT_CLEAN
    assert cli("run", "status", run["id"]).code == exit_codes.OK
    assert cli("run", "status", "--wait", run["id"]).code == exit_codes.RUN_NOT_CLEAN
    assert cli("run", "status", run["id"], "--wait", "--json").json["run"]["state"] == "cancelled"


def test_everything_is_stopped_on_every_device_and_stopping_the_executor_alone_says_that_it_does_not(
    cli: Cli, ready: FakeServer, data_dir: Path
) -> None:
    start = ("run", "start", "--model", "[red]alpha", "--suite", SUITE, "--json")
    with held(ready) as asked:
        made = [program(data_dir, *start).json["run"] for _ in range(2)]
        assert asked.wait(60)
        left = " ".join(cli("executor", "stop").out.split())
        assert "2 runs are still open: the next command that looks at them starts an executor again." in left
        assert left.endswith("Stop them with: llmbench-mcp run cancel --all")
        stopped = cli("run", "cancel", "--all", "--json").json["runs"]
    assert [(run["id"], run["state"]) for run in stopped] == [(run["id"], "cancelled") for run in made]
    assert cli("run", "list", "--state", "open", "--json").json["total"] == 0
    none = cli("run", "cancel", "--all")
    assert (none.code, none.out) == (exit_codes.OK, "No run was open.\n")
    assert cli("run", "cancel", "--all", "--json").json == {"runs": []}
    assert "still open" not in cli("executor", "stop").out


def test_all_runs_and_one_run_exclude_each_other(cli: Cli) -> None:
    assert cli("run", "cancel", "run_1", "--all").code == exit_codes.USAGE
    assert cli("run", "cancel", "--all", "--device", "cpu").code == exit_codes.USAGE
    assert "--all" in cli("run", "cancel").err


def test_a_run_with_errors_ends_with_its_own_exit_code(cli: Cli, ready: FakeServer, data_dir: Path) -> None:
    def script(request: Received) -> Reply | None:
        return error_reply(400, "no such thing") if "2 + 2" in request.prompt else None

    ready.script = script
    said = program(data_dir, "run", "start", "--model", "[red]alpha", "--suite", SUITE, "--wait")
    assert said.code == exit_codes.RUN_NOT_CLEAN
    assert "1 error" in said.out
    assert not said.has_traceback


def test_a_file_of_tasks_without_an_end_is_refused(cli: Cli) -> None:
    said = cli("run", "start", "--model", "m", "--tasks", "/dev/zero")
    assert said.code != exit_codes.OK
    assert "/dev/zero is larger than" in said.err
