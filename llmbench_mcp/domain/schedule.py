"""Schedules: what is run again and when. Times of day are those of a named time zone, of UTC or of this machine."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Literal

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from cronsim import CronSim

LOCAL = "local"
_LOCALTIME = "/etc/localtime"
_HOW = 'Use nightly, hourly, "daily 03:30", "weekly mon 02:00" or five cron fields, like "0 3 * * 1-5".'
_FIXED = {"hourly": "0 * * * *", "nightly": "0 2 * * *", "daily": "0 0 * * *"}
_AT = re.compile(r"(?P<word>daily|nightly|weekly)(?: (?P<day>[a-z]+))?(?: (?P<hour>\d{1,2}):(?P<minute>\d{2}))?")
_SIZES = (60, 24, 31, 12, 7)
"""How many values a cron field has."""
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

Outcome = Literal["started", "unchanged", "skipped", "failed"]
"""What a due time led to: a run, none because nothing had changed, none because the last one is not over, an error."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A standing order. ``when`` is as it was given; ``due_at`` is the next time, UTC.

    ``only_changed``: of what the request names, only what changed since its last result is run.
    """

    id: str
    name: str
    when: str
    zone: str
    request: RunRequest
    only_changed: bool
    created_at: str
    due_at: str


@dataclass(frozen=True, slots=True)
class Result:
    """What doing as a schedule says led to. ``notes``: why what is run is run, what was left out, or why nothing is."""

    outcome: Outcome
    run_id: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleEvent:
    """What became of one due time, and when; as ``Result``."""

    due_at: str
    at: str
    outcome: Outcome
    run_id: str | None
    notes: tuple[str, ...]


def cron_of(when: str) -> str:
    """The five cron fields that a specification means. Raises InputError for what means nothing."""
    words = " ".join(when.split()).casefold()
    if words in _FIXED:
        return _FIXED[words]
    found = _AT.fullmatch(words)
    fields = _at(found) if found else words
    _refuse_idle_steps(fields)
    _simulated(fields, datetime(2026, 1, 1, tzinfo=UTC))
    return fields


def _refuse_idle_steps(fields: str) -> None:
    """Steps longer than what they step through say something else than what they do: once, not every so often."""
    for field, size in zip(fields.split(), _SIZES, strict=False):
        for term in field.split(","):
            values, _, step = term.partition("/")
            if step.isdecimal() and (len(step) > 2 or int(step) > min(size, _span(values, size))):
                raise _wrong(fields, f"the step of {term} is too long")


def _span(values: str, size: int) -> int:
    """How many values a range like ``1-5`` names; ``size`` for what is none."""
    ends = re.fullmatch(r"(\d{1,2})-(\d{1,2})", values)
    return int(ends[2]) - int(ends[1]) + 1 if ends else size


def _at(found: re.Match[str]) -> str:
    word, day = found["word"], found["day"]
    hour, minute = int(found["hour"] or 0), int(found["minute"] or 0)
    if (word == "weekly") is not (day is not None) or (day is not None and day[:3] not in _DAYS):
        raise _wrong(found.string)
    return f"{minute} {hour} * * {'*' if day is None else _DAYS.index(day[:3])}"


def next_due(cron: str, zone: str, after: datetime) -> datetime:
    """The first time after ``after`` that the fields name in that zone, as UTC.

    A time that the change to summer time leaves out is due right after it, one that the change back repeats is due
    once; what is due every hour is due every hour.
    """
    return next(_simulated(cron, after.astimezone(zone_of(zone)))).astimezone(UTC)


def _simulated(cron: str, start: datetime) -> CronSim:
    from cronsim import CronSim, CronSimError

    try:
        if len(cron.split()) != 5:
            raise _wrong(cron)
        times = CronSim(cron, start)
        next(CronSim(cron, start))
    except (CronSimError, StopIteration, ValueError) as error:
        raise _wrong(cron, str(error)) from error
    return times


def _wrong(when: str, why: str = "") -> InputError:
    told = f": {one_line(why, 60)}" if why else ""
    return InputError(f"'{one_line(when, 60)}' names no time{told}.", _HOW)


def zone_of(name: str) -> tzinfo:
    """A time zone by its name, ``UTC`` or ``local``. Raises InputError for an unknown one."""
    from zoneinfo import ZoneInfo

    if name.casefold() == "utc":
        return UTC
    if name.casefold() == LOCAL:
        return _local()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise InputError(
            f"There is no time zone '{one_line(name, 60)}' on this machine.",
            "Use UTC, local or a name like Europe/Vienna.",
        ) from error


def _local() -> tzinfo:
    """This machine's zone with its rules, not only its present offset; UTC where none is set."""
    from zoneinfo import ZoneInfo

    named = os.environ.get("TZ", "").removeprefix(":")
    try:
        if named:
            return ZoneInfo(named)
        with open(_LOCALTIME, "rb") as rules:
            return ZoneInfo.from_file(rules)
    except (ValueError, OSError, KeyError):
        return UTC
