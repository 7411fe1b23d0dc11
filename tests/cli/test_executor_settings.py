"""An executor works with the settings it was started with: whoever has others is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import finish, spawn

BUDGETS = "LLMBENCH_DEVICE_BUDGETS"
TOLD = f"was started with other settings, and works with them: {BUDGETS}. To use yours: llmbench-mcp executor stop"
RUN = ("run", "start", "--model", "alpha", "--suite", "reasoning_smoke")


@contextmanager
def executor(cli: Cli, data_dir: Path, **settings: str) -> Iterator[None]:
    process = spawn(data_dir, "executor", "run", LLMBENCH_IDLE_EXIT_S="60", **settings)
    assert process.stderr is not None
    assert "started" in process.stderr.readline()
    try:
        yield
    finally:
        cli("executor", "stop")
        assert finish(process).code == exit_codes.OK


def executor_check(cli: Cli) -> dict[str, str]:
    (check,) = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "executor"]
    return dict(check)


def test_an_executor_with_other_settings_is_told_of_where_work_is_started_and_checked(
    cli: Cli, data_dir: Path, server: FakeServer
) -> None:
    cli("endpoint", "add", server.url)
    cli("discover")
    cli("assign", "alpha")
    with executor(cli, data_dir, **{BUDGETS: "cpu=4", "LLMBENCH_MAX_WAIT_S": "3"}):
        for command in (RUN, ("executor", "status")):
            said = cli(*command)
            assert TOLD in " ".join((said.out + said.err).split())
        assert executor_check(cli)["state"] == "warn"
        assert TOLD in executor_check(cli)["todo"]
        cli("run", "cancel", "--all")


def test_an_executor_with_the_same_settings_is_no_cause_for_a_word(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUDGETS, "cpu=4")
    with executor(cli, data_dir, **{BUDGETS: "cpu=4", "LLMBENCH_MAX_WAIT_S": "3"}):
        assert cli("executor", "status", "--json").json["remark"] is None
        assert executor_check(cli)["state"] == "ok"


@pytest.mark.parametrize("argv", [("doctor",), RUN])
def test_a_budget_that_is_none_is_refused_before_anything_is_started(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    monkeypatch.setenv(BUDGETS, "xx")
    said = cli(*argv)
    assert said.code == exit_codes.FAILED
    assert f"{BUDGETS} is not right: it holds 'xx'." in said.out + said.err


def test_a_budget_for_a_device_that_nobody_sees_is_a_warning_of_doctor(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUDGETS, "cpu=4,nvidi:0=20")
    (check,) = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "devices"]
    assert check["state"] == "warn"
    assert "nvidi:0" in check["todo"]
