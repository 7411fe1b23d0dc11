"""``run start`` of a large run is killed while it writes: others see at once that nobody goes on with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import environment, program

START = ("run", "start", "--model", "alpha", "--suite", "reasoning_smoke", "--repeats", "3", "--key", "once", "--json")
REASON = "interrupted while it was being written: start it again"


def half_written(data_dir: Path) -> subprocess.Popen[str]:
    """A process that has written a part of the run, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.half_writer", *START],
        env=environment(data_dir),
        cwd=Path(__file__).parents[2],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert "half way\n" in iter(process.stderr.readline, "")
    return process


@pytest.fixture
def ready(cli: Cli, server: FakeServer) -> None:
    """A server with one model, discovered and assigned."""
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    cli("assign", "alpha")


def told(data_dir: Path) -> list[tuple[str, str | None]]:
    runs = program(data_dir, "run", "list", "--json").json["runs"]
    return [(run["state"], run["reason"]) for run in runs]


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_interrupted_while_it_is_written_says_so(data_dir: Path, number: signal.Signals) -> None:
    with half_written(data_dir) as process:
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else exit_codes.INTERRUPTED)
    assert told(data_dir) == [("cancelled", REASON)]
    run = program(data_dir, "run", "list", "--json").json["runs"][0]
    said = program(data_dir, "run", "retry", run["id"])
    assert (said.code, "run start" in said.err) == (exit_codes.FAILED, True)
    assert REASON in program(data_dir, "run", "status", run["id"]).out


@pytest.mark.usefixtures("ready")
def test_the_same_command_makes_a_run_anew_whose_writer_was_killed(data_dir: Path) -> None:
    with half_written(data_dir) as process:
        process.kill()
        process.communicate(timeout=60)
    again = program(data_dir, *START, "--wait").json
    assert (again["created"], again["run"]["state"]) == (True, "completed")
    assert told(data_dir) == [("completed", None), ("cancelled", REASON)]


@pytest.mark.usefixtures("ready")
def test_a_living_writer_is_let_finish(data_dir: Path) -> None:
    with half_written(data_dir) as process:
        ((state, reason),) = told(data_dir)
        assert (state, str(reason)[:20]) == ("queued", "being written: 4 of ")
        process.communicate(timeout=60)
    assert process.returncode == exit_codes.OK
    again = program(data_dir, *START, "--wait").json
    assert (again["created"], again["run"]["state"]) == (False, "completed")
