"""Cards of other machines, through the Prometheus exporters that people run there.

DCGM exporter: ``DCGM_FI_DEV_*`` by the label ``gpu``; memory in MiB, energy in mJ; values its library calls blank are
left out. nvidia_gpu_exporter: ``nvidia_smi_*`` by the label ``uuid``; bytes, a ratio of 0..1, watts; no energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.prometheus import Sample, samples
from llmbench_mcp.gpu.reading import Figures

DCGM = "DCGM_FI_DEV_"
NVIDIA_SMI = "nvidia_smi_"
_MOST_CARDS = 256
_MIB = 2**20
_BLANK_64 = float(2**63 - 16)
_BLANK_32 = (2147483632.0, 2147483635.0)
"""dcgm_fields.h: *_BLANK and the three numbers after it (not found, not supported, not permitted)."""


@dataclass(slots=True)
class _Card:
    """One card's samples by metric, without the prefix."""

    name: str | None = None
    index: str = ""
    host: str = ""
    values: dict[str, float] = field(default_factory=dict)


def devices(host: str, text: str) -> tuple[Device, ...]:
    """The cards in one answer, called ``remote:<host>:<index>``; empty when it holds no such metric."""
    found = list(samples(text, (DCGM, NVIDIA_SMI)))
    cards = [*_by_dcgm(host, found), *_by_nvidia_smi(host, found)]
    return tuple({card.id: card for card in reversed(cards)}.values())[::-1]


def _by_dcgm(host: str, found: Iterable[Sample]) -> Iterator[Device]:
    cards: dict[tuple[str, str, str], _Card] = {}
    for sample in found:
        if not sample.name.startswith(DCGM) or not sample.labels.get("gpu") or _is_blank(sample.value):
            continue
        labels = sample.labels
        key = (labels.get("Hostname", ""), labels["gpu"], labels.get("GPU_I_ID", ""))
        if key not in cards and len(cards) >= _MOST_CARDS:
            continue
        card = cards.setdefault(key, _Card(index=labels["gpu"]))
        card.name = labels.get("modelName") or card.name
        card.values[sample.name.removeprefix(DCGM)] = sample.value
    many = len({where for where, _, _ in cards}) > 1
    for where, gpu, part in sorted(cards, key=lambda key: (key[0], _order(key[1]), _order(key[2]))):
        index = f"{gpu}.{part}" if part else gpu
        yield _dcgm_device(_id(where if many else host, index), cards[where, gpu, part])


def _is_blank(value: float) -> bool:
    return value >= _BLANK_64 or _BLANK_32[0] <= value <= _BLANK_32[1]


def _dcgm_device(device_id: str, card: _Card) -> Device:
    figures, told = Figures(), card.values
    return Device(
        id=device_id,
        name=_name(card),
        kind="remote",
        memory_total_bytes=_dcgm_total(figures, told),
        memory_used_bytes=_mib(figures, "memory used", told.get("FB_USED")),
        utilisation_pct=figures.percent("utilisation", told.get("GPU_UTIL")),
        temperature_c=figures.number("temperature", told.get("GPU_TEMP")),
        power_w=figures.number("power", told.get("POWER_USAGE")),
        energy_j=figures.joules("energy", told.get("TOTAL_ENERGY_CONSUMPTION"), "mJ"),
        unknown=(*figures.unknown, "processes: not told by the exporter"),
    )


def _dcgm_total(figures: Figures, told: Mapping[str, float]) -> int | None:
    if "FB_TOTAL" in told:
        return _mib(figures, "memory total", told["FB_TOTAL"])
    if "FB_USED" in told and "FB_FREE" in told:
        return _mib(figures, "memory total", told["FB_USED"] + told["FB_FREE"] + told.get("FB_RESERVED", 0.0))
    return _mib(figures, "memory total", None)


def _mib(figures: Figures, what: str, value: float | None) -> int | None:
    return figures.size(what, None if value is None else value * _MIB)


def _by_nvidia_smi(host: str, found: Iterable[Sample]) -> Iterator[Device]:
    cards: dict[str, _Card] = {}
    failed = False
    for sample in found:
        name, uuid = sample.name.removeprefix(NVIDIA_SMI), sample.labels.get("uuid")
        failed = failed or (name == "last_collect_success" and sample.value == 0)
        if name == sample.name or uuid is None or (uuid not in cards and len(cards) >= _MOST_CARDS):
            continue
        card = cards.setdefault(uuid, _Card())
        if name == "gpu_info":
            card.name, card.index = sample.labels.get("name"), sample.labels.get("index", card.index)
        card.values[name] = sample.value
    for place, card in enumerate(cards.values()):
        index = card.index or (str(int(card.values["index"])) if "index" in card.values else str(place))
        if failed:
            card.values.clear()
        yield _nvidia_smi_device(_id(host, index), card, failed)


def _nvidia_smi_device(device_id: str, card: _Card, failed: bool) -> Device:
    figures, told = Figures(), card.values
    ratio = told.get("utilization_gpu_ratio")
    power = (told.get(f"power_draw_{kind}watts") for kind in ("", "average_", "instant_"))
    why = ("all: the exporter's last reading of its cards failed",) if failed else ()
    return Device(
        id=device_id,
        name=_name(card),
        kind="remote",
        memory_total_bytes=figures.size("memory total", told.get("memory_total_bytes")),
        memory_used_bytes=figures.size("memory used", told.get("memory_used_bytes")),
        utilisation_pct=figures.percent("utilisation", None if ratio is None else 100 * ratio),
        temperature_c=figures.number("temperature", told.get("temperature_gpu")),
        power_w=figures.number("power", *power),
        unknown=(*why, *figures.unknown, "energy: not told by the exporter", "processes: not told by the exporter"),
    )


def _id(host: str, index: str) -> str:
    return f"remote:{one_line(host, 80)}:{one_line(index, 20)}".replace(" ", "_")


def _name(card: _Card) -> str:
    return one_line(card.name or "NVIDIA card", 120)


def _order(index: str) -> tuple[int, str]:
    return (int(index), "") if index.isascii() and index.isdigit() else (10**9, index)
