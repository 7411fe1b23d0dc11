"""Rankings over comparable rows: per-task means, intervals, ties, coverage. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from llmbench_mcp.domain.statistics import wilson_interval

RankBy = Literal["score", "pass_rate", "speed"]

MIN_COVERAGE = 0.8
"""Below this share of the suite's tasks graded, a row is shown but not ranked."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task of one row, over all its comparable attempts. Times in seconds, speeds in tokens per second."""

    task_id: str
    graded: int
    errors: int
    pass_rate: float
    score: float
    weight: float = 1.0
    non_logic: int = 0
    decode_tps: float | None = None
    prefill_tps: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    tokens: int = 0
    last_at: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What one leaderboard row is made of: a comparable group of results.

    ``energy_j`` is what the attempts took whose energy is known, ``joules_per_token`` that by their output tokens.
    """

    key: str
    model: str
    endpoint: str
    device: str
    suite: str
    manifest: Mapping[str, Any]
    runs: int
    tasks: tuple[TaskResult, ...]
    energy_j: float | None = None
    joules_per_token: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A ranked row. ``rank_low..rank_high`` is the range the 95 % intervals leave open; None when not ranked."""

    row: Row
    score: float | None
    pass_rate: float | None
    interval: tuple[float, float]
    coverage: float
    tasks_graded: int
    tasks_in_suite: int
    errors: int
    decode_tps: float | None
    prefill_tps: float | None
    ttft_p50_s: float | None
    e2e_p50_s: float | None
    tokens: int
    rank_low: int | None = None
    rank_high: int | None = None
    note: str | None = None

    @property
    def ranked(self) -> bool:
        """Whether it has a rank."""
        return self.rank_low is not None


def rank(rows: Sequence[Row], tasks_in_suite: int, rank_by: RankBy = "score") -> list[Entry]:
    """Entries best first; rows with too little coverage come last, without a rank and with the reason."""
    entries = [_entry(row, tasks_in_suite) for row in rows]
    ranked = [entry for entry in entries if entry.note is None]
    rest = [entry for entry in entries if entry.note is not None]
    placed = [_placed(entry, ranked, rank_by) for entry in ranked]
    order = sorted(placed, key=lambda entry: (entry.rank_low or 0, -_value(entry, rank_by), entry.row.model))
    return order + sorted(rest, key=lambda entry: (-entry.coverage, entry.row.model))


def _entry(row: Row, tasks_in_suite: int) -> Entry:
    graded = [task for task in row.tasks if task.graded]
    weight = sum(task.weight for task in graded)
    passes = sum(task.pass_rate for task in graded)
    coverage = min(1.0, len(graded) / tasks_in_suite) if tasks_in_suite else 0.0
    note = None
    if coverage < MIN_COVERAGE:
        note = f"not ranked: only {len(graded)} of {tasks_in_suite} tasks graded"
    return Entry(
        row=row,
        score=sum(task.score * task.weight for task in graded) / weight if weight else None,
        pass_rate=passes / len(graded) if graded else None,
        interval=wilson_interval(passes, len(graded)),
        coverage=coverage,
        tasks_graded=len(graded),
        tasks_in_suite=tasks_in_suite,
        errors=sum(task.errors for task in row.tasks),
        decode_tps=_median([task.decode_tps for task in row.tasks]),
        prefill_tps=_median([task.prefill_tps for task in row.tasks]),
        ttft_p50_s=_median([task.ttft_s for task in row.tasks]),
        e2e_p50_s=_median([task.e2e_s for task in row.tasks]),
        tokens=sum(task.tokens for task in row.tasks),
        note=note,
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _placed(entry: Entry, field: Sequence[Entry], rank_by: RankBy) -> Entry:
    others = [other for other in field if other is not entry]
    if rank_by == "speed":
        mine = _value(entry, rank_by)
        better = sum(_value(other, rank_by) > mine for other in others)
        return replace(entry, rank_low=better + 1, rank_high=better + 1)
    better = sum(other.interval[0] > entry.interval[1] for other in others)
    worse = sum(other.interval[1] < entry.interval[0] for other in others)
    return replace(entry, rank_low=better + 1, rank_high=len(field) - worse)


def _value(entry: Entry, rank_by: RankBy) -> float:
    value = {"score": entry.score, "pass_rate": entry.pass_rate, "speed": entry.decode_tps}[rank_by]
    return -1.0 if value is None else value
