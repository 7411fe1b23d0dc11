"""Two models, or two runs, on the tasks both answered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmbench_mcp.domain.comparison import Comparison, Unlike, compare, shared_tasks, unlike
from llmbench_mcp.domain.errors import ConflictError, InputError
from llmbench_mcp.domain.leaderboard import MIN_COVERAGE, Row, coverage
from llmbench_mcp.domain.run import CUSTOM_SUITE
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.services.models import Models
from llmbench_mcp.services.ranked import Remembered, ranked_suite
from llmbench_mcp.services.runs import Runs
from llmbench_mcp.services.suites import Suites
from llmbench_mcp.store.leaderboard import LeaderboardStore


@dataclass(frozen=True, slots=True)
class _Side:
    """What one name stands for: its rows, newest last, and how many tasks were to be answered.

    ``ranked``: rows with a rank on the suite's leaderboard; 0 for runs.
    """

    key: str
    rows: tuple[Row, ...]
    tasks: int
    note: str | None = None
    ranked: int = 0


class Comparisons:
    """Use cases about two rows of results."""

    def __init__(self, store: LeaderboardStore, suites: Suites, models: Models, runs: Runs) -> None:
        self._store = store
        self._suites = suites
        self._models = models
        self._runs = runs

    async def compare(self, a: str, b: str, suite: str) -> Comparison:
        """Set two models (name, id or name@endpoint) or two runs (id, or id:model where it asked several) side by side.

        Of several groups of results the two are taken that were asked alike and share most tasks; what was left aside
        is among the remarks. Results of a model are of the suite's present tasks, those of a run of what it asked.

        Raises:
            NotFoundError: no such suite, model or run.
            InputError: one is a run and the other a model, or both are the same.
            ConflictError: no results, no task in common, or not comparable; names the field that differs.
        """
        if _is_run(a) != _is_run(b):
            raise InputError("A run cannot be compared with a model.", "Give two models or two run ids.")
        side = self._run if _is_run(a) else self._model
        sides = (await side(a, suite), await side(b, suite))
        one, other = _chosen(*sides)
        found = compare(one, other, max(sides[0].tasks, sides[1].tasks))
        alone = found.alone(sides[0].ranked)
        notes = [alone] if alone else []
        notes += [note for side_, row in zip(sides, (one, other), strict=True) for note in _notes(side_, row)]
        return replace(found, remarks=(*found.remarks, *dict.fromkeys(notes)))

    async def _model(self, key: str, suite: str) -> _Side:
        view, gone = await ranked_suite(self._suites, self._store, suite)
        rows = await self._store.rows(view.suite.name, view.weights, gone.hashes if gone else view.hashes)
        found = [row for row in rows if key in (row.model, f"{row.model}@{row.endpoint}")]
        if not found:
            name = (await self._models.resolve(key)).name
            found = [row for row in rows if row.model == name]
        if not any(task.graded for row in found for task in row.tasks):
            raise ConflictError(
                f"{one_line(key, 80)} has no results on the present tasks of suite {suite}"
                f"{f' ({gone.remark})' if gone else ''}.",
                _how_to_ask(suite, gone),
            )
        ranked = sum(coverage(row, len(view.tasks)) >= MIN_COVERAGE for row in rows)
        return _Side(key, _newest_last(found), len(view.tasks), gone.remark if gone else None, ranked)

    async def _run(self, key: str, suite: str) -> _Side:
        run_id, _, model = key.partition(":")
        run = await self._runs.get(run_id)
        rows, tasks = await self._store.run_rows(run.id, suite)
        found = [row for row in rows if model in ("", row.model)]
        if not any(task.graded for row in found for task in row.tasks):
            asked = ", ".join(sorted({f"{one_line(job.model, 60)} on {job.suite}" for job in run.jobs})[:5])
            raise ConflictError(f"{one_line(key, 80)} has no graded results on suite {suite}.", f"It asked: {asked}.")
        names = sorted({row.model for row in found})
        if len(names) > 1:
            forms = ", ".join(f"{run.id}:{one_line(name, 60)}" for name in names[:5])
            raise ConflictError(f"Run {run.id} asked {len(names)} models.", f"Say which: {forms}.")
        return _Side(key, _newest_last(found), tasks, None if run.is_over else f"{run.id} is not over")


def _how_to_ask(suite: str, gone: Remembered | None) -> str:
    if suite == CUSTOM_SUITE:
        return "Call run_start (run start) with this model and those tasks again: custom_tasks (--tasks FILE)."
    if gone:
        return "Its tasks are no longer here to be asked."
    return "Call run_start (run start) with this model and suite."


def _is_run(key: str) -> bool:
    return key.startswith("run_")


def _newest_last(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: (max((task.last_at or "" for task in row.tasks), default=""), row.key)))


def _chosen(one: _Side, other: _Side) -> tuple[Row, Row]:
    """The two rows that may be compared and share most tasks, the newest of such. Raises as ``compare``."""
    pairs = [(a, b) for a, b in itertools.product(one.rows, other.rows) if a is not b and a != b]
    if not pairs:
        raise InputError(f"{one_line(one.key, 80)} and {one_line(other.key, 80)} are the same results.", "Give two.")
    sharing = [(len(shared_tasks(*pair)), at) for at, pair in enumerate(pairs)]
    for shared, at in sorted(sharing, reverse=True):
        if shared and unlike(*pairs[at]) is None:
            return pairs[at]
    most, at = max(sharing)
    if not most:
        raise ConflictError("They have no graded task in common.", "Run both on the same suite first.")
    found = unlike(*pairs[at])
    assert found is not None, "else it would have been chosen"
    raise ConflictError(
        f"Not comparable: {found.field} is {_told(found.a)} for a and {_told(found.b)} for b.", _remedy(found)
    )


def _told(value: object) -> str:
    return "not set" if value in (None, "") else one_line(str(value), 60)


def _remedy(found: Unlike) -> str:
    if found.field.startswith("validator_version"):
        return "Grade the older run again: run_retry (run retry) with regrade."
    if found.field.startswith("task_hash"):
        return "The task was changed in between: run both again."
    return "Run both with the same parameters."


def _notes(side: _Side, row: Row) -> list[str]:
    notes = [side.note] if side.note else []
    others = len(side.rows) - 1
    if others:
        sampling = ", ".join(f"{name} {value}" for name, value in row.manifest["sampling"].items() if value is not None)
        notes.append(
            f"{one_line(side.key, 80)} has other results left aside here (endpoint, sampling or weights: {others}); "
            f"taken: {row.endpoint}, {sampling}"
        )
    return notes
