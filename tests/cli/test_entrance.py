from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from llmbench_mcp import __version__
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.commands import build
from llmbench_mcp.cli.invocation import TAKE_A_VALUE, parse_invocation
from llmbench_mcp.cli.serving import serving_options
from tests.cli.conftest import Cli
from tests.cli.support import environment

# Serves until stdin ends, then says what of the command line was imported.
_SERVE_AND_TELL = """
import sys
from llmbench_mcp.cli.main import run
code = run(sys.argv[1:])
command_line = ("typer", "llmbench_mcp.cli.commands", "llmbench_mcp.cli.output")
print(code, [name for name in command_line if name in sys.modules], file=sys.stderr)
"""


def test_help_lists_the_commands_and_the_exit_codes(cli: Cli) -> None:
    said = cli("--help")
    assert said.code == exit_codes.OK
    for word in ("endpoint", "run", "leaderboard", "doctor", "demo", "Exit codes", "130"):
        assert word in said.out


@pytest.mark.parametrize("group", ["endpoint", "run", "executor"])
def test_every_group_has_help(cli: Cli, group: str) -> None:
    assert "--json" in cli(group, "--help").out or cli(group, "--help").code == 0


def test_version_prints_the_version(cli: Cli) -> None:
    assert cli("--version").out.strip() == __version__


@pytest.mark.parametrize(
    "argv",
    [
        ("frobnicate",),
        ("endpoint",),
        ("endpoint", "frobnicate"),
        ("models", "--frobnicate"),
        ("run", "status"),
        ("run", "list", "--limit", "many"),
        ("run", "list", "--limit", "0"),
        ("run", "list", "--limit", "99999999999999999999"),
        ("run", "results", "x", "--attempt", "99999999999999999999"),
        ("assign", "not\udcfftext"),
        ("leaderboard", "--rank-by", "luck"),
        ("--data-dir",),
        ("--toolsets",),
        ("--read-only", "models"),
        ("assign", "m", "e", "--none"),
        ("demo", "--model", "x.gguf", "--endpoint", "http://127.0.0.1:9"),
    ],
)
def test_a_wrong_command_line_is_told_in_two_lines_with_exit_code_2(cli: Cli, argv: tuple[str, ...]) -> None:
    said = cli(*argv)
    assert (said.code, said.out) == (exit_codes.USAGE, "")
    assert said.err.startswith("error: ")
    assert "--help" in said.err
    assert len(said.err.splitlines()) == 2


def test_a_misspelt_command_is_met_with_the_nearest_one(cli: Cli) -> None:
    assert "'leaderboard'" in cli("leaderbord").err


@pytest.mark.parametrize("argv", [("--json", "models", "--bogus"), ("models", "--bogus", "--json")])
def test_usage_errors_are_json_when_json_was_asked_for(cli: Cli, argv: tuple[str, ...]) -> None:
    said = cli(*argv)
    assert said.code == exit_codes.USAGE
    assert said.err == ""
    assert said.json["error"]["kind"] == "usage"
    assert set(said.json["error"]) == {"kind", "what", "next"}


def test_json_and_data_dir_may_stand_anywhere_before_a_double_dash() -> None:
    call = parse_invocation(["--data-dir", "/a", "run", "--json", "list", "--", "--json", "--data-dir=/b"])
    assert call.as_json
    assert call.data_dir == Path("/a")
    assert call.argv == ("run", "list", "--", "--json", "--data-dir=/b")


def test_an_options_value_stays_its_own_even_when_it_looks_like_a_global_option(cli: Cli) -> None:
    call = parse_invocation(["run", "start", "--model", "--json", "--suite", "smoke"])
    assert not call.as_json
    assert call.argv == ("run", "start", "--model", "--json", "--suite", "smoke")
    assert "no model '--json'" in cli("run", "start", "--model", "--json", "--suite", "smoke").err


def test_the_options_that_take_a_value_are_all_known() -> None:
    options = [one for one in _parameters(get_command(build())) if one.param_type_name == "option"]
    flags = {name for option in options if option.is_flag for name in option.opts}
    valued = {name for option in options if not option.is_flag for name in option.opts}
    assert valued - flags - {"--data-dir"} == TAKE_A_VALUE


def _parameters(command: Any) -> list[Any]:
    below = [_parameters(one) for one in getattr(command, "commands", {}).values()]
    return [*command.params, *chain.from_iterable(below)]


def test_a_data_dir_after_the_command_is_used(cli: Cli, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert cli("models", "--data-dir", str(elsewhere)).code == 0
    assert (elsewhere / "llmbench.db").exists()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], {"data_dir": None}),
        (["--read-only"], {"data_dir": None, "read_only": True}),
        (["--toolsets", "core"], {"data_dir": None, "toolsets": "core"}),
        (["--toolsets=core", "--data-dir", "/x"], {"data_dir": Path("/x"), "toolsets": "core"}),
        (["models"], None),
        (["--json"], None),
        (["--toolsets"], None),
        (["--help"], None),
    ],
)
def test_only_a_bare_call_means_serving(argv: list[str], expected: dict[str, object] | None) -> None:
    assert serving_options(parse_invocation(argv)) == expected


def test_a_bare_call_serves_mcp_until_stdin_ends_and_imports_no_command_line(data_dir: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", _SERVE_AND_TELL],
        input=json.dumps(hello) + "\n",
        env=environment(data_dir),
        capture_output=True,
        text=True,
        timeout=60,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"]
    assert done.stderr.splitlines()[-1] == "0 []"


def test_an_unknown_toolset_is_a_wrong_command_line(cli: Cli) -> None:
    said = cli("--toolsets", "cor")
    assert said.code == exit_codes.USAGE
    assert "'cor'" in said.err
    assert "--toolsets" in said.err
