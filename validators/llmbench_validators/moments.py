"""Dates and times of day in the spellings people use."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import TypeVar

from llmbench_validators.answers import Candidate
from llmbench_validators.outcome import Outcome, Wanted

Date = tuple[int | None, int, int]
Time = tuple[int, int, int]
_T = TypeVar("_T")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?!\w)\.?"
)
_YEAR = r"(?P<year>[0-9]{4})(?![0-9])"
_DAY = r"(?P<day>[0-9]{1,2})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![0-9]){_YEAR}[-/.](?P<month>[0-9]{{1,2}})[-/.]{_DAY}(?![0-9])",
        rf"(?<!\w){_MONTH}\s+{_DAY}(?:st|nd|rd|th)?(?![0-9:])(?:,?\s+{_YEAR})?",
        rf"(?<!\w){_DAY}(?:st|nd|rd|th|\.)?(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?",
        rf"(?<![0-9])(?P<month>[0-9]{{1,2}})/{_DAY}/{_YEAR}",
        rf"(?<![0-9]){_DAY}[.-](?P<month>[0-9]{{1,2}})[.-]{_YEAR}",
    )
)
_TIMES = re.compile(
    r"(?<![0-9:.])(?P<hour>[0-9]{1,2})[:.h](?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?(?![0-9:])"
    r"\s{0,2}(?P<half>[ap]\.?m\b)?"
    r"|(?<![0-9:.])(?P<hour_alone>[0-9]{1,2})\s{0,2}(?P<half_alone>[ap]\.?m\b|o'clock)"
    r"|(?<!\w)(?P<word>noon|midday|midnight)(?!\w)",
    re.IGNORECASE,
)


def judge_date(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare the date a text gives; its year counts when the expected date has one.

    ``03/05/2024`` is read month first unless that is impossible, ``3.5.2024`` day first.
    """
    found = list(dates(candidate.text))
    if not found:
        return None
    chosen = _chosen(candidate, found)
    expected = [day for option in wanted.answers for day in dates(option)]
    return _outcome(chosen is not None and any(_same_date(chosen, day) for day in expected), chosen, "date")


def judge_time(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare the time of day a text gives; without am or pm it is read on the 24-hour clock."""
    found = list(times(candidate.text))
    if not found:
        return None
    chosen = _chosen(candidate, found)
    expected = [time for option in wanted.answers for time in times(option)]
    return _outcome(chosen in expected, chosen, "time")


def _outcome(right: bool, chosen: object, called: str) -> Outcome:
    return Outcome(right=right, note="" if chosen is not None else f"gives more than one {called}")


def _chosen(candidate: Candidate, found: list[_T]) -> _T | None:
    """The first one stated after a cue, the last one of a text; None when alternatives are given."""
    if len(set(found)) > 1 and re.search(r"(?<!\w)or(?!\w)|(?<!\w)between(?!\w)", candidate.text):
        return None
    return found[-1] if candidate.rule in ("whole", "conclusion", "bare") else found[0]


def dates(text: str) -> Iterator[Date]:
    """All real dates of the text in order, as (year or None, month, day)."""
    found: list[tuple[int, int, Date]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            day = _date(match)
            if day is not None and not any(
                start < match.end() and match.start() < end for start, end, _ in found[-50:]
            ):
                found.append((match.start(), match.end(), day))
    yield from (day for _, _, day in sorted(found, key=lambda item: item[0]))


def _date(match: re.Match[str]) -> Date | None:
    name = match["month"][:3].casefold()
    month = _MONTHS.index(name) + 1 if name in _MONTHS else int(match["month"])
    day, year = int(match["day"]), int(match["year"]) if match["year"] else None
    if month > 12 and "/" in match[0]:
        month, day = day, month
    try:
        datetime.date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day


def _same_date(given: Date, expected: Date) -> bool:
    return given[1:] == expected[1:] and (expected[0] is None or given[0] == expected[0])


def times(text: str) -> Iterator[Time]:
    """All times of day in the text as (hour, minute, second) on the 24-hour clock."""
    for match in _TIMES.finditer(text):
        time = _time(match)
        if time is not None:
            yield time


def _time(match: re.Match[str]) -> Time | None:
    if match["word"]:
        return (0 if match["word"].casefold() == "midnight" else 12), 0, 0
    hour = int(match["hour"] or match["hour_alone"])
    minute, second = int(match["minute"] or 0), int(match["second"] or 0)
    half = (match["half"] or match["half_alone"] or "").casefold()
    if half[:1] in ("a", "p"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return hour, minute, second
