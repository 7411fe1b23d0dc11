"""Runs: one request for models x suites x parameters x repeats, split into jobs and attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from llmbench_mcp.domain.chat import Budget, Sampling
from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line

RunState = Literal["queued", "running", "paused", "completed", "cancelled", "failed"]
JobState = Literal["pending", "loading", "running", "done", "blocked", "failed", "cancelled"]


OPEN_JOB_STATES: tuple[JobState, ...] = ("pending", "loading", "running")


OPEN_RUN_STATES: tuple[RunState, ...] = ("queued", "running", "paused")


CUSTOM_SUITE = "custom"
"""The suite that holds a request's own tasks."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a run may use before it is stopped; None means no limit.

    ``tokens``: prompt and completion tokens; ``seconds``: from its first step; ``attempts``: how many are asked.
    """

    tokens: int | None = None
    seconds: float | None = None
    attempts: int | None = None

    def as_dict(self) -> dict[str, float]:
        """Those that are set."""
        figures = {"tokens": self.tokens, "seconds": self.seconds, "attempts": self.attempts}
        return {name: figure for name, figure in figures.items() if figure is not None}

    def told(self, planned: int) -> str | None:
        """In words, as "its limit of 3 attempts or 60 seconds"; None where none can end a run of so many attempts."""
        biting = [
            f"{figure:,.15g} {name if figure != 1 else name.removesuffix('s')}"
            for name, figure in self.as_dict().items()
            if name != "attempts" or figure < planned
        ]
        return f"its limit of {' or '.join(biting)}" if biting else None


_MOST = 10**15
"""Far beyond any use, and well within what every place that a limit comes to can hold."""


def run_limits(given: Mapping[str, Any]) -> RunLimits:
    """Limits from plain data.

    Raises:
        InputError: an unknown name, or a value that is not a finite number above 0.
    """
    for name, value in given.items():
        kinds = (int, float) if name == "seconds" else (int,)
        if name not in ("tokens", "seconds", "attempts"):
            raise InputError(f"There is no limit '{one_line(str(name), 40)}'.", "Use: tokens, seconds, attempts.")
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= _MOST):
            shown = one_line(str(value), 40)
            raise InputError(f"The limit of {name} is {shown}.", "Give a finite number above 0, at most 1e15.")
    return RunLimits(**given)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a caller asks for. ``models`` and ``suites`` are names or ids; ``endpoint`` overrides assignment.

    ``select`` takes models by their status instead: all, new, active or unstable_failed.
    ``matrix``: by parameter, the values of which every combination is run. ``custom_tasks`` are stored whole
    and form the suite ``custom``.
    """

    models: tuple[str, ...]
    suites: tuple[str, ...]
    endpoint: str | None = None
    repeats: int = 1
    sampling: Sampling = Sampling()
    priority: int = 0
    idempotency_key: str | None = None
    keep_loaded: bool = False
    matrix: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    limits: RunLimits = RunLimits()
    custom_tasks: tuple[Task, ...] = ()
    select: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """One model, endpoint, suite and parameter set, with its manifest frozen when the run was made."""

    id: str
    model_id: str
    endpoint_id: str
    suite: str
    sampling: Sampling
    manifest: Mapping[str, Any]
    tasks: tuple[Task, ...]

    def asks(self, repeats: int) -> Iterator[tuple[Task, int]]:
        """Which task is asked when, with the number of its repeat from 1.

        Repeats go round by round; a task that measures speed is asked as often as it says, in a row.
        """
        for repeat in range(1, repeats + 1):
            yield from ((task, repeat) for task in self.tasks if task.load is None)
        for task in self.tasks:
            if task.load is not None:
                yield from ((task, repeat) for repeat in range(1, repeats * task.load.requests + 1))

    def planned(self, repeats: int) -> int:
        """How many attempts that makes."""
        return repeats * sum(task.load.requests if task.load else 1 for task in self.tasks)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that will be done, resolved and frozen before the run is written."""

    id: str
    request: RunRequest
    jobs: tuple[PlannedJob, ...]

    @property
    def planned(self) -> int:
        """How many attempts the plan holds."""
        return sum(job.planned(self.request.repeats) for job in self.jobs)


class Job(NamedTuple):
    """A job as stored, with its progress. ``energy_j`` is what all its asking took, attempts side by side included.

    No dataclass: a frozen one takes 15 times as long to make, and a large run has hundreds.
    """

    id: str
    run_id: str
    model_id: str
    model: str
    served_name: str
    endpoint_id: str
    endpoint: str
    device: str
    suite: str
    sampling: Sampling
    state: JobState
    reason: str | None = None
    priority: int = 0
    planned: int = 0
    done: int = 0
    errors: int = 0
    passed: int = 0
    load_s: float | None = None
    residency: str | None = None
    step: str | None = None
    interrupted: int = 0
    created_at: str = ""
    keep_loaded: bool = False
    energy_j: float | None = None
    energy_note: str | None = None
    client_bound: str | None = None
    budget: Budget = Budget()


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One step of a run's history. ``seq`` grows; ``at`` is UTC; ``data`` depends on ``kind``.

    Kinds: queued, running, loading, job_running, paused, interrupted, limit, retry, job_done, job_blocked, job_failed,
    job_cancelled, attempt, and the run's end: completed, cancelled, failed.
    """

    seq: int
    at: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenJob:
    """What the scheduler needs to know of a job that is not over; ``created_s`` in seconds of the epoch."""

    id: str
    run_id: str
    device: str
    endpoint_id: str
    served_name: str
    priority: int
    created_s: float


AnyJob = Job | OpenJob


@dataclass(frozen=True, slots=True)
class Run:
    """A run as stored, with its jobs and totals.

    ``finished_at``: when its asking ended; that it was graded again since is told by its events.
    ``eta_s``: how long it has left, where that is known of all its open jobs; else ``least_left_s`` is what those take
    of which it is known.
    """

    id: str
    state: RunState
    reason: str | None = None
    created_at: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    planned: int = 0
    done: int = 0
    errors: int = 0
    passed: int = 0
    tokens: int = 0
    interrupted: int = 0
    jobs: tuple[Job, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    eta_s: float | None = None
    attempts_per_minute: float | None = None
    least_left_s: float | None = None

    @property
    def total_tokens(self) -> int | None:
        """Of prompts and answers, as far as servers counted them; None where none did."""
        return self.tokens or (None if self.done + self.errors else 0)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state in ("completed", "cancelled", "failed")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; None means any. ``state``: one of the states, or ``open``: not over. ``model``: name or id.

    ``text``: part of the run's id, its reason, or the name of a model, endpoint or suite in it, in any case.
    """

    state: str | None = None
    model: str | None = None
    suite: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run without its jobs, and the models and suites that it is about, as planned."""

    run: Run
    models: tuple[str, ...]
    suites: tuple[str, ...]
