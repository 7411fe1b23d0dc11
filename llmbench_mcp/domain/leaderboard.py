"""Rankings over comparable rows: per-task means, intervals, ties, coverage. Pure; see docs/statistics.md."""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.paired import sign_flip_p
from llmbench_mcp.domain.repeats import intervals_over_tasks, mean_over_tasks
from llmbench_mcp.domain.statistics import clustered_interval

RankBy = Literal["score", "pass_rate", "speed", "efficiency"]
"""By efficiency: fewest joules per output token."""

SIGNIFICANCE = 0.05
MIN_COVERAGE = 0.8
"""Below this share of the suite's tasks graded, a row is shown but not ranked."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task of one row, over all its comparable attempts. Times in seconds, speeds in tokens per second.

    ``tokens`` of all answers whose tokens were counted; None where none were, as of answers that were cut.
    ``non_logic`` of the graded attempts failed before their logic could show (``NON_LOGIC_FAILURES``);
    ``non_logic_score`` is the sum of what those scored all the same.
    """

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
    tokens: int | None = None
    last_at: str | None = None
    non_logic_score: float = 0.0
    task_hash: str = ""
    validator_version: str = ""

    @property
    def passed(self) -> int:
        """How many attempts passed."""
        return round(self.pass_rate * self.graded)

    def logic_only(self) -> TaskResult:
        """The same without the attempts whose failure was not one of logic."""
        if not self.non_logic:
            return self
        graded = self.graded - self.non_logic
        if graded <= 0:
            return replace(self, graded=0, pass_rate=0.0, score=0.0)
        left = max(0.0, self.score * self.graded - self.non_logic_score)
        return replace(self, graded=graded, pass_rate=self.passed / graded, score=min(1.0, left / graded))


@dataclass(frozen=True, slots=True)
class Row:
    """What one leaderboard row is made of: a comparable group of results.

    ``energy_j`` is what the attempts took whose energy is known, ``joules_per_token`` that by their output tokens.
    ``speed_bound``: of so many of the ``runs`` speeds may be this program's own, not the server's.
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
    speed_bound: int = 0

    @property
    def parameters(self) -> str:
        """How it was asked, as far as that is not usual; empty where it is."""
        return Sampling(**self.manifest["sampling"]).told() if "sampling" in self.manifest else ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A ranked row. ``rank_low..rank_high`` is the range the evidence leaves open; None when not ranked.

    ``interval``: 95 %, of ``pass_rate``. ``repeats``: the fewest graded attempts at any graded task; where that is 2 or
    more, ``pass_at_k`` and ``pass_hat_k`` tell how often any or all of so many attempts pass; ``k_intervals`` are
    their 95 % intervals. ``left_out``: graded attempts without a failure of logic that ``exclude_non_logic`` took away.
    """

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
    tokens: int | None
    rank_low: int | None = None
    rank_high: int | None = None
    note: str | None = None
    repeats: int = 0
    pass_at_k: float | None = None
    pass_hat_k: float | None = None
    k_intervals: tuple[tuple[float, float], tuple[float, float]] | None = None
    left_out: int = 0

    @property
    def ranked(self) -> bool:
        """Whether it has a rank."""
        return self.rank_low is not None

    def meets(self, other: Entry) -> bool:
        """Whether there is a rank that both may have."""
        mine, its = (self.rank_low, self.rank_high), (other.rank_low, other.rank_high)
        if None in mine + its:
            return False
        return max(mine[0] or 0, its[0] or 0) <= min(mine[1] or 0, its[1] or 0)

    @property
    def speed_note(self) -> str | None:
        """A warning beside the speeds where this program was too busy to time the server well."""
        bound, runs = self.row.speed_bound, self.row.runs
        if not bound or (self.decode_tps is None and self.ttft_p50_s is None):
            return None
        which = "speeds" if bound == runs else f"speeds of {bound} of {runs} runs"
        return f"{which} may be this program's own, not the server's"


def rank(
    rows: Sequence[Row], tasks_in_suite: int, rank_by: RankBy = "score", *, exclude_non_logic: bool = False
) -> list[Entry]:
    """Entries best first; rows that cannot be ranked come last with the reason.

    Entries not told apart share a range of ranks. Which of two equal ones is listed first says nothing: that is by
    name, so that a list looks the same twice.
    """
    entries = [_entry(row, tasks_in_suite, rank_by, exclude_non_logic) for row in rows]
    ranked = _ranges([entry for entry in entries if entry.note is None], rank_by)
    rest = [entry for entry in entries if entry.note is not None]
    ranked.sort(key=lambda entry: (-(_value(entry, rank_by) or 0.0), entry.rank_low, entry.row.model, entry.row.key))
    return ranked + sorted(rest, key=lambda entry: (-entry.coverage, entry.row.model, entry.row.key))


def coverage(row: Row, tasks_in_suite: int) -> float:
    """The share of the suite's tasks that are graded."""
    return min(1.0, sum(task.graded > 0 for task in row.tasks) / tasks_in_suite) if tasks_in_suite else 0.0


def limit(ranked: int) -> float:
    """Below which p two of so many ranked rows are told apart: Bonferroni, each being tested against all others."""
    return SIGNIFICANCE / max(1, ranked - 1)


