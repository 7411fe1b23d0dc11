from __future__ import annotations

import io

import pytest

from llmbench_mcp.cli.progress import PlainProgress, activity, progress
from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.run import Job, Run, RunState


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _run(done: int, planned: int = 100, state: RunState = "running", step: str | None = None) -> Run:
    names = ("job", "run", "model", "[red]alpha", "alpha", "endpoint", "mine", "cpu", "smoke")
    job = Job(*names, Sampling(), "running", step=step)
    return Run("run", state, planned=planned, done=done, passed=done // 2, errors=0, jobs=(job,), eta_s=30.0)


async def test_without_a_terminal_a_long_run_is_told_in_about_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as display:
        assert isinstance(display, PlainProgress)
        for done in range(101):
            await display(_run(done))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1].startswith("running: 100 of 100 over: 50 passed, 50 failed")


async def test_every_change_of_state_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as display:
        for state in ("queued", "running", "running", "cancelled"):
            await display(_run(0, state=state))
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["queued", "running", "cancelled"]


async def test_a_terminal_shows_a_bar_with_counts_the_step_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "160")
    with progress() as display:
        await display(_run(40, step="asking [red]coding/is_even\x1b[2J"))
    shown = terminal.getvalue()
    for words in ("40/100", "20 passed, 20 failed", "about 30 s left", "asking [red]coding/is_even\\x1b[2J"):
        assert words in shown


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_an_activity_is_shown_with_or_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
) -> None:
    shown = stream()
    monkeypatch.setattr("sys.stderr", shown)
    with activity("Waiting") as tell:
        tell("Fetching [red]weights")
    assert "Fetching [red]weights" in shown.getvalue() or isinstance(shown, Terminal)
