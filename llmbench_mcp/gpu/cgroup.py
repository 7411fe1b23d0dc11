"""The memory limit of the container or service this process runs in (Linux control groups, versions 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_SELF = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Bytes that may be used, and that are: without what the kernel would give back at once."""

    total: int
    used: int | None


@dataclass(frozen=True, slots=True)
class _Names:
    """Files of one version, and the line of ``memory.stat`` with the cache that can be given back."""

    limit: str
    usage: str
    cache: str


_V2 = _Names("memory.max", "memory.current", "inactive_file")
_V1 = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def memory_limit(machine_total: int, root: Path = _ROOT, own: Path = _SELF) -> MemoryLimit | None:
    """The tightest limit on this process below the machine's memory; None when there is none."""
    found = [limit for folder, names in _groups(root, own) if (limit := _limit(folder, names)) is not None]
    tight = min(found, key=lambda limit: limit.total, default=None)
    return tight if tight is not None and tight.total < machine_total else None


def _groups(root: Path, own: Path) -> Iterator[tuple[Path, _Names]]:
    """Every group this process is in, from its own up to the root: each may hold a limit."""
    for line in _text(own).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            base, names = root, _V2
        elif "memory" in controllers.split(","):
            base, names = root / "memory", _V1
        else:
            continue
        here = base / path.strip("/")
        if ".." in here.parts:  # the group lies outside of what this container sees
            here = base
        for folder in (here, *here.parents):
            if folder == base.parent:
                break
            yield folder, names


def _limit(folder: Path, names: _Names) -> MemoryLimit | None:
    total, usage = _number(folder / names.limit), _number(folder / names.usage)
    if total is None:
        return None
    if usage is None:
        return MemoryLimit(total, None)
    lines = (line.split() for line in _text(folder / "memory.stat").splitlines())
    cache = next((int(pair[1]) for pair in lines if len(pair) == 2 and pair[0] == names.cache), 0)
    return MemoryLimit(total, max(0, usage - cache))


def _number(file: Path) -> int | None:
    """None for ``max``, which is version 2's word for no limit, and for what is not there."""
    text = _text(file).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
