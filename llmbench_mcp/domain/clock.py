"""The real clock, and what identifies this boot of this machine."""

from __future__ import annotations

import os
import socket
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import anyio

_FIRST_SPACE = "pid:[4026531836]"
"""The machine's own process ids on Linux: the number is fixed in the kernel's ``proc_ns.h``."""


class SystemClock:
    """Clock on the operating system's monotonic and UTC clocks."""

    def monotonic(self) -> float:
        """Seconds; comparable between processes of one boot."""
        return time.monotonic()

    def since_boot(self) -> float:
        """As ``monotonic``, and on Linux it goes on while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

    def utc_now(self) -> str:
        """ISO 8601 UTC with milliseconds."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def sleep(self, seconds: float) -> None:
        """Wait, cancellably."""
        await anyio.sleep(seconds)


@cache
def boot_id() -> str:
    """A text that changes with every boot: monotonic times of different boots never compare."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        import psutil

        return f"boot-{int(psutil.boot_time()) // 10}"


@cache
def process_space() -> str:
    """Where a process id means something: this machine, and the container where that numbers its own processes."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = _FIRST_SPACE
    return host_name() if space == _FIRST_SPACE else f"{host_name()}/{space}"


def is_running(pid: int) -> bool:
    """Whether a process of this process space has that id and has not ended."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True  # it is there and somebody else's


@cache
def host_name() -> str:
    """This machine's name, as stored with every attempt."""
    return socket.gethostname()
