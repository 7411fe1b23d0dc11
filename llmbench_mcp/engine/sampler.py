"""What the devices show while work runs, kept from time to time; nothing while there is none."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.errors import LeaseLost, StorageError
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.ports import Clock, DeviceReader
from llmbench_mcp.store.samples import SampleStore

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""How soon work that has begun is noticed."""
_TIDY_S = 3600.0


class DeviceSampler:
    """Reads all devices when work begins, then every ``device_sample_s`` while it lasts."""

    def __init__(self, reader: DeviceReader, store: SampleStore, clock: Clock, settings: Settings) -> None:
        self._reader = reader
        self._store = store
        self._clock = clock
        self._every_s = settings.device_sample_s
        self._keep_days = settings.device_sample_days
        self._told: set[tuple[str, str]] = set()
        self._store_fails = False

    async def run(self, is_working: Callable[[], bool], fence: tuple[str, str, int]) -> None:
        """Until cancelled. Raises LeaseLost; everything else is logged, once."""
        if not self._every_s:
            return
        due = tidy = self._clock.monotonic()
        while True:
            if is_working() and self._clock.monotonic() >= due:
                due = self._clock.monotonic() + self._every_s
                await self._sample(fence)
                if self._clock.monotonic() >= tidy:
                    tidy = self._clock.monotonic() + _TIDY_S
                    await self._tidy(fence)
            await self._clock.sleep(min(_LOOK_S, self._every_s))

    async def _sample(self, fence: tuple[str, str, int]) -> None:
        devices = await self._reader.read()
        self._tell_unknown(devices)
        try:
            await self._store.add(self._clock.utc_now(), devices, fence)
            self._store_fails = False
        except LeaseLost:
            raise
        except StorageError as error:
            self._tell_failure(error)

    async def _tidy(self, fence: tuple[str, str, int]) -> None:
        now = datetime.fromisoformat(self._clock.utc_now())
        oldest = (now - timedelta(days=self._keep_days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        try:
            await self._store.drop_before(oldest, fence)
        except LeaseLost:
            raise
        except StorageError as error:
            self._tell_failure(error)

    def _tell_failure(self, error: StorageError) -> None:
        if not self._store_fails:
            log.error("device samples cannot be stored: %s", error)
        self._store_fails = True

    def _tell_unknown(self, devices: Sequence[Device]) -> None:
        """Each figure that is missing is logged once, whatever the reason becomes."""
        for device in devices:
            for reason in device.unknown:
                key = (device.id, reason.partition(":")[0])
                if key not in self._told:
                    self._told.add(key)
                    log.info("device %s, unknown: %s", device.id, reason)
