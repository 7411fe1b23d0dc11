"""Which job each idle device does next: a pure function of what is open, busy and loaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from llmbench_mcp.domain.run import Job
from llmbench_mcp.engine.placement import HOSTED

AGE_S = 600.0
"""Seconds of waiting that are worth one step of priority, so that nothing waits for ever."""

SWITCH_ADVANTAGE = 1.0
"""How many priority steps another model's job must lead by before a loaded model is given up for it."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model a device ran last: at which endpoint, under which served name."""

    endpoint_id: str
    served_name: str


@dataclass(frozen=True, slots=True)
class Held:
    """Ids of jobs that may not start yet, and of jobs whose server failed before: these go last."""

    waiting: Collection[str] = ()
    shaky: Collection[str] = ()


def next_jobs(
    jobs: Sequence[Job], busy: Collection[str], loaded: Mapping[str, Loaded], held: Held, now: str
) -> list[Job]:
    """At most one job per idle device.

    Args:
        jobs: open jobs; of equals the first goes first.
        busy: lanes at work.
        loaded: by lane, the model it ran last; its jobs go first so that each model is loaded once.
        held: what outages hold back.
        now: UTC time, ISO 8601.
    """
    by_device: dict[str, list[Job]] = {}
    for job in jobs:
        if lane(job) not in busy and job.id not in held.waiting:
            by_device.setdefault(lane(job), []).append(job)
    return [_best(_sound(candidates, held), loaded.get(device), now) for device, candidates in by_device.items()]


def lane(job: Job) -> str:
    """What one job at a time uses: its device; hosted servers share none, so each is a lane of its own."""
    return job.device if job.device != HOSTED else f"{HOSTED} {job.endpoint_id}"


def _sound(candidates: list[Job], held: Held) -> list[Job]:
    """Those whose server has not failed; all where there are none: one dead server must not block its device."""
    return [job for job in candidates if job.id not in held.shaky] or candidates


def _best(candidates: Sequence[Job], loaded: Loaded | None, now: str) -> Job:
    def rank(job: Job) -> tuple[float, str]:
        stays = loaded is not None and _is(job, loaded)
        return (-effective_priority(job, now) - (SWITCH_ADVANTAGE if stays else 0.0), job.created_at)

    first = min(candidates, key=rank)
    same = [job for job in candidates if _is(job, Loaded(first.endpoint_id, first.served_name))]
    return min(same, key=rank)


def _is(job: Job, loaded: Loaded) -> bool:
    return (job.endpoint_id, job.served_name) == (loaded.endpoint_id, loaded.served_name)


def effective_priority(job: Job, now: str) -> float:
    """Priority plus what waiting has earned."""
    waited = (datetime.fromisoformat(now) - datetime.fromisoformat(job.created_at)).total_seconds()
    return job.priority + max(0.0, waited) / AGE_S
