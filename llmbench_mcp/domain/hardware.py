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
    """One reading of one device. Memory in bytes, utilisation in percent, power in watts, temperature in deg C.

    ``energy_j`` is the device's own counter in joules: it grows from some moment of its choice, so that only
    differences mean anything. ``memory`` says what kind of memory the figures are about: ``vram`` of its own,
    ``unified`` with the processor, or the ``system``'s.
    """

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
    energy_j: float | None = None
    memory: str = "vram"


@dataclass(frozen=True, slots=True)
class Energy:
    """An amount, or a counter's state, in joules; exactly one of it and the reason for its absence is set."""

    joules: float | None = None
    reason: str | None = None

    def plus(self, other: Energy) -> Energy:
        """Both together, which is unknown, with its reason, where one of them is."""
        if self.joules is None or other.joules is None:
            return Energy(reason=self.reason or other.reason)
        return Energy(self.joules + other.joules)


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """What a device showed at one moment of work; ``at`` is ISO 8601 UTC. Units as in ``Device``."""

    at: str
    device: str
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    utilisation_pct: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
