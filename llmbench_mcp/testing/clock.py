"""A clock that runs faster than the real one, so that policies of seconds are tested in milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import anyio


class FastClock:
    """Runs ``speed`` times as fast as the system's monotonic clock; UTC advances alike."""

    def __init__(self, speed: float = 50.0) -> None:
        self._speed = speed
        self._start = time.monotonic()
        self._utc = datetime.now(UTC)

    def monotonic(self) -> float:
        """Fast seconds since the clock was made, plus its start."""
        return self._start + (time.monotonic() - self._start) * self._speed

    def utc_now(self) -> str:
        """ISO 8601 UTC with milliseconds, on the fast scale."""
        now = self._utc + timedelta(seconds=self.monotonic() - self._start)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def sleep(self, seconds: float) -> None:
        """Wait ``seconds`` on the fast scale, cancellably."""
        await anyio.sleep(seconds / self._speed)
