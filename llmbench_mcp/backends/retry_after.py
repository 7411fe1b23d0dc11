"""How long a server asks us to wait: RFC 9110 ``Retry-After`` and the common ``retry-after-ms``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

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
