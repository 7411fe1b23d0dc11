from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llmbench_mcp.cli.main import run
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.support import Result, running

Cli = Callable[..., Result]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def cli(data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process, on a data directory of this test."""
    for name in [name for name in os.environ if name.startswith("LLMBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LLMBENCH_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LLMBENCH_DISCOVER_PORTS", "none")  # other servers of this machine are no part of a test
    monkeypatch.setenv("COLUMNS", "200")

    def call(*argv: str) -> Result:
        capsys.readouterr()
        code = run(list(argv))
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return call


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with running(FakeServer(["alpha"], answer=lambda prompt: "The answer is 4.")) as fake:
        yield fake
