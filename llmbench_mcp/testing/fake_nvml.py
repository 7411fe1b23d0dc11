"""A stand-in for the module ``pynvml``: cards as given, errors where wanted."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    """As in pynvml."""


@dataclass
class FakeCard:
    """One card; a figure of None is one the card does not support. Milliwatts and millijoules, as NVML has it.

    ``parts`` are the MIG devices it is divided into; None in their place is a place that is free.
    """

    name: str | bytes = "NVIDIA Test 24GB"
    total: int | None = 24 * 2**30
    used: int | None = 2**30
    use: int | None = 37
    heat: int | None = 55
    milliwatts: int | None = 120_500
    millijoules: int | None = 5_000_000
    compute: Mapping[int, int | None] = field(default_factory=dict)
    graphics: Mapping[int, int | None] = field(default_factory=dict)
    lost: bool = False
    parts: Sequence[FakeCard | None] | None = None


class FakeNvml:
    """Give an instance where the module is expected.

    Args:
        cards: the machine's cards, read anew each time.
        init_error: what ``nvmlInit`` says, e.g. that there is no driver.
        hang: ``nvmlInit`` waits for this event.
    """

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0

    def __init__(
        self, cards: Sequence[FakeCard] = (), *, init_error: str | None = None, hang: threading.Event | None = None
    ) -> None:
        self.cards = cards
        self.init_error = init_error
        self.hang = hang
        self.inits = 0
        self.shutdowns = 0

    def nvmlInit(self) -> None:  # noqa: N802  # NVML's names
        """Start."""
        self.inits += 1
        if self.hang:
            self.hang.wait()
        if self.init_error:
            raise NVMLError(self.init_error)

    def nvmlShutdown(self) -> None:  # noqa: N802
        """End."""
        self.shutdowns += 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        """How many cards."""
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:  # noqa: N802
        """The card itself serves as handle."""
        if self.cards[index].lost:
            raise NVMLError("GPU is lost")
        return self.cards[index]

    def nvmlDeviceGetName(self, card: FakeCard) -> str | bytes:  # noqa: N802
        """Its name."""
        return card.name

    def nvmlDeviceGetMemoryInfo(self, card: FakeCard) -> Any:  # noqa: N802
        """Bytes."""
        return SimpleNamespace(total=_known(card.total), used=_known(card.used))

    def nvmlDeviceGetUtilizationRates(self, card: FakeCard) -> Any:  # noqa: N802
        """Percent."""
        return SimpleNamespace(gpu=_known(card.use), memory=0)

    def nvmlDeviceGetTemperature(self, card: FakeCard, sensor: int) -> int:  # noqa: N802
        """Degrees Celsius."""
        return _known(card.heat)

    def nvmlDeviceGetPowerUsage(self, card: FakeCard) -> int:  # noqa: N802
        """Milliwatts."""
        return _known(card.milliwatts)

    def nvmlDeviceGetTotalEnergyConsumption(self, card: FakeCard) -> int:  # noqa: N802
        """Millijoules since the driver was loaded."""
        return _known(card.millijoules)

    def nvmlDeviceGetMigMode(self, card: FakeCard) -> tuple[int, int]:  # noqa: N802
        """Whether it is divided now, and after the next reset."""
        if card.parts is None:
            raise NVMLError("Not Supported")
        return (1, 1) if card.parts else (0, 0)

    def nvmlDeviceGetMaxMigDeviceCount(self, card: FakeCard) -> int:  # noqa: N802
        """Places for parts."""
        return len(card.parts or ())

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: FakeCard, index: int) -> FakeCard:  # noqa: N802
        """The part at that place."""
        part = (card.parts or ())[index]
        if part is None:
            raise NVMLError("Not Found")
        return part

    def nvmlDeviceGetComputeRunningProcesses(self, card: FakeCard) -> list[Any]:  # noqa: N802
        """Compute processes."""
        return _processes(card.compute)

    def nvmlDeviceGetGraphicsRunningProcesses(self, card: FakeCard) -> list[Any]:  # noqa: N802
        """Graphics processes."""
        return _processes(card.graphics)


def _known(value: int | None) -> int:
    if value is None:
        raise NVMLError("Not Supported")
    return value


def _processes(held: Mapping[int, int | None]) -> list[Any]:
    return [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in held.items()]
