"""Results at the command line: exported, reported on, told apart, removed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.cli.conftest import Cli
from tests.cli.support import program, running

TASKS = [{"prompt": "What is the capital of France?", "expected": "Paris"}, {"prompt": "Say no", "expected": "no"}]


@pytest.fixture
def ready(cli: Cli) -> Iterator[FakeServer]:
    """A server with one model, discovered and assigned; it says Paris to everything."""
    with running(FakeServer(["alpha"], answer=lambda prompt: "Paris")) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine", "--concurrency", "3", "--evict", "any")
        cli("discover")
        cli("assign", "alpha")
        yield fake


async def refused(request: Received) -> Reply | None:
    return error_reply(400, "no such thing") if request.prompt else None


async def answered(request: Received) -> Reply | None:
    return None


def run_once(data_dir: Path, *more: str) -> dict[str, Any]:
    own = data_dir.parent / "own.json"
    own.write_text(json.dumps(TASKS), encoding="utf-8")
    ended = program(data_dir, "run", "start", "--model", "alpha", "--tasks", str(own), "--wait", "--json", *more)
    assert "run" in ended.json, ended.out
    return dict(ended.json["run"])


def test_results_are_exported_and_reported_on(cli: Cli, ready: FakeServer, data_dir: Path, tmp_path: Path) -> None:
    run_id = run_once(data_dir)["id"]
    out = tmp_path / "mine.csv"
    made = cli("results", "export", run_id, "--out", str(out), "--completions")
    assert made.code == exit_codes.OK
    assert str(out) in made.out
    assert "exporting: 2 of 2 attempts" in made.err
    with out.open(encoding="utf-8", newline="") as file:
        assert [row["untrusted_completion"] for row in csv.DictReader(file)] == ["Paris", "Paris"]
    assert (tmp_path / "mine.csv.manifest.json").exists()

    everything = cli("results", "export", "--json").json["exported"]
    assert (everything["format"], everything["rows"]) == ("json", 2)
    assert Path(everything["path"]).parent == data_dir / "exports"

    page = Path(cli("report", run_id, "--json").json["exported"]["path"])
    assert "Recommended use" in page.read_text(encoding="utf-8")
    assert page.suffix == ".html"

    assert cli("results", "export", run_id, "--format", "xml").code == exit_codes.USAGE
    assert "There is no run" in cli("report", "run_x").err
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = cli("results", "export", run_id, "--out", str(tmp_path / "file" / "a.json"))
    assert refused.code == exit_codes.FAILED
    assert "cannot be written" in refused.err


def test_results_are_removed_only_with_yes(cli: Cli, ready: FakeServer, data_dir: Path) -> None:
    first, second = run_once(data_dir)["id"], run_once(data_dir)["id"]
    told = cli("results", "clear", first)
    assert "Would remove 2 attempts of 1 run" in told.out
    assert "--yes" in told.out
    assert cli("run", "list", "--json").json["total"] == 2
    gone = cli("results", "clear", first, "--yes")
    assert "Removed 2 attempts" in gone.out
    assert "removing: 2 of 2 attempts" in gone.err
    assert [run["id"] for run in cli("run", "list", "--json").json["runs"]] == [second]
    assert cli("results", "clear").code == exit_codes.USAGE
    assert cli("results", "clear", "--model", "alpha", "--yes", "--json").json["removed"]["attempts"] == 2
    assert cli("run", "list", "--json").json["total"] == 0
    assert "There are no results" in cli("results", "clear", "--model", "alpha").err


def test_what_was_asked_differently_or_again_is_told_apart(cli: Cli, ready: FakeServer, data_dir: Path) -> None:
    run_id = run_once(data_dir, "--param", "temperature=0,0.7", "--limit-attempts", "4")["id"]
    listed = cli("run", "results", run_id)
    assert "temperature 0.7" in listed.out
    assert "(try" not in listed.out
    again = program(data_dir, "run", "retry", run_id, "--failed", "--wait")
    assert "limits (4 attempts)" in again.out
    assert cli("run", "results", run_id).out.count("(try 2, in no score)") == 2
    refused = cli("run", "results", run_id, "--failure", "wrong_anser")
    assert refused.code == exit_codes.FAILED
    assert "wrong_answer" in refused.err
    shown = cli("endpoint", "list").out
    assert "At once" in shown
    assert "anything" in shown
    assert cli("run", "list", "--state", "open").out.startswith("No run matches")
    assert run_id in cli("run", "list", "--text", "ALPH", "--suite", "custom").out
    assert "Use: open" in cli("run", "list", "--state", "lost").err


def test_what_was_asked_again_is_marked_as_in_no_score_and_its_attempts_are_within_reach(
    cli: Cli, ready: FakeServer, data_dir: Path
) -> None:
    ready.script = refused
    run_id = run_once(data_dir)["id"]
    ready.script = answered
    program(data_dir, "run", "retry", run_id, "--wait")
    rows = cli("run", "results", run_id, "--failure", "provider_error", "--json").json["attempts"]
    assert [(row["number"], row["counted"]) for row in rows] == [(1, False), (2, False)]
    assert cli("run", "results", run_id, "--failure", "provider_error").out.count("(in no score)") == 2
    assert cli("run", "results", run_id).out.count("in no score") == 2
    assert "Use 1 to 4." in cli("run", "results", run_id, "--attempt", "5").err
    assert cli("run", "results", run_id, "--attempt", "4").code == exit_codes.OK
