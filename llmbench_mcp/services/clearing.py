"""Removing results for good: what would go, and doing it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError, StorageError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.services.executors import Executors
from llmbench_mcp.services.runs import Runs
from llmbench_mcp.store.clearing import ClearableJob, ClearingStore, Group

_BREATH_S = 0.02
_ROW_BYTES = 700
"""What an attempt takes beside its answer, with its indexes; about."""
_OVER = ("completed", "cancelled", "failed")

OnCleared = Callable[[int, int], Awaitable[None]]
"""Told of (attempts removed, attempts to remove)."""


@dataclass(frozen=True, slots=True)
class ClearPlan:
    """What would be removed. Counts are of attempts; ``size_bytes`` is about what they take.

    ``sums``: rows of scores and days that go with them, where a model or suite is cleared. ``confirm`` stands for
    exactly this: it is another one as soon as anything of it changes.
    """

    wanted: Selected
    runs: Mapping[str, int]
    models: Mapping[str, int]
    suites: Mapping[str, int]
    attempts: int
    jobs: int
    sums: int
    size_bytes: int
    confirm: str


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed; ``freed_bytes`` went back to the system, None where the file keeps its size for new results."""

    plan: ClearPlan
    attempts: int
    freed_bytes: int | None
    remarks: tuple[str, ...] = ()


class Clearing:
    """Use cases about removing results."""

    def __init__(self, store: ClearingStore, runs: Runs, executors: Executors, clock: Clock) -> None:
        self._store = store
        self._runs = runs
        self._executors = executors
        self._clock = clock

    async def plan(self, wanted: Selected) -> ClearPlan:
        """What ``clear`` would remove; nothing is changed.

        Runs are removed with all that counts them; narrowed by model or suite, only that part of them. Without runs,
        everything a model has, or everything on a suite, goes: also what only rankings and days still tell.

        Raises:
            InputError: nothing is named. NotFoundError: no such run, model or suite among the results.
            ConflictError: a run of these goes on.
        """
        return await self._planned(wanted, *await self._found(wanted))

    async def _planned(self, wanted: Selected, groups: Sequence[Group], jobs: Sequence[ClearableJob]) -> ClearPlan:
        going_on = dict.fromkeys(job.run_id for job in jobs if job.run_state not in _OVER)
        if going_on:
            named = ", ".join(list(going_on)[:5])
            raise ConflictError(
                f"Work goes on in {named}; results of a run that is not over are never removed.",
                "Wait for its end, see run_status (run status), or stop it with run_cancel (run cancel).",
            )
        sums = sum([await self._store.kept(group) for group in groups])
        attempts = sum(job.attempts for job in jobs)
        size = await self._store.answer_bytes(jobs) + attempts * _ROW_BYTES
        return ClearPlan(
            wanted,
            _counts(jobs, "run_id"),
            _counts(jobs, "model"),
            _counts(jobs, "suite"),
            attempts,
            len(jobs),
            sums,
            size,
            _confirmation(wanted, jobs, (attempts, sums)),
        )

    async def clear(self, wanted: Selected, confirm: str, on_progress: OnCleared | None = None) -> Cleared:
        """Remove it, a little at a time: interrupted, what is left is whole and counted right, and can be cleared.

        Raises:
            ConflictError: ``confirm`` is not the plan's of this moment, or a run goes on again; and as ``plan``.
        """
        groups, jobs = await self._found(wanted)  # once: what comes later was not confirmed
        plan = await self._planned(wanted, groups, jobs)
        if confirm != plan.confirm:
            raise ConflictError(
                "confirm does not stand for what would be removed now.",
                "Call results_clear with dry_run=true (results clear without --yes) and look again.",
            )
        done = await self._empty(jobs, plan.attempts, on_progress)
        for group in groups:
            await self._store.remove_group(group, [job for job in jobs if job.group == group])
        if not groups:
            for job in jobs:
                await self._store.remove_job(job)
            for run_id in {*wanted.runs} - {job.run_id for job in jobs}:
                while await self._store.remove_events(run_id):
                    await self._clock.sleep(_BREATH_S)
                await self._store.remove_empty_run(run_id)
        freed, remarks = await self._compacted()
        return Cleared(plan, done, freed, remarks)

    async def _empty(self, jobs: Sequence[ClearableJob], total: int, on_progress: OnCleared | None) -> int:
        done = 0
        for job in jobs:
            while count := await self._store.remove_some(job):
                done += count
                if on_progress is not None:
                    await on_progress(done, max(done, total))
                await self._clock.sleep(_BREATH_S)  # who stores results goes first
            while await self._store.remove_events(job.run_id):
                await self._clock.sleep(_BREATH_S)
        return done

    async def _found(self, wanted: Selected) -> tuple[list[Group], list[ClearableJob]]:
        if wanted.is_everything:
            raise InputError("Nothing is named to clear.", "Name runs, a model or a suite.")
        if wanted.runs:
            for run_id in wanted.runs:
                await self._runs.get(run_id)
            jobs = await self._store.jobs(wanted)
            if not jobs and (wanted.model or wanted.suite):
                raise self._nothing(wanted, ())
            return [], jobs
        groups = await self._store.groups(wanted.model, wanted.suite)
        if not groups:
            raise self._nothing(wanted, await self._names(wanted))
        return groups, [job for group in groups for job in await self._store.jobs_of(group)]

    async def _names(self, wanted: Selected) -> list[str]:
        """What there are results of, to be named instead."""
        groups = await self._store.groups(None, None)
        if wanted.model is None:
            return [group[0] for group in groups]
        return [job.model for group in groups for job in await self._store.jobs_of(group)]

    def _nothing(self, wanted: Selected, names: Sequence[str]) -> NotFoundError:
        close = nearest(wanted.model or wanted.suite or "", names)
        told = f"Nearest with results: {', '.join(one_line(name, 60) for name in close)}." if close else ""
        hint = f"{told} run_list (run list) shows the runs.".strip()
        return NotFoundError(f"There are no results of {one_line(wanted.told(), 120)}.", hint, close)

    async def _compacted(self) -> tuple[int | None, tuple[str, ...]]:
        if not await self._store.is_at_rest(watched=await self._executors.alive()):
            return None, ("the file keeps its size while work goes on; new results use the space",)
        try:
            return await self._store.compact(), ()
        except StorageError as error:
            return None, (f"the file keeps its size: {error.what}",)


def _counts(jobs: Sequence[ClearableJob], name: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for job in jobs:
        counts[getattr(job, name)] += job.attempts
    return dict(counts)


def _confirmation(wanted: Selected, jobs: Sequence[ClearableJob], counts: tuple[int, int]) -> str:
    told = repr((wanted, sorted((job.id, job.attempts) for job in jobs), counts))
    return f"clear-{counts[0]}-{hashlib.sha256(told.encode('utf-8', 'replace')).hexdigest()[:8]}"
