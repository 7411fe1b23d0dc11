"""Answers of models as people see them: whole, unless they go round in circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.cli.output import long_text
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import program, running

CIRCLES = "once more from the start\n" * 200


def test_an_answer_that_goes_in_circles_is_shown_in_part(cli: Cli, data_dir: Path, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("prompt,expected\nWhat is 2 + 2?,4\n", encoding="utf-8")
    cli("suite", "import", "mine", str(table), "--map", "prompt=prompt,expected=expected")
    with running(FakeServer(["alpha"], answer=lambda prompt: CIRCLES)) as server:
        cli("endpoint", "add", server.url)
        cli("discover")
        cli("assign", "alpha")
        run = program(data_dir, "run", "start", "--model", "alpha", "--suite", "mine", "--wait", "--json").json["run"]
    raw = cli("run", "results", run["id"], "--attempt", "1", "--json").json["attempt"]
    shown = cli("run", "results", run["id"], "--attempt", "1").out

    assert raw["failure"] == "loop"
    assert raw["completion_text"].count("once more") > 40
    assert shown.count("once more") == 40
    assert f"of {len(raw['completion_text'])} characters shown; --json has all" in shown


@pytest.mark.parametrize(
    ("text", "lines", "shown"),
    [
        ("a\nb\nc\n", 2, "a\nb"),
        ("a\nb", 2, "a\nb"),
        ("x" * 200, 1, "x" * 76),
        ("a\n" + "x" * 200, 2, "a\n" + "x" * 76),
        ("a\n\n\nb", 3, "a"),
        ("", 1, ""),
    ],
)
def test_text_is_cut_after_so_many_lines_of_a_terminal(text: str, lines: int, shown: str) -> None:
    told = long_text(text, lines)
    assert told.partition("\n[cut: ")[0].rstrip() == shown
    assert ("--json has all" in told) == (len(shown) < len(text.rstrip()))


def test_text_without_a_number_of_lines_is_shown_whole() -> None:
    assert long_text(CIRCLES) == CIRCLES
