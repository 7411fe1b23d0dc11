from __future__ import annotations

import io
from pathlib import Path

from llmbench_mcp.cli.output import console
from llmbench_mcp.cli.run_view import render_events, render_run
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import Job, Run, RunEvent
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import program, running

AT = "2026-01-31T12:00:00.000Z"


def _said(run: Run, *events: RunEvent) -> str:
    out = io.StringIO()
    for part in [*render_run(run), render_events(run, events)]:
        console(out).print(part, crop=False)
    return " ".join(out.getvalue().split())


def test_a_runs_history_stands_in_the_json_and_for_people(cli: Cli, data_dir: Path) -> None:
    with running(FakeServer(["m"])) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        cli("assign", "m")
        started = program(data_dir, "run", "start", "--model", "m", "--suite", "reasoning_smoke", "--wait", "--json")
    run_id = started.json["run"]["id"]
    events = cli("run", "status", run_id, "--events", "--json").json["events"]
    assert [event["kind"] for event in events[:4]] == ["queued", "running", "loading", "job_running"]
    assert events[-1]["kind"] == "completed"
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert "events" not in cli("run", "status", run_id, "--json").json
    assert "measuring" in cli("run", "status", run_id, "--events").out


def test_what_interrupted_and_paused_a_run_is_told_with_its_model_and_reason() -> None:
    job = Job("job_1", "run_1", "model_1", "m", "m", "ep_1", "box", "cpu", "smoke", Sampling(), "pending")
    run = Run("run_1", "running", planned=4, interrupted=1, jobs=(job,))
    paused = RunEvent(2, AT, "paused", {"job": "job_1", "reason": "Nothing answers at \x1b[31mbox."})
    said = _said(run, RunEvent(1, AT, "interrupted", {}), paused, RunEvent(3, AT, "retry", {"what": "errors"}))
    assert "Interrupted once: what was in flight was asked again." in said
    assert "2026-01-31 12:00:00 paused m Nothing answers at \\x1b[31mbox." in said
    assert "retry what errors" in said


def test_single_attempts_are_told_with_their_verdict() -> None:
    graded = RunEvent(1, AT, "attempt", {"task": "own/a", "passed": True, "failure": None})
    wrong = RunEvent(2, AT, "attempt", {"task": "own/b", "passed": False, "failure": "wrong_answer"})
    said = _said(Run("run_1", "completed", planned=2, interrupted=3), graded, wrong)
    assert "own/a: passed" in said
    assert "own/b: wrong_answer" in said
    assert "Interrupted 3 times" in said
