"""What GPU exporters answer: metric names, labels and units as the real ones have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_DCGM_HELP = {
    "DCGM_FI_DEV_GPU_TEMP": "gauge GPU temperature (in C).",
    "DCGM_FI_DEV_POWER_USAGE": "gauge Power draw (in W).",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "counter Total energy consumption since boot (in mJ).",
    "DCGM_FI_DEV_GPU_UTIL": "gauge GPU utilization (in %).",
    "DCGM_FI_DEV_FB_FREE": "gauge Framebuffer memory free (in MiB).",
    "DCGM_FI_DEV_FB_USED": "gauge Framebuffer memory used (in MiB).",
}


@dataclass
class RemoteCard:
    """One card of another machine; a figure of None is not exported. MiB, percent, watts, millijoules."""

    index: str = "0"
    name: str = "NVIDIA A100-SXM4-40GB"
    used: float | None = 4845
    free: float | None = 35_690
    use: float | None = 37
    heat: float | None = 31
    watts: float | None = 77.5
    millijoules: float | None = 319_159_391
    labels: Mapping[str, str] = field(default_factory=dict)


def dcgm(cards: Sequence[RemoteCard]) -> str:
    """The page of a DCGM exporter."""
    lines = []
    for metric, told in _DCGM_HELP.items():
        kind, _, text = told.partition(" ")
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} {kind}"]
        for card in cards:
            value = _dcgm_value(card, metric)
            if value is not None:
                labels = {
                    "gpu": card.index,
                    "UUID": f"GPU-{card.index}",
                    "pci_bus_id": "00000000:07:00.0",
                    "device": f"nvidia{card.index}",
                    "modelName": card.name,
                    "Hostname": "node-a",
                    **card.labels,
                }
                lines.append(
                    f"{metric}{_labels(labels)} {value:.6g}"
                    if metric.endswith("USAGE")
                    else f"{metric}{_labels(labels)} {value:.0f}"
                )
    return "\n".join(lines) + "\n"


def nvidia_smi(cards: Sequence[RemoteCard], *, succeeded: bool = True) -> str:
    """The page of an nvidia_gpu_exporter: bytes and ratios, the name only on ``gpu_info``."""
    lines = ["# TYPE nvidia_smi_last_collect_success gauge", f"nvidia_smi_last_collect_success {int(succeeded)}"]
    for card in cards:
        uuid = f"df6e7a7c-000{card.index}"
        info = {"driver_version": "471.11", "name": card.name, "uuid": uuid, "serial": "[N/A]", "index": card.index}
        lines.append(f"nvidia_smi_gpu_info{_labels(info)} 1")
        total = None if card.used is None or card.free is None else card.used + card.free
        figures = {
            "memory_total_bytes": None if total is None else total * 2**20,
            "memory_used_bytes": None if card.used is None else card.used * 2**20,
            "utilization_gpu_ratio": None if card.use is None else card.use / 100,
            "temperature_gpu": card.heat,
            "power_draw_watts": card.watts,
        }
        lines += [
            f'nvidia_smi_{name}{{uuid="{uuid}"}} {value:e}' for name, value in figures.items() if value is not None
        ]
    return "\n".join(lines) + "\n"


def _dcgm_value(card: RemoteCard, metric: str) -> float | None:
    return {
        "GPU_TEMP": card.heat,
        "POWER_USAGE": card.watts,
        "TOTAL_ENERGY_CONSUMPTION": card.millijoules,
        "GPU_UTIL": card.use,
        "FB_FREE": card.free,
        "FB_USED": card.used,
    }[metric.removeprefix("DCGM_FI_DEV_")]


def _labels(labels: Mapping[str, str]) -> str:
    escaped = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in labels.items()}
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped.items()) + "}"
