from __future__ import annotations

import io
from typing import Any

from llmbench_mcp.cli.output import console
from llmbench_mcp.cli.run_results import _fact
from llmbench_mcp.cli.run_view import render_run
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import Job, Run

_REASON = "Nothing answers at http://127.0.0.1:8080: connection refused."


def _job(**more: Any) -> Job:
    return Job("job_1", "run_1", "model_1", "m", "m", "ep_1", "box", "cpu", "smoke", Sampling(), **more)


def _shown(run: Run) -> str:
    out = io.StringIO()
    for part in render_run(run):
        console(out).print(part, crop=False)
    return out.getvalue()


def test_a_paused_run_says_once_why() -> None:
    jobs = (_job(state="pending", reason=_REASON), _job(state="pending", reason=_REASON))
    shown = _shown(Run("run_1", "paused", _REASON, planned=4, jobs=jobs))
    assert " ".join(shown.split()).count("connection refused") == 1
    assert "run status run_1 --wait" in shown


def test_the_reason_of_a_single_job_stands_with_it() -> None:
    shown = _shown(Run("run_1", "failed", planned=4, jobs=(_job(state="failed", reason="no such model"),)))
    assert shown.count("no such model") == 1


def test_errors_are_over_and_not_graded_in_the_headline_as_in_the_table_below() -> None:
    jobs = (_job(state="done", planned=12, done=8, passed=5, errors=4),)
    shown = _shown(Run("run_1", "completed", planned=12, done=8, passed=5, errors=4, jobs=jobs))
    assert "Run run_1: completed, 12 of 12 over: 5 passed, 3 failed, 4 errors" in shown
    heads, row = (line.split() for line in shown.splitlines() if "Graded" in line or "8/12" in line)
    assert (heads[2:], row[2:]) == (["Graded", "Passed", "Errors"], ["8/12", "5", "4"])
    assert " done," not in shown


def test_what_is_known_of_the_time_left_stands_in_the_headline() -> None:
    assert "0 failed, about 2 min left" in _shown(Run("run_1", "running", planned=4, eta_s=110.0))
    assert "0 failed, at least 30 s left" in _shown(Run("run_1", "running", planned=4, least_left_s=30.0))


def test_what_is_unsure_about_a_models_place_is_told_once_for_all_its_suites() -> None:
    unsure = "unverified: the server does not say what is loaded"
    jobs = tuple(_job(state="done", residency=unsure) for _ in range(3))
    shown = _shown(Run("run_1", "completed", planned=3, jobs=jobs))
    assert shown.count(f"m on box: {unsure}") == 1


def test_stages_are_told_as_passed_of_tried() -> None:
    assert _fact("stages", {"base": (6, 6), "hidden": (2, 3)}) == "base 6/6, hidden 2/3"
