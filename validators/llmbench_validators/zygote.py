"""The warm, single-threaded process candidate processes are forked from; it never sees code or tests.

Started by exec with a built environment. Orders on its control channel: ``start`` (with one end of a candidate's
channel as a passed descriptor) and ``end``. One candidate at a time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import time
from typing import Any

from llmbench_validators import candidate, confine, kernel, wire

CONFINEMENT_FAILED = 71
"""Exit status of a candidate process that could not be confined; no code ran in it."""

_MAX_ORDER = 1 << 16
# What short programs import most. Every module here makes every fork slower, so the list is short: the others
# are loaded by the answers that want them.
_WARM = (
    *("bisect", "cmath", "collections.abc", "copy", "enum", "functools", "heapq", "itertools", "math", "operator"),
    *("random", "re", "string", "time", "types", "typing"),
)


def main(descriptor: int, folder: str) -> None:
    """Serve orders on the inherited socket ``descriptor`` until it closes; candidates live in ``folder``."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _WARM:
        importlib.import_module(name)
    nursery = _Nursery(control, folder)
    gc.collect()
    gc.freeze()
    try:
        wire.send(control, nursery.describe())
        nursery.serve()
    except (wire.Closed, OSError):
        pass
    finally:
        nursery.end()
        _discard(folder)


class _Nursery:
    """Forks, ends and cleans up after candidate processes."""

    def __init__(self, control: socket.socket, folder: str) -> None:
        self._control = control
        self._folder = folder
        self._plan = confine.settle(folder)
        self._started = 0
        self._pid: int | None = None
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)  # after the change of account, which clears it
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)

    def describe(self) -> dict[str, Any]:
        plan = self._plan
        return {"landlock": plan.landlock, "seccomp": plan.filtered, "own_account": plan.uid is not None}

    def serve(self) -> None:
        while True:
            order, passed = self._order()
            if "start" in order:
                wire.send(self._control, {"pid": self._start(order["start"], passed)})
            else:
                wire.send(self._control, self.end(order["end"]))

    def _order(self) -> tuple[dict[str, Any], list[int]]:
        """One order and the descriptors that came with its first bytes."""
        data, passed, _flags, _address = socket.recv_fds(self._control, _MAX_ORDER, 1)
        while data and len(data) < 4 + int.from_bytes(data[:4], "big"):
            data += self._control.recv(_MAX_ORDER)
        if not data:
            raise wire.Closed("the checker is gone")
        return wire.unpack(data[4:]), passed

    def _start(self, order: dict[str, int], passed: list[int]) -> int:
        self._started += 1
        sample = os.path.join(self._folder, str(self._started))
        os.mkdir(sample, 0o700)
        limits = confine.Limits(order["memory_bytes"], order["cpu_seconds"])
        pid = os.fork()
        if pid == 0:
            self._become_candidate(passed[0], sample, limits)
        os.close(passed[0])
        self._pid = pid
        return pid

    def _become_candidate(self, descriptor: int, sample: str, limits: confine.Limits) -> None:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.setsid()
            self._control.close()
            os.chdir(sample)
            os.environ["TMPDIR"] = os.environ["HOME"] = sample
            confine.apply(self._plan, limits)
        except BaseException:  # noqa: BLE001 - whatever went wrong, no code may run unconfined
            os._exit(CONFINEMENT_FAILED)
        try:
            candidate.serve(socket.socket(fileno=descriptor))
        finally:
            os._exit(1)

    def end(self, grace_s: float = 0.0) -> dict[str, Any]:
        """Make sure nothing of the candidate is left.

        Within ``grace_s`` seconds it may end by itself; ``status`` is its wait status, ``killed`` whether it
        did not, ``clean`` whether it left no file (our owner removes those).
        """
        if self._pid is None:
            return {"status": 0, "killed": False, "clean": True}
        pid, self._pid = self._pid, None
        ended = _ends_by_itself(pid, grace_s)
        for kill in (os.killpg, os.kill):  # not yet reaped, so the number is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        _reap_strays()
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(self._folder, str(self._started)))
        return {"status": status, "killed": not ended, "clean": not os.listdir(self._folder)}


def _ends_by_itself(pid: int, grace_s: float) -> bool:
    until = time.monotonic() + grace_s
    pause = 0.0005
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def _reap_strays() -> None:
    """Kill and reap whatever was handed to us as subreaper (only possible where fork is not filtered)."""
    while True:
        try:
            done, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not done:
            for pid in _children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as table:
            return [int(pid) for pid in table.read().split()]
    except OSError:
        return []


def _discard(folder: str) -> None:
    """Remove the folder when our owner did not live to do it."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