def basis(ranked: int, rank_by: RankBy) -> str | None:
    """What the order of so many ranked rows rests on, where that is not two rows tested once."""
    if ranked < 2 or (ranked == 2 and rank_by not in _FIGURES):
        return None
    if rank_by in _FIGURES:
        return f"ordered by {rank_by} as measured, with no test behind it: a few per cent may be chance"
    others = ranked - 1
    return (
        f"each of the {ranked} ranked rows is tested against the {others} others, so two are told apart only at "
        f"p < {limit(ranked):.3g} (5 % / {others}); two compared alone, at p < {SIGNIFICANCE}"
    )


def _entry(row: Row, tasks_in_suite: int, rank_by: RankBy, exclude_non_logic: bool) -> Entry:
    counted = row if not exclude_non_logic else replace(row, tasks=tuple(task.logic_only() for task in row.tasks))
    graded = [task for task in counted.tasks if task.graded]
    weight = sum(task.weight for task in graded)
    rates = [task.pass_rate for task in graded]
    entry = Entry(
        row=counted,
        score=sum(task.score * task.weight for task in graded) / weight if weight else None,
        pass_rate=sum(rates) / len(rates) if rates else None,
        interval=clustered_interval(rates, [task.graded for task in graded]),
        coverage=coverage(counted, tasks_in_suite),
        tasks_graded=len(graded),
        tasks_in_suite=tasks_in_suite,
        errors=sum(task.errors for task in row.tasks),
        decode_tps=_median([task.decode_tps for task in row.tasks]),
        prefill_tps=_median([task.prefill_tps for task in row.tasks]),
        ttft_p50_s=_median([task.ttft_s for task in row.tasks]),
        e2e_p50_s=_median([task.e2e_s for task in row.tasks]),
        tokens=sum(task.tokens or 0 for task in row.tasks) or None,
        left_out=sum(task.non_logic for task in row.tasks) if exclude_non_logic else 0,
    )
    return replace(_with_repeats(entry, graded), note=_why_unranked(entry, rank_by))


def _with_repeats(entry: Entry, graded: Sequence[TaskResult]) -> Entry:
    k = min((task.graded for task in graded), default=0)
    if k < 2:
        return replace(entry, repeats=k)
    tasks = [(task.graded, task.passed) for task in graded]
    any_right, all_right = mean_over_tasks(tasks, k)
    intervals = intervals_over_tasks(tasks, k)
    return replace(entry, repeats=k, pass_at_k=any_right, pass_hat_k=all_right, k_intervals=intervals)


def _why_unranked(entry: Entry, rank_by: RankBy) -> str | None:
    if entry.coverage < MIN_COVERAGE:
        without = f" ({entry.left_out} attempts left out)" if entry.left_out else ""
        return f"not ranked: only {entry.tasks_graded} of {entry.tasks_in_suite} tasks graded{without}"
    if _value(entry, rank_by) is None:
        return f"not ranked: no {'energy' if rank_by == 'efficiency' else 'speed'} is known"
    return None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _ranges(entries: Sequence[Entry], rank_by: RankBy) -> list[Entry]:
    """Every pair compared: who is better than how many, and worse than how many."""
    better = [0] * len(entries)
    worse = [0] * len(entries)
    seen = [[_value(entry, rank_by)] for entry in entries] if rank_by in _FIGURES else _by_task(entries, rank_by)
    for one, other in itertools.combinations(range(len(entries)), 2):
        level = 1.0 if rank_by in _FIGURES else limit(len(entries))
        sign = _told_apart(seen[one], seen[other], level)
        if sign:
            ahead, behind = (one, other) if sign > 0 else (other, one)
            worse[behind] += 1
            better[ahead] += 1
    return [
        replace(entry, rank_low=worse[at] + 1, rank_high=len(entries) - better[at]) for at, entry in enumerate(entries)
    ]


_FIGURES = ("speed", "efficiency")
"""Ranked by as measured: two that differ at all are told apart."""
_Results = list[float | None]


def _by_task(entries: Sequence[Entry], rank_by: RankBy) -> list[_Results]:
    """Weighted results in the same order of tasks for all; None where a task was not graded."""
    order = {task.task_id: None for entry in entries for task in entry.row.tasks}
    found = []
    for entry in entries:
        graded = {
            task.task_id: task.pass_rate if rank_by == "pass_rate" else task.score * task.weight
            for task in entry.row.tasks
            if task.graded
        }
        found.append([graded.get(task) for task in order])
    return found


def _told_apart(one: _Results, other: _Results, level: float) -> int:
    """1: the first is better; -1: the second; 0: not told apart on the tasks both have."""
    differences = [x - y for x, y in zip(one, other, strict=True) if x is not None and y is not None and x != y]
    total = math.fsum(differences)
    # Within one standard deviation of the flipped signs p is far above any level: most pairs end here.
    within = level < 1 and total * total <= math.fsum(map(operator.mul, differences, differences))
    if within or (level < 1 and sign_flip_p(differences) >= level):
        return 0
    return (total > 0) - (total < 0)


def _value(entry: Entry, rank_by: RankBy) -> float | None:
    if rank_by == "efficiency":
        return 1 / entry.row.joules_per_token if entry.row.joules_per_token else None
    return {"score": entry.score, "pass_rate": entry.pass_rate, "speed": entry.decode_tps}[rank_by]
