"""Progress of a run on stderr: a live bar on a terminal, a line every few attempts elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from llmbench_mcp.cli import figures, output
from llmbench_mcp.domain.run import Run
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from rich.progress import TaskID

    from llmbench_mcp.services.runs import Runs

_PLAIN_LINES = 10
_LOOK_S = 0.5


class Progress(Protocol):
    """Shows a run while the block lasts; call it with every step."""

    def __enter__(self) -> Self:
        """Start showing."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Stop showing."""
        ...

    async def __call__(self, run: Run) -> None:
        """Show this state."""
        ...


def progress() -> Progress:
    """The display that fits stderr."""
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()


async def follow(runs: Runs, run_id: str, display: Progress) -> Run:
    """Wait for a run's end, showing it twice a second: its step changes more often than its counts."""
    run = await runs.get(run_id)
    await display(run)
    while not run.is_over:
        run = await runs.status(run_id, _LOOK_S)
        await display(run)
    return run


def counts(run: Run) -> str:
    """How many attempts are over, and how they ended; done is what has a verdict, here as everywhere."""
    return f"{run.done + run.errors} of {run.planned} over: {ends(run)}"


def ends(run: Run) -> str:
    """Passed, failed and errors so far."""
    errors = f", {figures.count(run.errors, 'error')}" if run.errors else ""
    return f"{run.passed} passed, {run.done - run.passed} failed{errors}"


def time_left(run: Run) -> str:
    """How long the run takes, as far as that is known."""
    if run.eta_s:
        return f"{figures.roughly(run.eta_s)} left"
    return f"at least {figures.roughly(run.least_left_s).removeprefix('about ')} left" if run.least_left_s else ""


def step(run: Run) -> str:
    """What is being done now."""
    job = next((job for job in run.jobs if job.state in ("running", "loading")), None)
    if job is None:
        return run.reason or ""
    several = len({job.model for job in run.jobs}) > 1
    return one_line(f"{job.model}: {job.step}" if several or not job.step else job.step, 60)


class LiveProgress:
    """A bar with done and planned, passed and failed, the current step and the time left."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        text = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("counts", "left", "step")]
        columns = (BarColumn(30), MofNCompleteColumn(), *text[:1], TimeElapsedColumn(), *text[1:])
        self._bars = Bars(*columns, console=output.console(sys.stderr))
        self._task: TaskID = self._bars.add_task("", total=None, counts="", left="", step="starting")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    async def __call__(self, run: Run) -> None:
        """Move the bar."""
        left = time_left(run)
        finished = run.done + run.errors
        self._bars.update(
            self._task, total=run.planned, completed=finished, counts=ends(run), left=left, step=step(run)
        )


class PlainProgress:
    """Lines, about ten for a whole run."""

    def __init__(self) -> None:
        self._told: tuple[int, str] = (-1, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def __call__(self, run: Run) -> None:
        """Say it when enough has changed."""
        finished = run.done + run.errors
        tenth = finished * _PLAIN_LINES // max(1, run.planned)
        if (tenth, run.state) != self._told:
            self._told = (tenth, run.state)
            doing = step(run)
            output.note(f"{run.state}: {counts(run)}{doing and '; '}{doing}")


@contextmanager
def activity(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner with the time gone by, or plain lines; call what it gives with each new step."""
    if not sys.stderr.isatty():
        yield output.note
        return
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    with Bars(SpinnerColumn(), text, TimeElapsedColumn(), console=output.console(sys.stderr), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda step: bars.update(task, description=one_line(step))
