"""Windows of energy on one device: which of them are told apart."""

from __future__ import annotations

import anyio

from llmbench_mcp.domain.hardware import Energy
from llmbench_mcp.engine.energy import SHARED, EnergyMeter, Window


class SlowToClose:
    """A counter whose second reading takes until somebody else has begun."""

    def __init__(self) -> None:
        self.readings = 0
        self.closing, self.begun = anyio.Event(), anyio.Event()

    async def energy(self, device_id: str) -> Energy:
        self.readings += 1
        if self.readings == 2:
            self.closing.set()
            await self.begun.wait()
        return Energy(100.0 * self.readings)


async def test_one_that_begins_while_the_counter_is_read_for_the_end_of_another_shares_the_device() -> None:
    counter = SlowToClose()
    meter = EnergyMeter(counter)
    windows: list[Window] = []

    async def earlier() -> None:
        async with meter.window("nvidia:0") as window:
            windows.append(window)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(earlier)
            await counter.closing.wait()
            async with meter.window("nvidia:0") as window:
                windows.append(window)
                counter.begun.set()
    assert [window.energy for window in windows] == [Energy(reason=SHARED)] * 2
