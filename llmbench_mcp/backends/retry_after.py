"""How long a server asks us to wait: RFC 9110 ``Retry-After`` and the common ``retry-after-ms``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_YEAR_S = 366 * 86_400
_NUMBER = re.compile(r"\d{1,12}(\.\d{1,9})?")


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait from lower-case ``headers``; None when absent or unusable, 0.0 for a date in the past.

    ``retry-after-ms`` is finer and wins when it can be read.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    return seconds if seconds is not None else _until(value, now or datetime.now(UTC))


def told_wait(seconds: float | None) -> str:
    """When to try again, for people: "later" where the server did not say, or asks for what nobody waits for."""
    if seconds is None:
        return "later"
    if seconds > _YEAR_S:
        return "later: the server asks to wait for more than a year"
    for size_s, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size_s:
            return f"in {seconds / size_s:.0f} {unit}"
    return f"in {seconds:.0f} s"


def _number(value: str) -> float | None:
    text = value.strip()
    if not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _until(value: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(value.strip())
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
