"""What a report tells of a run: per suite a ranking, per model what it did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.leaderboard import Entry, rank
from llmbench_mcp.domain.statistics import clustered_interval
from llmbench_mcp.store.exports import ExportStore, JobFindings, SelectedJob
from llmbench_mcp.store.leaderboard import LeaderboardStore

EXAM = "exam"
PILLAR_POINTS = 20
MOST_TASKS, MOST_WRONG = 5_000, 40


@dataclass(frozen=True, slots=True)
class Part:
    """A part of what a validator looks at: its mean over the attempts graded, of ``most`` points."""

    validator: str
    name: str
    mean: float
    most: float
    attempts: int

    @property
    def best_is_zero(self) -> bool:
        """Whether it measures what an answer should not have."""
        return (self.validator, self.name) == ("coding", "hardcoding")


@dataclass(frozen=True, slots=True)
class Area:
    """A kind of task: of so many, the mean pass rate with its 95 % interval."""

    name: str
    tasks: int
    rate: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Portion:
    """What a model did on one suite with one set of parameters."""

    job: SelectedJob
    entry: Entry | None
    findings: JobFindings
    parts: tuple[Part, ...]
    areas: tuple[Area, ...]


@dataclass(frozen=True, slots=True)
class ModelPart:
    """One model at one endpoint."""

    model: str
    endpoint: str
    portions: tuple[Portion, ...]


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run: its facts, the ranking of each suite, its models."""

    facts: Mapping[str, Any]
    rankings: Mapping[str, Sequence[Entry]]
    models: tuple[ModelPart, ...]


async def run_part(store: ExportStore, boards: LeaderboardStore, run_id: str, jobs: Sequence[SelectedJob]) -> RunPart:
    """Everything about these jobs of that run."""
    facts = await store.run(run_id) or {"id": run_id}
    rankings: dict[str, list[Entry]] = {}
    for suite in dict.fromkeys(job.suite for job in jobs):
        rows, tasks = await boards.run_rows(run_id, suite)
        rankings[suite] = rank(rows, tasks)
    models: dict[tuple[str, str], list[Portion]] = {}
    for job in jobs:
        entry = next((one for one in rankings[job.suite] if one.row.key == job.key), None)
        findings = await store.report(job.id, MOST_TASKS, MOST_WRONG)
        portion = Portion(job, entry, findings, _parts(findings), _areas(findings))
        models.setdefault((job.model, job.endpoint), []).append(portion)
    return RunPart(facts, rankings, tuple(ModelPart(*key, tuple(found)) for key, found in models.items()))


def _parts(findings: JobFindings) -> tuple[Part, ...]:
    values: dict[tuple[str, str], list[float]] = {}
    for validator, subscores in findings.parts:
        for name, value in subscores.items():
            values.setdefault((validator, name), []).append(value)
    return tuple(
        Part(validator, name, math.fsum(found) / len(found), PILLAR_POINTS if validator == EXAM else 1, len(found))
        for (validator, name), found in values.items()
    )


def _areas(findings: JobFindings) -> tuple[Area, ...]:
    kinds: dict[str, list[tuple[float, int]]] = {}
    for task in findings.tasks:
        if task["graded"]:
            kind = task["task_id"].partition("/")[0]
            kinds.setdefault(kind, []).append((task["passed"] / task["graded"], task["graded"]))
    return tuple(_area(kind, found) for kind, found in kinds.items())


def _area(kind: str, found: Sequence[tuple[float, int]]) -> Area:
    rates, trials = [rate for rate, _ in found], [trial for _, trial in found]
    return Area(kind, len(found), math.fsum(rates) / len(rates), clustered_interval(rates, trials))
