"""Noticing that this process stood still: the machine slept, or the process was stopped."""

from __future__ import annotations

from llmbench_mcp.domain.ports import Clock


class Pulse:
    """Beats while the process runs; a gap longer than ``limit_s`` on the monotonic clock is a standstill.

    What was timed across a standstill says nothing about a server.
    """

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._last = clock.monotonic()
        self._stood_still_at: float | None = None

    def beat(self) -> float:
        """Still alive. Returns how long the process has just stood still, seconds; 0 when it did not."""
        now = self._clock.monotonic()
        gap, self._last = now - self._last, now
        if gap <= self._limit_s:
            return 0.0
        self._stood_still_at = now
        return gap

    def stood_still_since(self, moment: float) -> bool:
        """Whether there was a standstill after ``moment`` (monotonic seconds)."""
        self.beat()
        return self._stood_still_at is not None and self._stood_still_at >= moment
