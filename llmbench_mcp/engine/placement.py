"""Whether a model fits a device: forecasts and refusals with their numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.errors import DoesNotFit
from llmbench_mcp.domain.hardware import Device

GIB = 1 << 30
WEIGHTS_FACTOR = 1.1
"""What a loaded model takes at least, against its file: buffers and a short context. Seen 1.05-1.3."""


@dataclass(frozen=True, slots=True)
class Need:
    """Forecast bytes; None where nothing is known. ``source`` says what the forecast rests on."""

    bytes: int | None
    source: str = "unknown"


@dataclass(frozen=True, slots=True)
class Room:
    """A device's memory now, bytes; None where it cannot be read, with the reason."""

    total: int | None = None
    used: int | None = None
    unknown: str = ""

    @property
    def free(self) -> int | None:
        """Bytes nobody holds."""
        return None if self.total is None or self.used is None else max(0, self.total - self.used)


def forecast(footprint: int | None, size_bytes: int | None) -> Need:
    """What a model will take: what it took before, else its weights and a tenth."""
    if footprint:
        return Need(footprint, "what it took last time")
    if size_bytes:
        return Need(round(size_bytes * WEIGHTS_FACTOR), "its weights and a tenth for context and buffers")
    return Need(None)


def room_on(devices: Sequence[Device], device_id: str, budgets: Mapping[str, int]) -> Room:
    """The memory of one device, never more of it than its budget."""
    found = next((device for device in devices if device.id == device_id), None)
    if found is None:
        return Room(budgets.get(device_id), None, f"no reader here sees {device_id}")
    reason = "; ".join(found.unknown) or "the reader gives no memory figures"
    total = _least(found.memory_total_bytes, budgets.get(device_id))
    used = found.memory_used_bytes
    return Room(total, used, "" if total is not None and used is not None else reason)


def _least(one: int | None, other: int | None) -> int | None:
    given = [value for value in (one, other) if value is not None]
    return min(given, default=None)


def check_fits(name: str, device_id: str, need: Need, room: Room, held_by: Sequence[str] = ()) -> None:
    """Raise DoesNotFit, with the numbers, when the forecast exceeds what is free; unknown passes.

    Args:
        held_by: what holds the device's memory and may not be unloaded, for the message.
    """
    if need.bytes is None or room.total is None:
        return
    wants = f"{name!r} needs about {gib(need.bytes)} ({need.source})"
    if need.bytes > room.total:
        raise DoesNotFit(
            f"{wants}; {device_id} has {gib(room.total)} in all.",
            "Use a smaller model or quantisation, or set LLMBENCH_PARTIAL_OFFLOAD=1 to let the server run it "
            "partly on the CPU.",
        )
    if room.free is not None and need.bytes > room.free:
        held = f", held by {', '.join(held_by)}" if held_by else ""
        raise DoesNotFit(
            f"{wants}; {device_id} has {gib(room.free)} free of {gib(room.total)}{held}.",
            "Unload what holds it: model_residency (residency unload), or at its server; or let this program do so: "
            "llmbench-mcp endpoint add URL --evict any.",
        )


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.1f} GiB"
