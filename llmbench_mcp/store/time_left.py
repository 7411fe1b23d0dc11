"""How long an open run has left: each of its jobs at its own pace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from llmbench_mcp.domain.run import RunLimits
from llmbench_mcp.domain.time_left import Needed, Stretch, lane_of, time_needed
from llmbench_mcp.store.database import Row

ENOUGH = 3
"""Answers that tell a job's pace, or all of them where there are fewer."""

_Key = tuple[str, str, str]


def time_left(run: Row, totals: Row, jobs: Sequence[Row], past: Sequence[Row], now: str) -> Needed | None:
    """What the run's open jobs still take, within its limits; None where nothing is to be asked.

    Args:
        jobs: ``run_open_work``; the pace of this run counts where it has answers enough.
        past: ``run_past_paces``, for the others.
    """
    if not jobs:
        return None
    before = {_key(row): row for row in past}
    lanes: dict[str, list[Stretch]] = {}
    for job in jobs:
        stretch = _stretch(job, before.get(_key(job)))
        lanes.setdefault(lane_of(job["device"], job["endpoint_id"]), []).append(stretch)
    return time_needed(lanes.values(), _limits_left(run, totals, now))


def _stretch(job: Row, past: Row | None) -> Stretch:
    asks = job["planned"] - job["ended"]
    if asks <= 0:  # asked again only to look, which no total counts, or about to end
        return Stretch(job["waits"], None)
    told = next((row for row in (job, past) if row and row["timed"] >= min(ENOUGH, job["planned"])), None)
    if told is None:
        return Stretch(asks, None)
    return Stretch(asks, told["seconds"] / told["timed"] / job["at_once"], told["tokens"] / max(1, told["ended"]))


def _key(row: Row) -> _Key:
    return (row["suite"], row["identity_key"], row["endpoint_id"])


def _limits_left(run: Row, totals: Row, now: str) -> RunLimits:
    limits: Mapping[str, float] = json.loads(run["limits"]) if run["limits"] else {}
    lasted = datetime.fromisoformat(now) - datetime.fromisoformat(run["started_at"] or now)
    used = {
        "attempts": totals["done"] + totals["errors"],
        "tokens": totals["tokens"],
        "seconds": max(0.0, lasted.total_seconds()),
    }
    return RunLimits(**{name: limit - used[name] for name, limit in limits.items()})
