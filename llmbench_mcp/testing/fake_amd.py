"""Stand-ins for ``amd-smi`` and ``rocm-smi``: programs in a folder to put on PATH, printing what the real ones print.

::

    tools = FakeAmdTools(folder)
    tools.amd_smi([AmdCard()])            # as ROCm 6 prints it; envelope="gpu_data": as ROCm 7 does
    tools.hanging("rocm-smi")             # never answers; its process is in tools.pids("rocm-smi")
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Envelope = Literal["list", "gpu_data"]


@dataclass
class AmdCard:
    """One card; a figure of None is printed as ``N/A``. MB are mebibytes, as with the real tools."""

    name: str | None = "AMD Instinct MI300X"
    total_mb: int | None = 196_592
    used_mb: int | None = 49_148
    use: int | None = 73
    edge: int | None = None
    hotspot: int | None = 61
    watts: int | None = 542
    joules: float | None = 1004.108
    processes: Mapping[int, int] = field(default_factory=dict)
    """Bytes of the card's memory by pid."""


class FakeAmdTools:
    """Writes the programs into ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def amd_smi(self, cards: Sequence[AmdCard], envelope: Envelope = "list", *, knows_flags: bool = True) -> None:
        """``amd-smi metric | process | static``; one that knows no flags complains and fails."""
        metric = self._document("metric", _wrapped([_metric(i, card) for i, card in enumerate(cards)], envelope))
        process = self._document("process", [_process(i, card) for i, card in enumerate(cards)])
        asic = [{"gpu": i, "asic": {"market_name": _said(card.name)}} for i, card in enumerate(cards)]
        static = self._document("static", _wrapped(asic, envelope))
        refusal = "" if knows_flags else 'case "$*" in *--usage*) echo "unrecognized arguments" >&2; exit 2;; esac\n'
        self.program(
            "amd-smi",
            f'{refusal}echo "WARNING: User is missing the following required groups: render"\n'
            f'case "$1" in metric) cat {metric};; process) cat {process};; static) cat {static};; esac\n',
        )

    def rocm_smi(self, cards: Sequence[AmdCard], *, as_list: bool = False) -> None:
        """``rocm-smi --json``; it ends with an error status when a figure is not supported, as the real one does."""
        shapes: dict[str, Any] = {f"card{i}": _rocm(card) for i, card in enumerate(cards)}
        document: Any = list(shapes.values()) if as_list else shapes | {"system": {"Driver version": "6.7.0"}}
        status = 2 if any(card.joules is None for card in cards) else 0
        self.program("rocm-smi", f"cat {self._document('rocm', document)}\nexit {status}\n")

    def hanging(self, name: str) -> None:
        """A tool that never answers, and has started a helper that does not either."""
        self.program(
            name, f"echo $$ >> {self._pid_file(name)}\nsleep 1000 &\necho $! >> {self._pid_file(name)}\nwait\n"
        )

    def program(self, name: str, script: str) -> None:
        """Any program of that name, as a shell script."""
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        file.chmod(0o755)

    def pids(self, name: str) -> list[int]:
        """Processes of a hanging tool that were started."""
        file = Path(shlex.split(self._pid_file(name))[0])
        return [int(line) for line in file.read_text(encoding="ascii").split()] if file.exists() else []

    def _pid_file(self, name: str) -> str:
        return shlex.quote(str(self.folder / f"{name}.pids"))

    def _document(self, name: str, document: Any) -> str:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document, indent=4) + "\n", encoding="utf-8")
        return shlex.quote(str(file))


def _wrapped(cards: list[dict[str, Any]], envelope: Envelope) -> Any:
    return cards if envelope == "list" else {"gpu_data": cards}


def _metric(index: int, card: AmdCard) -> dict[str, Any]:
    return {
        "gpu": index,
        "usage": {"gfx_activity": _unit(card.use, "%"), "umc_activity": _unit(12, "%"), "mm_activity": "N/A"},
        "power": {"socket_power": _unit(card.watts, "W"), "gfx_voltage": "N/A", "throttle_status": "N/A"},
        "temperature": {
            "edge": _unit(card.edge, "C"),
            "hotspot": _unit(card.hotspot, "C"),
            "mem": "N/A",
        },
        "energy": {"total_energy_consumption": _unit(card.joules, "J")},
        "mem_usage": {
            "total_vram": _unit(card.total_mb, "MB"),
            "used_vram": _unit(card.used_mb, "MB"),
            "free_vram": "N/A",
        },
    }


def _process(index: int, card: AmdCard) -> dict[str, Any]:
    held: list[dict[str, Any]] = [
        {"process_info": _process_info(pid, memory)} for pid, memory in card.processes.items()
    ]
    return {"gpu": index, "process_list": held or [{"process_info": "No running processes detected"}]}


def _process_info(pid: int, memory: int) -> dict[str, Any]:
    return {
        "name": "llama-server",
        "pid": pid,
        "memory_usage": {"gtt_mem": _unit(0, "B"), "cpu_mem": _unit(0, "B"), "vram_mem": _unit(memory, "B")},
        "mem_usage": _unit(memory, "B"),
        "usage": {"gfx": _unit(0, "ns"), "enc": _unit(0, "ns")},
    }


def _rocm(card: AmdCard) -> dict[str, str]:
    total, used = (None if size is None else size * 2**20 for size in (card.total_mb, card.used_mb))
    energy = {} if card.joules is None else {"Accumulated Energy (uJ)": str(card.joules * 1e6)}
    return {
        "Temperature (Sensor edge) (C)": _text(card.edge),
        "Temperature (Sensor junction) (C)": _text(card.hotspot),
        "Average Graphics Package Power (W)": _text(card.watts),
        "GPU use (%)": _text(card.use),
        "VRAM Total Memory (B)": _text(total),
        "VRAM Total Used Memory (B)": _text(used),
        "Card Series": _said(card.name),
        "Card Model": "0x74a1",
        **energy,
    }


def _unit(value: float | None, unit: str) -> Any:
    return "N/A" if value is None else {"value": value, "unit": unit}


def _said(name: str | None) -> str:
    return name or "N/A"


def _text(value: float | None) -> str:
    return "N/A" if value is None else str(value)
