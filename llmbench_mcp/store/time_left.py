"""How long an open run has left: each of its jobs at its own pace."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from llmbench_mcp.domain.endpoint import HOSTED
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import Run, RunLimits
from llmbench_mcp.domain.time_left import Needed, Stretch, lane_of, time_needed
from llmbench_mcp.store.database import Database, Row

ENOUGH = 3
"""Answers that tell a job's pace, or all of them where there are fewer."""

_Key = tuple[str, str, str]
Outlook = tuple[Needed | None, Row | None]
"""What a run still takes, and what another one has at work before it."""

_PAST_S, _OUTLOOK_S, _KEPT = 60.0, 1.0, 16
_T = TypeVar("_T")


class Outlooks:
    """Worked out at each step of a run and once a second, not for all who ask.

    Its models' earlier paces, which a long history makes dear, are looked up once a minute.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._past: dict[str, tuple[float, list[Row]]] = {}
        self._known: dict[str, tuple[float, object, Outlook]] = {}

    async def of(self, run: Run, row: Row, totals: Row) -> Outlook:
        """Of an open run, from its row and totals."""
        now = self._clock.monotonic()
        progress = (run.state, run.planned, run.done, run.errors)
        if run.id in self._known:
            made_at, then, outlook = self._known[run.id]
            if then == progress and now - made_at < _OUTLOOK_S:
                return outlook
        work, others = await self._database.look(("run_open_work", run.id), ("run_kept_waiting_by", run.id, HOSTED))
        needed = time_left(row, totals, work, await self._past_paces(run.id, now), self._clock.utc_now())
        outlook = needed, others[0] if others else None
        _keep(self._known, run.id, (now, progress, outlook))
        return outlook

    async def _past_paces(self, run_id: str, now: float) -> list[Row]:
        looked_at, rows = self._past.get(run_id, (-math.inf, []))
        if now - looked_at >= _PAST_S:
            rows = await self._database.all("run_past_paces", run_id)
            _keep(self._past, run_id, (now, rows))
        return rows


def _keep(kept: dict[str, _T], key: str, value: _T) -> None:
    """Among the newest few."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > _KEPT:
        kept.pop(next(iter(kept)))


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
