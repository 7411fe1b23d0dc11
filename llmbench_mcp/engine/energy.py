"""Energy of work, from the device's own counter: read when the window opens and when it closes, never between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.domain.ports import EnergyCounter

_MISSES = 3
"""Openings without a counter in a row after which a device is not asked again: a hung tool takes seconds each."""
SHARED = "energy: several attempts shared the device"
_UNKNOWN = Energy(reason="energy: the window was cut short")
_BACKWARDS = "energy: the counter went backwards, as when a driver is loaded anew"
_STILL = "energy: the counter did not move"


@dataclass(slots=True)
class Window:
    """One stretch of work; ``energy`` is what it took, known once it has closed."""

    energy: Energy = _UNKNOWN
    shared: bool = False


class EnergyMeter:
    """Measures windows on any device. One of them per executor: it has to know who else is at work there.

    The counter belongs to the device, not to a request, so windows that overlap on one device are not told apart:
    each of them is unknown.
    """

    def __init__(self, counter: EnergyCounter) -> None:
        self._counter = counter
        self._open: dict[str, list[Window]] = {}
        self._missed: dict[str, tuple[int, Energy]] = {}

    @asynccontextmanager
    async def window(self, device: str, kind: str = "attempt") -> AsyncIterator[Window]:
        """Work on ``device`` until the block ends; only windows of the same ``kind`` count as sharing.

        What the block raises passes through, and leaves the energy unknown.
        """
        window = self._enter(f"{kind} {device}")
        try:
            before = Energy(reason=SHARED) if window.shared else await self._at_opening(device)
            yield window
            took = before
            if before.joules is not None and not window.shared:
                took = _between(before.joules, await self._counter.energy(device))
            window.energy = Energy(reason=SHARED) if window.shared else took  # perhaps only since that reading
        finally:
            self._open[f"{kind} {device}"].remove(window)

    def _enter(self, place: str) -> Window:
        """Among the open ones; all that are open at the same time are shared from now on."""
        window = Window()
        here = self._open.setdefault(place, [])
        here.append(window)
        if len(here) > 1:
            for one in here:
                one.shared = True
        return window

    async def _at_opening(self, device: str) -> Energy:
        count, last = self._missed.get(device, (0, Energy()))
        if count >= _MISSES:
            return last
        now = await self._counter.energy(device)
        self._missed[device] = (0, now) if now.joules is not None else (count + 1, now)
        return now


def _between(before: float, after: Energy) -> Energy:
    if after.joules is None:
        return after
    if after.joules == before:
        return Energy(reason=_STILL)
    return Energy(after.joules - before) if after.joules > before else Energy(reason=_BACKWARDS)


class NoCounter:
    """Where no device has a counter."""

    async def energy(self, device_id: str) -> Energy:
        """None, and why."""
        return Energy(reason=f"energy: {device_id} has no counter that can be read")
