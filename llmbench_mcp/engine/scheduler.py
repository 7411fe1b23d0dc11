"""Which job each idle device does next: a pure function of what is open, busy and loaded.

One step costs time in proportion to the jobs that wait; attempts within a job cost it nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from llmbench_mcp.domain.run import OpenJob
from llmbench_mcp.domain.time_left import lane_of

AGE_S = 3600.0
"""Seconds of waiting that are worth one step of priority, so that nothing waits for ever."""

SWITCH_ADVANTAGE = 0.999
"""How many priority steps another model's job must lead by before a loaded model is given up for it.

Below one: a job of higher priority goes first, whatever is loaded.
"""

Loaded = tuple[str, str]
"""The model a lane ran last: (endpoint id, served name)."""


@dataclass(frozen=True, slots=True)
class Held:
    """Ids of jobs that may not start yet, and of jobs whose server failed before: these go last."""

    waiting: Collection[str] = ()
    shaky: Collection[str] = ()


def lane(job: OpenJob) -> str:
    """What the job uses alone."""
    return lane_of(job.device, job.endpoint_id)


def next_jobs(
    jobs: Iterable[OpenJob], busy: Collection[str], loaded: Mapping[str, Loaded], held: Held, now_s: float
) -> list[OpenJob]:
    """At most one job per idle lane.

    Args:
        jobs: open jobs; of equals the first goes first.
        busy: lanes at work.
        loaded: by lane, the model it ran last; its jobs go first so that each model is loaded once.
        held: what outages hold back.
        now_s: UTC time, seconds of the epoch.
    """
    best: dict[str, tuple[tuple[bool, float, float], OpenJob]] = {}
    for job in jobs:
        where = lane(job)
        if where in busy or job.id in held.waiting:
            continue
        stays = loaded.get(where) == (job.endpoint_id, job.served_name)
        rank = -effective_priority(job, now_s) - (SWITCH_ADVANTAGE if stays else 0.0)
        # A dead server must not block its device: its jobs go last, yet they go.
        key = (job.id in held.shaky, rank, job.created_s)
        if where not in best or key < best[where][0]:
            best[where] = (key, job)
    return [job for _, job in best.values()]


def effective_priority(job: OpenJob, now_s: float) -> float:
    """Priority plus what waiting has earned."""
    return job.priority + max(0.0, now_s - job.created_s) / AGE_S
