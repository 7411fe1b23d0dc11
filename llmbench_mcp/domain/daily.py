"""What a day came to: one row per model, endpoint, suite and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class DailySummary:
    """Counted attempts that ended on one day of UTC. ``score``, ``decode_tps`` (tokens/s) and ``ttft_s`` are means."""

    day: str
    model: str
    endpoint: str
    suite: str
    sampling: Mapping[str, Any]
    digest: str | None
    server_version: str | None
    suite_version: int | None
    graded: int
    errors: int
    passed: int
    score: float | None
    decode_tps: float | None
    ttft_s: float | None


def day_of(utc: str) -> str:
    """The day of a UTC time."""
    return utc[:10]


def day_after(day: str) -> str:
    """The next day."""
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def days_before(utc: str, days: float) -> str:
    """A UTC time so many days earlier."""
    earlier = datetime.fromisoformat(utc) - timedelta(days=days)
    return earlier.isoformat(timespec="milliseconds").replace("+00:00", "Z")
