"""Noticing that this process stood still: the machine slept, or the process was stopped."""

from __future__ import annotations

from llmbench_mcp.domain.ports import Clock, CountsSleep


class Pulse:
    """Beats while the process runs; a gap longer than ``limit_s`` is a standstill.

    What was timed across a standstill says nothing about a server.
    """

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self.now = clock.since_boot if isinstance(clock, CountsSleep) else clock.monotonic
        """Its clock: seconds, sleep included where the system counts it."""
        self._limit_s = limit_s
        self._last = self.now()
        self._stood_still_at: float | None = None

    def beat(self) -> float:
        """Still alive. Returns how long the process has just stood still, seconds; 0 when it did not."""
        now = self.now()
        gap, self._last = now - self._last, now
        if gap <= self._limit_s:
            return 0.0
        self._stood_still_at = now
        return gap

    def stood_still_since(self, moment: float) -> bool:
        """Whether there was a standstill after ``moment``, as ``now`` told it."""
        self.beat()
        return self._stood_still_at is not None and self._stood_still_at >= moment
