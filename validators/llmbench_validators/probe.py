"""What the sandbox really keeps from code on this machine, found by trying it in a candidate process."""

from __future__ import annotations

from typing import Any

from llmbench_validators.session import Candidate, CandidateFailed, Zygote
from llmbench_validators.types import SandboxFault

LEVELS = ("process", "partial", "full")
GUARANTEES = ("files", "network", "processes", "signals", "memory")
_MEMORY = 64 << 20
_TIME_S = 20
_ATTEMPTS = f"""
import os, socket
def refused(attempt):
    try:
        attempt()
    except (OSError, MemoryError):
        return True
    return False
def fork():
    if os.fork() == 0:
        os._exit(0)
def outside():
    open(os.path.join(os.getcwd(), os.pardir, os.pardir, "llmbench-probe"), "x").close()
def attempts(number):
    inside = os.path.join(os.getcwd(), "own")
    open(inside, "w").close()
    os.remove(inside)
    return number + 1, {{
        "files": refused(lambda: os.listdir("/")) and refused(outside),
        "network": refused(lambda: socket.socket().close()),
        "processes": refused(fork),
        "signals": refused(lambda: os.kill(os.getppid(), 0)),
        "memory": refused(lambda: bytearray({4 * _MEMORY})),
    }}
"""


def isolation(zygote: Zygote, mechanisms: dict[str, Any]) -> dict[str, Any]:
    """``level``, the guarantees seen to hold, and the mechanisms in use.

    Raises SandboxFault when a harmless sample gives a wrong result here: grading would be worthless.
    """
    candidate = Candidate(zygote, (_MEMORY, _TIME_S))
    try:
        candidate.limit(_TIME_S)
        candidate.load({"code": _ATTEMPTS, "function": "attempts", "imports": []}, [([1], {"d": []})])
        reply = candidate.reply()
    except CandidateFailed as exc:
        raise SandboxFault(f"the sandbox's self-test failed: {exc.word} ({exc.text})") from exc
    finally:
        candidate.end()
    if reply.word is not None or not isinstance(reply.value, tuple) or reply.value[0] != 2:
        raise SandboxFault(f"the sandbox's self-test failed: {reply.text}")
    held = {name: reply.value[1].get(name) is True for name in GUARANTEES}
    return {"level": _level(held), "guarantees": held, "mechanisms": mechanisms}


def _level(held: dict[str, bool]) -> str:
    if all(held.values()):
        return "full"
    return "partial" if held["memory"] and (held["files"] or held["network"]) else "process"
