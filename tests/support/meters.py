"""A device that counts energy, whose counter the test moves; and an application on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.domain.hardware import Device, DeviceProcess, Energy
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.scripted import ScriptedBackends, ScriptedServer
from tests.support.rooms import refuse_credentials, settings_in
from tests.support.work import URL

CARD = "nvidia:0"


@dataclass
class MeteredCard:
    """DeviceReader, EnergyCounter and ProcessOwners of a machine with one card."""

    joules: float | None = 1000.0
    unknown: tuple[str, ...] = ("temperature: Not Supported",)
    looks: list[str] = field(default_factory=list)
    readings: int = 0

    async def read(self) -> Sequence[Device]:
        self.readings += 1
        card = Device(CARD, "Card", "nvidia", 24 * 2**30, 2**30, 50.0, None, 100.0, energy_j=self.joules)
        held = (DeviceProcess(42, "server", 2**29), DeviceProcess(43, "other", None))
        facts = {name: getattr(card, name) for name in card.__slots__}
        return [Device(**{**facts, "processes": held, "unknown": self.unknown}), Device("cpu", "CPU", "cpu", 8, 4)]

    async def energy(self, device_id: str) -> Energy:
        self.looks.append(device_id)
        return Energy(self.joules) if self.joules is not None else Energy(reason="energy: Not Supported")

    async def owners(self, pids: Collection[int], ports: Collection[int]) -> Mapping[int, int]:
        return dict.fromkeys({42} & set(pids), min(ports))

    def use(self, joules: float) -> None:
        """Let the counter move, as work on the card does."""
        self.joules = None if self.joules is None else self.joules + joules


@asynccontextmanager
async def metered(
    folder: Path, card: MeteredCard, box: ScriptedServer, concurrency: int = 1, **changes: object
) -> AsyncIterator[App]:
    """The application with ``box`` on the card, its models assigned; tests run the executor themselves."""
    doors = Doors(
        FastClock(),
        ScriptedBackends({URL: box}),
        card,
        refuse_credentials,
        spawns_executors=False,
        energy=card,
        owners=card,
    )
    async with open_app(settings_in(folder, **changes), doors) as app:
        await app.endpoints.add(NewEndpoint(URL, "box", device=CARD, concurrency=concurrency))
        await app.models.discover()
        for model in (await app.models.page(ModelFilter(endpoint="box")))[0]:
            await app.models.assign(model.id, "box")
        yield app
