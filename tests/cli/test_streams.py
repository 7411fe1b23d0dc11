"""An output that cannot be written, or that nobody reads any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from tests.cli.support import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
COMMANDS = [
    "models",
    "models --json",
    "suites smoke --json",
    "suites smoke",
    "--help",
    "--version",
    "bogus --json",
    "run status nope --json",
]


def shell(data_dir: Path, line: str) -> subprocess.CompletedProcess[str]:
    """``line`` with ``P`` as the program; the shell's exit code is the program's."""
    script = f'P() {{ "$0" -m llmbench_mcp "$@"; }}\n{line}'
    return subprocess.run(
        ["sh", "-c", script, sys.executable],
        env=environment(data_dir),
        capture_output=True,
        text=True,
        timeout=120,
    )


@needs_full
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line_and_exit_code_1(data_dir: Path, command: str) -> None:
    done = shell(data_dir, f"P {command} > /dev/full")
    assert done.returncode == exit_codes.FAILED
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


@needs_full
def test_a_full_disk_under_standard_error_is_no_traceback_either(data_dir: Path) -> None:
    assert shell(data_dir, "P bogus 2> /dev/full").returncode == exit_codes.FAILED


@pytest.mark.parametrize("command", ["models", "models --json", "--version"])
def test_a_closed_output_is_one_line_and_exit_code_1(data_dir: Path, command: str) -> None:
    done = shell(data_dir, f"P {command} >&-")
    assert done.returncode == exit_codes.FAILED
    assert done.stderr == "error: the output cannot be written: standard output is closed\n"


def test_without_standard_error_a_command_answers_all_the_same(data_dir: Path) -> None:
    done = shell(data_dir, "P models --json 2>&-")
    assert done.returncode == exit_codes.OK
    assert '"models"' in done.stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_left_is_no_failure_whatever_was_said(data_dir: Path, command: str, unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "llmbench_mcp", *command.split()],
        env=environment(data_dir, PYTHONUNBUFFERED=unbuffered),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (exit_codes.OK, b"")
