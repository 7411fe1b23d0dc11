"""When a schedule is due: the words people use, cron fields, time zones and their changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.schedule import cron_of, next_due, zone_of


def due(when: str, zone: str, after: str) -> str:
    return next_due(cron_of(when), zone, datetime.fromisoformat(after + ":00+00:00")).isoformat()[:16]


@pytest.mark.parametrize(
    ("when", "fields"),
    [
        ("nightly", "0 2 * * *"),
        ("Nightly 23:15", "15 23 * * *"),
        ("hourly", "0 * * * *"),
        ("daily", "0 0 * * *"),
        ("daily  03:30", "30 3 * * *"),
        ("weekly mon 02:00", "0 2 * * 1"),
        ("weekly Sunday", "0 0 * * 0"),
        ("*/15 8-18 * * 1-5", "*/15 8-18 * * 1-5"),
        ("*/60 */24 1-5/5 * *", "*/60 */24 1-5/5 * *"),
        ("0 3 1 jan,jul *", "0 3 1 jan,jul *"),
    ],
)
def test_words_mean_cron_fields(when: str, fields: str) -> None:
    assert cron_of(when) == fields


@pytest.mark.parametrize(
    "when",
    [
        *("", "sometimes", "daily 25:00", "daily 3:75", "daily mon", "weekly", "weekly someday 02:00", "hourly 02:00"),
        *("*/1000000000000 * * * *", "1-5/99 * * * *", "1-5/6 * * * *", "0 */25 * * *", "0 0 * * mon-fri/8"),
        *("0 0 1," + "9" * 5000 + " * *", "*/" + "9" * 5000 + " * * * *"),
        *("0 3 * *", "0 0 3 * * *", "61 * * * *", "0 0 30 2 *", "* * * * mon-", "\x1b[31m 1 2 3 4"),
    ],
)
def test_what_names_no_time_is_refused_with_what_would(when: str) -> None:
    with pytest.raises(InputError, match="names no time") as refused:
        cron_of(when)
    assert "daily 03:30" in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_the_next_time_is_after_now_and_never_now() -> None:
    assert due("daily 03:30", "UTC", "2026-03-01T03:29") == "2026-03-01T03:30"
    assert due("daily 03:30", "UTC", "2026-03-01T03:30") == "2026-03-02T03:30"
    assert due("weekly mon 02:00", "UTC", "2026-03-01T12:00") == "2026-03-02T02:00"
    assert due("0 3 29 2 *", "UTC", "2026-03-01T00:00") == "2028-02-29T03:00"


def test_a_zone_moves_the_hour_with_summer_time() -> None:
    assert due("daily 03:30", "Europe/Vienna", "2026-01-10T12:00") == "2026-01-11T02:30"
    assert due("daily 03:30", "Europe/Vienna", "2026-07-10T12:00") == "2026-07-11T01:30"


def test_a_time_that_summer_time_leaves_out_is_due_right_after_it() -> None:
    # Vienna's clocks go from 02:00 to 03:00 at 01:00 UTC.
    assert due("daily 02:30", "Europe/Vienna", "2026-03-28T12:00") == "2026-03-29T01:00"
    assert due("daily 02:30", "Europe/Vienna", "2026-03-29T01:00") == "2026-03-30T00:30"


def test_a_time_that_comes_twice_is_due_once_and_every_hour_stays_every_hour() -> None:
    # Vienna's clocks go from 03:00 back to 02:00 at 01:00 UTC.
    first = due("daily 02:30", "Europe/Vienna", "2026-10-24T12:00")
    assert due("daily 02:30", "Europe/Vienna", first) == "2026-10-26T01:30"
    hours = ["2026-10-24T23:00"]
    for _ in range(4):
        hours.append(due("hourly", "Europe/Vienna", hours[-1]))
    assert hours[1:] == ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T03:00"]


def test_local_is_the_zone_this_machine_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":America/New_York")
    assert due("daily 03:30", "local", "2026-01-10T12:00") == "2026-01-11T08:30"
    assert due("daily 03:30", "utc", "2026-01-10T12:00") == "2026-01-11T03:30"


def test_local_without_a_zone_set_is_utc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr("llmbench_mcp.domain.schedule._LOCALTIME", str(tmp_path / "none"))
    assert zone_of("local") is UTC
    monkeypatch.setenv("TZ", "<+03>-3")  # a rule and no name
    assert zone_of("local") is UTC


@pytest.mark.parametrize("name", ["Mars/Base", "../../etc/passwd", "", "Europe/\x00"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no time zone"):
        zone_of(name)


def test_a_known_zone_is_found() -> None:
    assert zone_of("Europe/Vienna") == ZoneInfo("Europe/Vienna")
