from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from llmbench_mcp.cli import commands, exit_codes
from llmbench_mcp.cli.invocation import Invocation
from llmbench_mcp.domain.errors import NotFoundError
from tests.cli.conftest import Cli


def _break(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def execute(call: Invocation) -> int:
        raise error

    monkeypatch.setattr(commands, "execute", execute)


def test_a_fault_of_our_own_is_one_line_and_the_details_go_to_the_log(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, ZeroDivisionError("by \x1b[31mzero"))
    said = cli("models")
    log = data_dir / "logs" / "cli.log"
    assert said.code == exit_codes.INTERNAL
    assert said.err == f"internal error: ZeroDivisionError: by \\x1b[31mzero (details in {log})\n"
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_a_fault_of_our_own_is_a_json_error_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, ZeroDivisionError("by zero"))
    said = cli("models", "--json")
    assert said.json["error"]["kind"] == "internal"
    assert not said.has_traceback


def test_without_a_log_to_write_to_the_fault_is_still_one_line(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.write_text("not a folder", encoding="utf-8")
    _break(monkeypatch, ZeroDivisionError("by zero"))
    said = cli("models")
    assert said.code == exit_codes.INTERNAL
    assert said.err == "internal error: ZeroDivisionError: by zero (set LLMBENCH_DEBUG=1 to see the details)\n"


def test_a_key_in_the_message_of_a_fault_reaches_neither_terminal_nor_log(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_TEST", "zz-secret-1234567890")
    _break(monkeypatch, ValueError("cannot send zz-secret-1234567890"))
    said = cli("models")
    assert "zz-secret" not in said.err + (data_dir / "logs" / "cli.log").read_text(encoding="utf-8")


def test_debugging_shows_the_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, ZeroDivisionError("by zero"))
    monkeypatch.setenv("LLMBENCH_DEBUG", "1")
    assert "Traceback" in cli("models").err


def test_a_failure_inside_a_task_group_is_told_as_itself(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = NotFoundError("There is no such thing.", "Look elsewhere.")
    _break(monkeypatch, ExceptionGroup("group", [ExceptionGroup("group", [inner])]))
    said = cli("models")
    assert (said.code, said.err) == (exit_codes.FAILED, "error: There is no such thing.\n  Look elsewhere.\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BaseExceptionGroup("group", [KeyboardInterrupt()])])
def test_an_interruption_is_silent_with_its_own_exit_code(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    _break(monkeypatch, error)
    said = cli("models")
    assert (said.code, said.out, said.err) == (exit_codes.INTERRUPTED, "", "")


def test_a_reader_that_left_is_no_failure(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, BrokenPipeError())
    said = cli("models")
    assert (said.code, said.err) == (exit_codes.OK, "")


def test_a_data_directory_that_is_a_file_is_refused_with_what_to_do(cli: Cli, data_dir: Path) -> None:
    data_dir.write_text("not a folder", encoding="utf-8")
    said = cli("endpoint", "list")
    assert said.code == exit_codes.FAILED
    assert str(data_dir) in said.err
    assert "LLMBENCH_DATA_DIR" in said.err
    assert not said.has_traceback


def test_a_database_of_a_newer_program_is_refused_and_left_alone(cli: Cli, data_dir: Path) -> None:
    cli("models")
    database = data_dir / "llmbench.db"
    with sqlite3.connect(database) as connection:
        connection.execute("insert into schema_migrations (version, name) values (999, 'future')")
    connection.close()
    said = cli("models", "--json")
    assert said.code == exit_codes.FAILED
    assert said.err == ""
    assert "999" in said.json["error"]["what"]
    assert "Upgrade" in said.json["error"]["next"]


def test_a_file_that_is_no_database_is_told_as_such(cli: Cli, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "llmbench.db").write_bytes(b"something else entirely " * 100)
    said = cli("models")
    assert said.code == exit_codes.FAILED
    assert "not a usable database" in said.err


def test_a_malformed_setting_is_told_by_its_name(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_MAX_TOKENS", "lots")
    said = cli("models")
    assert said.code == exit_codes.FAILED
    assert "LLMBENCH_MAX_TOKENS" in said.err


@pytest.mark.parametrize(
    ("argv", "step"),
    [
        (("run", "start", "--model", "m", "--suite", "smoke"), "Run llmbench-mcp discover first."),
        (("run", "status", "run_x"), "There are no runs yet: run llmbench-mcp run start."),
        (("assign", "m", "box"), "No endpoint is known: run llmbench-mcp endpoint add first."),
    ],
)
def test_the_next_step_names_the_command_and_no_tool_of_agents(cli: Cli, argv: tuple[str, ...], step: str) -> None:
    assert f"  {step}\n" in cli(*argv).err
    assert cli(*argv, "--json").json["error"]["next"] == step


def test_a_failure_word_that_is_like_none_is_answered_with_all_there_are(cli: Cli) -> None:
    told = cli("run", "results", "run_x", "--failure", "bogus").err
    assert "Nearest" not in told
    assert "Use one of: auth, blocked," in told
    assert "wrong_call." in told
