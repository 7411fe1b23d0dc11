"""How much of its time a candidate process has used, whatever else the machine does meanwhile.

Used time is processor time, or the time we waited for the process without the time it waited for a processor, if
that is more: looping and sleeping both count, a busy machine does not. We look every few ticks of our own; a tick
that took much longer than it should (the machine was stopped, or it was us who waited for a processor) counts as
two. What happens before the process exists counts for nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

STRETCH = 10.0
"""A stage may take this many times its limit in wall time when the machine, not the candidate, is the cause."""
_TICKS = 8
_SHORTEST_TICK_S = 0.02


class Clock:
    """Time of one stage of ``seconds``; ``fresh`` when it is the first of a new process.

    ``pid`` gives the number of the process once it exists. Call :meth:`resume` and :meth:`pause` around each wait.
    """

    def __init__(self, pid: Callable[[], int], seconds: float, *, fresh: bool) -> None:
        self.seconds = seconds
        self._pid = pid
        self._met = not fresh
        self._before = (0.0, 0.0) if fresh else (processor_time(pid()), queue_time(pid()))
        self._tick = max(seconds / _TICKS, _SHORTEST_TICK_S)
        self._waited = self._since_look = self._last = 0.0

    def resume(self) -> None:
        """Begin to wait for the process; the time since the last wait was ours."""
        self._last = time.monotonic()

    def patience(self) -> float:
        """Seconds to wait before the next question whether the time is over."""
        return max(0.0, self._tick - self._since_look)

    def pause(self) -> None:
        """Count the time since :meth:`resume` or the last count."""
        now = time.monotonic()
        passed = min(now - self._last, 2 * self._tick)
        self._last = now
        self._waited += passed
        self._since_look += passed

    def over(self) -> bool:
        """Whether the stage has used its time."""
        self.pause()
        if self._since_look < self._tick:
            return False
        self._since_look = 0.0
        return self._looked()

    def _looked(self) -> bool:
        pid = self._pid()  # may wait for the process to be started
        used = processor_time(pid) - self._before[0]
        if not self._met:
            self._met, self._waited, self._last = True, used, time.monotonic()
        idle = self._waited - (queue_time(pid) - self._before[1])
        return max(used, idle) >= self.seconds or self._waited >= self.seconds * STRETCH


def processor_time(pid: int) -> float:
    """Seconds of processor time all threads of a process have used; 0 where that cannot be told."""
    clock = ~pid << 3 | 2  # clock_getcpuclockid(3); include/linux/posix-timers.h: CPUCLOCK_SCHED
    try:
        return time.clock_gettime(clock)
    except (OSError, OverflowError):
        return 0.0


def queue_time(pid: int) -> float:
    """Seconds a process has waited for a processor; 0 where that cannot be told.

    Field 2 of /proc/PID/schedstat (nanoseconds, Documentation/scheduler/sched-stats.rst).
    """
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as table:
            return int(table.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def is_leaving(pid: int) -> bool:
    """Whether the process has begun to end: a zombie, or PF_EXITING (include/linux/sched.h) among its flags."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as table:
            fields = table.read().rpartition(")")[2].split()
        return fields[0] in "ZX" or bool(int(fields[6]) & 0x4)
    except (OSError, ValueError, IndexError):
        return False
