"""The real clock, and what identifies this boot of this machine."""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import anyio


class SystemClock:
    """Clock on the operating system's monotonic and UTC clocks."""

    def monotonic(self) -> float:
        """Seconds; comparable between processes of one boot."""
        return time.monotonic()

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
def host_name() -> str:
    """This machine's name, as stored with every attempt."""
    return socket.gethostname()
