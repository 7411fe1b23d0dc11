"""Devices: the memory models are loaded into. Every figure is None, with a reason, where unknown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process holding device memory, in bytes."""

    pid: int
    name: str | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Device:
    """One reading of one device. Memory in bytes, utilisation in percent, power in watts, temperature in deg C."""

    id: str
    name: str
    kind: str
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    utilisation_pct: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    processes: tuple[DeviceProcess, ...] = ()
    unknown: tuple[str, ...] = ()
