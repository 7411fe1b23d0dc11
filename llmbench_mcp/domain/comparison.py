"""Two rows of results set side by side: whether they may be, and what it tells. Pure; see docs/statistics.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llmbench_mcp.domain.leaderboard import SIGNIFICANCE, Row, TaskResult, limit
from llmbench_mcp.domain.paired import paired_interval, sign_flip_p

Verdict = Literal["tie", "a", "b"]


@dataclass(frozen=True, slots=True)
class Item:
    """A task where the two differ: the pass rate of each, 0 or 1 where asked once."""

    task_id: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows on the tasks both have graded. ``a_only``: tasks where a did better, and so on.

    With repeats a task's result is its pass rate; ``both`` are equal and above 0, ``neither`` both 0. ``difference`` is
    rate a minus rate b, ``interval`` its 95 % interval, ``p`` of the exact paired test (``mcnemar``: McNemar's own).
    """

    a: Row
    b: Row
    tasks_in_suite: int
    shared: int
    a_only: int
    b_only: int
    both: int
    neither: int
    rate_a: float
    rate_b: float
    interval: tuple[float, float]
    p: float
    mcnemar: bool
    items: tuple[Item, ...]
    remarks: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """Rate a minus rate b."""
        return self.rate_a - self.rate_b

    @property
    def test(self) -> str:
        """Which test ``p`` is of."""
        return "exact McNemar" if self.mcnemar else "paired randomisation"

    @property
    def verdict(self) -> Verdict:
        """Who is better, or that nobody can tell."""
        if self.p >= SIGNIFICANCE:
            return "tie"
        return "a" if self.difference > 0 else "b"

    def alone(self, ranked: int) -> str | None:
        """A remark on a verdict that many others could have stood beside: ``ranked`` rows of a ranking; 0: unknown."""
        if self.verdict == "tie" or 0 < ranked <= 2:
            return None
        if not ranked:
            return "this comparison stands alone: of many such, some differ by chance"
        others = ranked - 1
        return (
            f"this comparison stands alone, at p < {SIGNIFICANCE}; in the leaderboard, where each of the {ranked} "
            f"ranked rows is tested against the {others} others, two are told apart only at p < {limit(ranked):.3g}"
        )


@dataclass(frozen=True, slots=True)
class Unlike:
    """The first thing that must be equal and is not."""

    field: str
    a: Any
    b: Any


def unlike(a: Row, b: Row) -> Unlike | None:
    """What forbids the comparison; None: nothing.

    Equal must be how they were asked (sampling, answer budget, and for single runs the repeats) and, of every task both
    have, its content and the version of its validator. Model, quantisation, endpoint, server and device may differ.
    """
    asked_a, asked_b = _asked(a.manifest), _asked(b.manifest)
    for name in sorted(asked_a.keys() | asked_b.keys()):
        if asked_a.get(name) != asked_b.get(name):
            return Unlike(name, asked_a.get(name), asked_b.get(name))
    for one, other in shared_tasks(a, b):
        for name in ("task_hash", "validator_version"):
            if getattr(one, name) != getattr(other, name):
                return Unlike(f"{name} of {one.task_id}", getattr(one, name), getattr(other, name))
    return None


def may_be_set_side_by_side(a: Row, b: Row) -> bool:
    """Whether two rows have names of their own and may be compared."""
    return (a.model, a.endpoint) != (b.model, b.endpoint) and unlike(a, b) is None


def _asked(manifest: Mapping[str, Any]) -> dict[str, Any]:
    asked = dict(manifest.get("sampling", {}))
    # What reasoning models get on top ("least") belongs to the model, not to the question.
    answer_budget = manifest.get("budget", {}).get("default")
    return asked | {"answer_budget": answer_budget, "repeats": manifest.get("repeats")}


def shared_tasks(a: Row, b: Row) -> list[tuple[TaskResult, TaskResult]]:
    """The tasks that both have graded, in a's order."""
    others = {task.task_id: task for task in b.tasks if task.graded}
    return [(task, others[task.task_id]) for task in a.tasks if task.graded and task.task_id in others]


def compare(a: Row, b: Row, tasks_in_suite: int) -> Comparison:
    """Set two rows side by side that ``unlike`` lets pass and that share at least one graded task."""
    pairs = shared_tasks(a, b)
    rates_a, rates_b = [one.pass_rate for one, _ in pairs], [other.pass_rate for _, other in pairs]
    outcomes = [(x > y) - (x < y) for x, y in zip(rates_a, rates_b, strict=True)]
    equal = [x for x, sign in zip(rates_a, outcomes, strict=True) if not sign]
    return Comparison(
        a=a,
        b=b,
        tasks_in_suite=tasks_in_suite,
        shared=len(pairs),
        a_only=outcomes.count(1),
        b_only=outcomes.count(-1),
        both=sum(rate > 0 for rate in equal),
        neither=sum(rate == 0 for rate in equal),
        rate_a=sum(rates_a) / len(pairs),
        rate_b=sum(rates_b) / len(pairs),
        interval=paired_interval(
            rates_a, rates_b, [[task.graded for task in side] for side in zip(*pairs, strict=True)]
        ),
        p=sign_flip_p([x - y for x, y in zip(rates_a, rates_b, strict=True)]),
        mcnemar=all(rate in (0.0, 1.0) for rate in rates_a + rates_b),
        items=tuple(
            Item(one.task_id, one.pass_rate, other.pass_rate)
            for one, other in pairs
            if one.pass_rate != other.pass_rate
        ),
        remarks=_remarks(a, b, pairs, tasks_in_suite),
    )


def _remarks(a: Row, b: Row, pairs: list[tuple[TaskResult, TaskResult]], tasks_in_suite: int) -> tuple[str, ...]:
    remarks = []
    if len(pairs) < tasks_in_suite:
        remarks.append(f"only {len(pairs)} of {tasks_in_suite} tasks are graded for both")
    if any(one.graded != other.graded for one, other in pairs):
        remarks.append("the numbers of attempts per task differ: pass rates per task are compared")
    budgets = [row.manifest.get("budget", {}).get("least") for row in (a, b)]
    if budgets[0] != budgets[1]:
        remarks.append(f"room to think differs: {budgets[0]} and {budgets[1]} tokens")
    return tuple(remarks)
