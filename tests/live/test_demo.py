"""A demo whose own server dies under it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from llmbench_mcp.cli import exit_codes
from tests.cli.support import finish, program, spawn
from tests.live.support import needs_model

pytestmark = [pytest.mark.live, needs_model]


@contextmanager
def demo(data_dir: Path, *argv: str, until: str) -> Iterator[subprocess.Popen[str]]:
    """A demo that has said a line with ``until`` in it."""
    process = spawn(data_dir, "demo", *argv)
    try:
        assert process.stderr is not None
        assert any(until in line for line in process.stderr)
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def kill_server_of(process: subprocess.Popen[str]) -> None:
    (server,) = [c for c in psutil.Process(process.pid).children() if "server_child" in " ".join(c.cmdline())]
    server.kill()


def test_serving_ends_with_an_error_when_the_server_dies(tmp_path: Path) -> None:
    with demo(tmp_path, "--serve", until="Serving") as process:
        kill_server_of(process)
        said = finish(process)
    assert said.code == exit_codes.FAILED
    assert said.err.startswith("error: The embedded server ended by itself (killed by signal 9).")
    assert str(tmp_path / "logs" / "embedded.log") in said.err
    assert not said.has_traceback


def test_a_demo_cancels_its_run_and_ends_when_the_server_dies(tmp_path: Path) -> None:
    with demo(tmp_path, until="Run run_") as process:
        kill_server_of(process)
        said = finish(process)
    assert said.code == exit_codes.FAILED
    assert "was cancelled" in said.err
    assert "The embedded server ended by itself" in said.err
    assert not said.has_traceback
    assert program(tmp_path, "run", "list", "--json").json["runs"][0]["state"] == "cancelled"


def test_a_demo_whose_endpoint_was_renamed_serves_again_under_that_name(tmp_path: Path) -> None:
    with demo(tmp_path, "--serve", until="Serving") as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert "Renamed demo to box" in program(tmp_path, "endpoint", "add", url, "--name", "box").out
    with demo(tmp_path, "--serve", until="Serving smollm2-135m-instruct, endpoint box.") as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() != url
