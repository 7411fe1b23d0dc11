"""A folder of one's own tasks that cannot be read: what goes on without it, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from tests.cli.conftest import Cli
from tests.support.rooms import opened

FAULT = "suites.yaml:1: a suite file must be a list."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tasks"
    root.mkdir()
    (root / "suites.yaml").write_text("mine: {}\n", encoding="utf-8")
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(root))
    return root


def example(told: str) -> str:
    """The suite file that a next step shows, from its first dash on, without its indent."""
    return told[told.index("- {name") :].replace("\n  ", "\n")


@pytest.mark.parametrize("argv", [("leaderboard", "smoke"), ("suites", "smoke"), ("suites",), ("suite", "list")])
def test_what_needs_only_shipped_suites_goes_on_with_a_warning(cli: Cli, folder: Path, argv: tuple[str, ...]) -> None:
    said = cli(*argv, "--json")
    assert (said.code, bool(said.json)) == (exit_codes.OK, True)
    assert said.err.startswith(f"warning: {folder}/{FAULT} Until that is mended, only the shipped suites are known.\n")
    assert "- {name: my_suite" in said.err


def test_a_sound_folder_is_no_reason_to_warn(cli: Cli, folder: Path) -> None:
    (folder / "suites.yaml").write_text("[]", encoding="utf-8")
    assert cli("suites", "smoke").err == ""


@pytest.mark.parametrize("argv", [("leaderboard", "mine"), ("suites", "mine"), ("suites", "smokey")])
def test_what_might_be_in_the_folder_is_refused_with_an_example_that_works(
    cli: Cli, folder: Path, argv: tuple[str, ...]
) -> None:
    said = cli(*argv)
    assert (said.code, said.err.splitlines()[0]) == (exit_codes.FAILED, f"error: {folder}/{FAULT}")
    (folder / "suites.yaml").write_text(example(said.err), encoding="utf-8")
    assert cli("suites", "my_suite").code == exit_codes.OK


def test_a_suite_that_lacks_keys_is_told_all_of_them_and_an_example(cli: Cli, folder: Path) -> None:
    (folder / "suites.yaml").write_text("- name: mine\n", encoding="utf-8")
    said = cli("suites", "mine")
    assert "lacks title, description, version, tasks." in said.err
    assert "- {name: my_suite" in said.err


@pytest.mark.parametrize("command", ["doctor", "task"])
def test_the_checks_say_what_to_mend_on_one_line_each(cli: Cli, folder: Path, command: str) -> None:
    said = cli(*{"doctor": ("doctor", "--json"), "task": ("task", "check", str(folder), "--json")}[command])
    assert said.code == exit_codes.FAILED
    found = said.json["checks"][-1] if command == "doctor" else said.json["problems"][0]
    assert "a suite file must be a list." in str(found)
    assert "{name: my_suite" in str(found)


def test_doctor_shows_the_step_below_the_fault(cli: Cli, folder: Path) -> None:
    lines = cli("doctor").out.splitlines()
    (place,) = [n for n, line in enumerate(lines) if line.startswith("fail suites: ")]
    assert lines[place + 1].startswith("     -> Mend it; llmbench-mcp task check shows every fault.")


def test_a_folder_that_is_not_there_is_told_with_the_setting_that_names_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "nowhere"))
    assert "LLMBENCH_TASKS_DIR" in cli("suites", "mine").err
    assert cli("suites", "smoke").code == exit_codes.OK


async def test_a_process_that_lives_on_knows_the_folder_once_it_is_mended(tmp_path: Path, folder: Path) -> None:
    async with opened(tmp_path, {}) as app:
        assert (await app.suites.get("smoke")).tasks
        with pytest.raises(Exception, match="must be a list"):
            await app.suites.heads()
        (folder / "suites.yaml").write_text(
            "- {name: mine, title: M, description: D, version: 1, tasks: [coding/is_even]}"
        )
        assert (await app.suites.get("mine")).tasks
        assert app.suites.fault is None
        assert "mine" in {suite.name for suite in await app.suites.heads()}
