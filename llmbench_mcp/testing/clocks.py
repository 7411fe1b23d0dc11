"""Clocks that tests move."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import anyio


class ManualClock:
    """Time stands still until ``sleep`` or ``advance`` moves it; sleeping takes no real time."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        """The time set."""
        return self.now

    def utc_now(self) -> str:
        """Always the same moment."""
        return "2026-01-31T12:00:00.000Z"

    def advance(self, seconds: float) -> None:
        """Move on."""
        self.now += seconds

    async def sleep(self, seconds: float) -> None:
        """Move on by ``seconds`` and let other tasks run."""
        self.sleeps.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


class StampClock(ManualClock):
    """Each ``monotonic`` call gives the next of ``stamps``, then calls ``after`` with how many were given."""

    def __init__(self, stamps: Iterable[float], after: Callable[[int], None] = lambda count: None) -> None:
        super().__init__()
        self._stamps = iter(stamps)
        self._after = after
        self._given = 0

    def monotonic(self) -> float:
        """The next stamp."""
        stamp = next(self._stamps)
        self._given += 1
        self._after(self._given)
        return stamp


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


class JumpingClock(FastClock):
    """A fast clock that leaps when told to: the wall clock when somebody sets it, the others after a sleep.

    Args:
        monotonic_sleeps: whether the monotonic clock stands still while the machine sleeps, as on Linux.
    """

    def __init__(self, speed: float = 50.0, monotonic_sleeps: bool = False) -> None:
        super().__init__(speed)
        self._monotonic_sleeps = monotonic_sleeps
        self.slept_s = 0.0
        self.set_by_s = 0.0

    def monotonic(self) -> float:
        """Fast seconds, and those slept where they count."""
        return super().monotonic() + (0.0 if self._monotonic_sleeps else self.slept_s)

    def since_boot(self) -> float:
        """Fast seconds and those slept."""
        return super().monotonic() + self.slept_s

    def utc_now(self) -> str:
        """The fast scale, as far off as it was set."""
        now = datetime.fromisoformat(super().utc_now()) + timedelta(seconds=self.set_by_s)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
