"""Which jobs of a request have something new to tell: what has changed since each one's last counted result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.changes import Standing, changes
from llmbench_mcp.domain.errors import ConflictError, InputError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.run import PlannedJob, RunPlan, RunRequest
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.services.models import Models
from llmbench_mcp.services.planning import Planned, Planner, Target
from llmbench_mcp.services.selection import Chosen
from llmbench_mcp.store.schedules import ScheduleStore

_WITH_SUCCESSORS = ("active", "all")
"""Selections that new weights belong to when the old ones did."""


@dataclass(frozen=True, slots=True)
class Retest:
    """What would be run (None: nothing), why, what is as it was, and who is left out with the reason."""

    planned: Planned | None
    reasons: tuple[str, ...]
    unchanged: tuple[str, ...]
    left_out: tuple[str, ...]


class Retests:
    """Plans a request anew, every model for itself: one that cannot run keeps no other from it."""

    def __init__(
        self, store: ScheduleStore, planner: Planner, models: Models, grader: Grader, settings: Settings
    ) -> None:
        self._store = store
        self._planner = planner
        self._models = models
        self._grader = grader
        self._settings = settings

    def read_suites_anew(self) -> None:
        """Plan by what the files say now."""
        self._planner.read_suites_anew()

    async def plan(self, request: RunRequest, *, only_changed: bool) -> Retest:
        """What doing the request now would ask, or only what has changed of it.

        Raises:
            InputError: no such suite, bad numbers, or a task that cannot be graded.
        """
        keys, left_out = await self._keys(request)
        jobs: dict[tuple[object, ...], tuple[PlannedJob, Target]] = {}
        for key in keys:
            one = replace(request, models=(key,), select=None)
            try:
                planned = await self._planner.plan(one, self._settings, must_answer=False)
            except InputError as error:
                left_out.append(f"{one_line(key, 80)}: {error.what}")
                continue
            left_out += planned.remarks
            for job in planned.plan.jobs:
                place = (job.model_id, job.endpoint_id, job.suite, job.sampling)
                jobs[place] = (job, planned.targets[job.id])
        return await self._of_jobs(request, list(jobs.values()), left_out, only_changed)

    async def _of_jobs(
        self, request: RunRequest, jobs: list[tuple[PlannedJob, Target]], left_out: list[str], only_changed: bool
    ) -> Retest:
        wanted, reasons, unchanged = [], [], []
        for job, target in jobs:
            label = f"{target.model.name} on {target.endpoint.name}, {job.suite}"
            why = await self._changes(job, request.repeats)
            if why or not only_changed:
                wanted.append((job, target))
                reasons.append(f"{label}: {'; '.join(why) or 'nothing has changed, asked again all the same'}")
            else:
                unchanged.append(label)
        left = tuple(dict.fromkeys(left_out))
        if not wanted:
            return Retest(None, (), tuple(unchanged), left)
        plan = RunPlan(new_id("run"), request, tuple(job for job, _ in wanted))
        planned = Planned(plan, {job.id: target for job, target in wanted}, left)
        return Retest(planned, tuple(reasons), tuple(unchanged), left)

    async def _changes(self, job: PlannedJob, repeats: int) -> tuple[str, ...]:
        now = Standing(
            job.manifest["model_digest"],
            job.manifest["server_version"],
            job.manifest["suite_version"],
            {task.id: task.content_hash() for task in job.tasks},
            {task.id: await self._grader.version(task) for task in job.tasks},
            Counter(task.id for task, _ in job.asks(repeats)),
        )
        return changes(await self._store.last_standing(job), now)

    async def _keys(self, request: RunRequest) -> tuple[list[str], list[str]]:
        """The models to plan, as keys that say where; and remarks on those that a selection leaves out."""
        models = await self._models.all()
        try:
            chosen = await self._planner.selected(request)
        except ConflictError as error:
            chosen = Chosen((), (error.what,))
        if request.select is None:
            return [_present(models, key) for key in chosen.ids], list(chosen.remarks)
        gone = models if request.select in _WITH_SUCCESSORS else ()
        after = [key for key in (_successor(models, model) for model in gone) if key]
        return [*chosen.ids, *after], list(chosen.remarks)


def _present(models: Sequence[Model], key: str) -> str:
    """The key, or what took the place of the model that it names: new weights under the old name."""
    found = [model for model in models if key in (model.id, model.name)]
    after = [successor for successor in (_successor(models, model) for model in found) if successor]
    return after[0] if after and all(model.status in ("missing", "new") for model in found) else key


def _successor(models: Sequence[Model], gone: Model) -> str:
    """``name@endpoint`` of what is offered now where ``gone`` was assigned and under its name; empty: nothing is."""
    if gone.status != "missing" or gone.assigned_endpoint_id is None:
        return ""
    for model in models:
        home = model.home_at(gone.assigned_endpoint_id)
        if home and home.present and home.served_name == gone.name and model.assigned_endpoint_id is None:
            return f"{home.served_name}@{home.endpoint_name}"
    return ""
