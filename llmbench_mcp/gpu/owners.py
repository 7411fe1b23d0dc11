"""Which local server a process belongs to: the one that listens, or was started by the one that listens."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import psutil

_GENERATIONS = 10


def owners(pids: Collection[int], ports: Collection[int]) -> Mapping[int, int]:
    """By pid, the port of ``ports`` it belongs to; blocking. Other users' processes may not be seen."""
    if not pids or not ports:
        return {}
    listeners = _listeners(ports)
    found: dict[int, int] = {}
    for pid in pids:
        line = [pid, *_ancestors(pid)] if listeners else []
        port = next((listeners[one] for one in line if one in listeners), None)
        if port is not None:
            found[pid] = port
    return found


def _listeners(ports: Collection[int]) -> dict[int, int]:
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return {}
    return {
        one.pid: one.laddr.port
        for one in connections
        if one.pid is not None and one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port in ports
    }


def _ancestors(pid: int) -> list[int]:
    try:
        return [parent.pid for parent in psutil.Process(pid).parents()[:_GENERATIONS]]
    except (psutil.Error, ValueError, OverflowError):
        return []
