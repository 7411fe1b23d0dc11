"""Unloading one model and seeing that it left: by the server's list and by the device's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llmbench_mcp.domain.endpoint import HOSTED, Resident
from llmbench_mcp.domain.errors import DoesNotFit, StillHeld
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Backend, Clock, DeviceReader
from llmbench_mcp.engine.placement import Need, Room, check_fits, gib, room_on

_POLL_S = 0.25
_BACK_S = 5.0
"""Drivers give memory back a moment after its owner is gone, and not every server says how much that will be."""
_SHARE_BACK = 0.8
"""How much of what a model held must be seen free again: readers round, and drivers keep a context."""


class Rooms:
    """Reads one device's memory at a time, within its budget."""

    def __init__(self, devices: DeviceReader, budgets: Mapping[str, int]) -> None:
        self._devices = devices
        self._budgets = budgets

    async def of(self, device_id: str) -> Room:
        """The memory now; unknown for hosted servers."""
        if device_id == HOSTED:
            return Room(unknown="its memory is not ours to read")
        return room_on(await self._devices.read(), device_id, self._budgets)

    async def proof(self, device_id: str) -> Room:
        """As ``of``, for proving that memory came back: what the CPU's figures cannot, for files stay cached."""
        devices: Sequence[Device] = await self._devices.read() if device_id != HOSTED else ()
        if any(device.id == device_id and device.kind == "cpu" for device in devices):
            return Room(unknown="")
        return room_on(devices, device_id, {})


class Evictor:
    """Asks for one instance to leave and waits for outside proof.

    Args:
        wait_s: how long the server and the device may take to show it.
    """

    def __init__(self, clock: Clock, rooms: Rooms, wait_s: float) -> None:
        self._clock = clock
        self._rooms = rooms
        self._wait_s = wait_s

    async def unload(self, backend: Backend, resident: Resident, held: int | None) -> str:
        """Unload it; returns why the device could not prove it, empty where it did.

        Args:
            held: bytes it takes on the device, where known.

        Raises:
            StillHeld: it is still listed, or its memory is not back, after ``wait_s``.
            EndpointError: the server failed.
        """
        device = backend.endpoint.device
        before = await self._rooms.proof(device)
        await backend.unload(resident)
        until = self._clock.monotonic() + self._wait_s
        while True:
            listed = holds(await backend.residents(), resident)
            doubt, missing = await self._memory_back(device, before, held)
            if not listed and not missing:
                return doubt
            if self._clock.monotonic() >= until:
                level = None if listed or before.used is None or not held else _level(before.used, held)
                raise self._refusal(backend, resident, listed, missing, level)
            await self._clock.sleep(_POLL_S)

    async def until_it_fits(self, name: str, device_id: str, need: Need, held_by: Sequence[str]) -> None:
        """Return when there is room for a model; memory on its way back is waited for a moment.

        Raises DoesNotFit, at once where not even the empty device would do.
        """
        until = self._clock.monotonic() + _BACK_S
        while True:
            room = await self._rooms.of(device_id)
            try:
                return check_fits(name, device_id, need, room, held_by)
            except DoesNotFit:
                hopeless = need.bytes is None or room.total is None or need.bytes > room.total
                if hopeless or self._clock.monotonic() >= until:
                    raise
            await self._clock.sleep(_POLL_S)

    async def _memory_back(self, device: str, before: Room, held: int | None) -> tuple[str, int]:
        """(why it cannot be told, bytes still held)."""
        if before.used is None:
            return before.unknown, 0
        if not held:
            return "the server does not say how much it took", 0
        now = await self._rooms.proof(device)
        if now.used is None:
            return now.unknown, 0
        back = now.used <= _level(before.used, held)
        return "", 0 if back else max(1, held - max(0, before.used - now.used))

    def _refusal(
        self, backend: Backend, resident: Resident, listed: bool, missing: int, level: int | None
    ) -> StillHeld:
        endpoint, size = backend.endpoint, resident.device_bytes or resident.memory_bytes
        if listed:
            amount = f" ({gib(size)})" if size else ""
            state = f"{resident.served_name!r}{amount} is still loaded on {endpoint.name}"
        else:
            state = (
                f"{endpoint.name} no longer lists {resident.served_name!r}, but {endpoint.device} still holds "
                f"{gib(missing)} of it"
            )
        return StillHeld(
            f"{state} {self._wait_s:.0f} s after it was asked to leave.",
            "Unload it by hand or restart the server, then run_retry (run retry).",
            level,
        )


def _level(before: int, held: int) -> int:
    """Bytes in use at which what was held is back: so much less than before, or too little to hold it at all."""
    return round(max(before - held * _SHARE_BACK, held * _SHARE_BACK))


def holds(residents: Sequence[Resident] | None, wanted: Resident) -> bool:
    """Whether that instance is listed."""
    return any(
        resident.served_name == wanted.served_name and wanted.instance_id in (None, resident.instance_id)
        for resident in residents or ()
    )
