"""How long a planned run will take, by what its models took for its tasks before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from llmbench_mcp.domain.run import PlannedJob
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.time_left import Stretch, lane_of, time_needed
from llmbench_mcp.services.planning import Planned, Target
from llmbench_mcp.store.runs import TaskPace

Paces = Mapping[tuple[str, str], Mapping[str, TaskPace]]
"""By (model id, endpoint id), then by task id."""


def estimate(planned: Planned, paces: Paces) -> float | None:
    """Seconds until the run is through or at a limit; None where a task was never timed there."""
    request = planned.plan.request
    lanes: dict[str, list[Stretch]] = {}
    for job in planned.plan.jobs:
        target = planned.targets[job.id]
        lane = lanes.setdefault(lane_of(target.endpoint.device, target.endpoint.id), [])
        lane.extend(_stretches(job, target, request.repeats, paces[job.model_id, job.endpoint_id]))
    needed = time_needed(lanes.values(), request.limits)
    return round(needed.seconds, 1) if needed.is_whole else None


def _stretches(job: PlannedJob, target: Target, repeats: int, pace: Mapping[str, TaskPace]) -> Iterator[Stretch]:
    """The first round task by task, for a limit may end it there; what follows as one."""
    plain = [task for task in job.tasks if task.load is None]
    first = [_stretch(task, 1, target.endpoint.concurrency, pace.get(task.id)) for task in plain]
    yield from first
    if plain:
        yield _all_of(first, repeats - 1)
    for task in job.tasks:
        if task.load is not None:
            yield _stretch(task, repeats * task.load.requests, task.load.concurrency, pace.get(task.id))


def _stretch(task: Task, asks: int, at_once: int, pace: TaskPace | None) -> Stretch:
    if pace is None:
        return Stretch(asks, None)
    answered = pace.answer_tokens
    return Stretch(asks, pace.mean_s / at_once, task.prompt_tokens + answered if answered else 0.0)


def _all_of(round_: list[Stretch], times: int) -> Stretch:
    count = len(round_)
    tokens = sum(one.each_tokens for one in round_) / count
    if any(one.each_s is None for one in round_):
        return Stretch(times * count, None)
    return Stretch(times * count, sum(one.each_s or 0.0 for one in round_) / count, tokens)
