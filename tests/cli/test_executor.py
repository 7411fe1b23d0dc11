from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from llmbench_mcp.cli import exit_codes
from tests.cli.conftest import Cli
from tests.cli.support import finish, program, spawn


def test_an_executor_without_work_leaves_by_itself_and_logs_in_utc(data_dir: Path) -> None:
    said = program(data_dir, "executor", "run")
    assert (said.code, said.out) == (exit_codes.OK, "")
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO llmbench_mcp\.engine\.executor: ", said.err)


def test_a_second_executor_leaves_saying_so_and_a_signal_drains_the_first(cli: Cli, data_dir: Path) -> None:
    first = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60")
    assert first.stderr is not None
    assert "started" in first.stderr.readline()
    second = program(data_dir, "executor", "run")
    assert second.code == exit_codes.OK
    assert "Another executor" in second.out
    held = cli("executor", "status", "--json").json["executor"]
    assert (held["alive"], held["pid"]) == (True, first.pid)
    assert str(first.pid) in cli("executor", "stop").out
    drained = finish(first)
    assert (drained.code, drained.has_traceback) == (exit_codes.OK, False)
    assert "No executor works now" in cli("executor", "status").out
    assert cli("executor", "stop", "--json").json == {"asked": None, "open_runs": 0}


def test_an_interrupt_drains_too(data_dir: Path) -> None:
    process = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert finish(process).code == exit_codes.OK


def test_an_executor_that_lives_and_cannot_renew_its_lease_is_told_as_such(cli: Cli, data_dir: Path) -> None:
    process = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60", LLMBENCH_LEASE_S="1")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while (held := cli("executor", "status", "--json").json)["executor"]["alive"]:
        assert time.monotonic() < deadline
    told = cli("executor", "status").out
    (check,) = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "executor"]
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == exit_codes.OK
    assert (held["executor"]["overdue"], held["executor"]["pid"]) == (True, process.pid)
    assert f"could not renew its lease: process {process.pid}" in told
    assert "No executor works now" not in told
    assert (check["state"], str(process.pid) in check["found"]) == ("warn", True)
    assert "No executor works now" in cli("executor", "status").out
