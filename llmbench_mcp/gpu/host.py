"""The machine itself as a device: its processor, and the memory that CPU inference loads models into."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import psutil

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.cgroup import memory_limit

_NOT_READ = (
    "temperature: not read for the processor",
    "power: not read for the processor",
    "energy: not read for the processor",
)


class HostReader:
    """Reads the processor; utilisation is the mean since the reading before (the first: since construction)."""

    def __init__(self) -> None:
        self._before = _cpu_seconds()

    def read(self, notes: tuple[str, ...] = ()) -> Device:
        """The ``cpu`` device; ``notes`` join its unknowns. In a container, the memory is what that may use."""
        total, used, limited = _memory()
        now = _cpu_seconds()
        busy, all_seconds = (new - old for new, old in zip(now, self._before, strict=True))
        use, self._before = (100 * busy / all_seconds if all_seconds > 0 else None), now
        missing = () if use is not None else ("utilisation: too soon after the last reading",)
        return Device(
            id="cpu",
            name=processor_name(),
            kind="cpu",
            memory_total_bytes=total,
            memory_used_bytes=used,
            utilisation_pct=None if use is None else round(min(100.0, max(0.0, use)), 1),
            unknown=(*missing, *limited, *_NOT_READ, *notes),
            memory="system",
        )


def process_name(pid: int) -> str | None:
    """The name of a process; None when it is gone or not ours to see."""
    try:
        return one_line(psutil.Process(pid).name(), 80)
    except (psutil.Error, ValueError):
        return None


@cache
def processor_name() -> str:
    """As the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return one_line(next(named, "") or platform.processor() or platform.machine() or "CPU", 120)


def _memory() -> tuple[int, int | None, tuple[str, ...]]:
    """Total and used bytes, and a reason when they are not the whole machine's."""
    machine = psutil.virtual_memory()
    limit = memory_limit(machine.total)
    if limit is None:
        return machine.total, machine.total - machine.available, ()
    reason = "memory: what this container may use, not all of the machine's"
    untold = () if limit.used is not None else ("memory used: the container's is not told",)
    return limit.total, limit.used, (reason, *untold)


def _cpu_seconds() -> tuple[float, float]:
    """Busy and total seconds of all cores since boot; guest time is in user time already."""
    times = psutil.cpu_times()._asdict()
    idle = times["idle"] + times.get("iowait", 0.0)
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    return total - idle, total
