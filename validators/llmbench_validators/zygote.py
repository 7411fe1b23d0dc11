"""The warm, single-threaded process candidate processes are forked from; it never sees code or tests.

Started by exec with a built environment. Orders and answers on its control channel are of a fixed size: after every
fork each page this process writes to costs a fault, so it does as little as it can.

ORDER: END with a process number and milliseconds of grace, or START with bytes of memory and seconds of processor
time (and, as passed descriptors, one end of the candidate's channel and of the pipe for its replies), or both in one.
ANSWER: the process number started (0: none, because the ended one left files), then the wait status of the ended one,
whether it had to be killed, and whether it left no file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import random
import signal
import struct
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from llmbench_validators import candidate, confine, kernel, passing, wire
from llmbench_validators.places import Place, Places

CONFINEMENT_FAILED = 71
"""Exit status of a candidate process that could not be confined; no code ran in it."""

OPEN = "open"
"""The argument that leaves every confinement out, for measuring what it costs."""

START, END = 1, 2
ORDER = struct.Struct("=Bqqqq")
ANSWER = struct.Struct("=iiBB")
CHANNELS = 2
_KILL = int(signal.SIGKILL)
_USUAL = bytes(512)
"""A ``struct sigaction`` (152 bytes on Linux) that asks for what the system does by itself: all of it is zero."""
# What short programs import most. Every module here makes every fork slower, so the list is short: the others
# are loaded by the answers that want them.
_WARM = (
    *("bisect", "collections.abc", "copy", "enum", "functools", "heapq", "itertools", "math", "operator"),
    *("random", "re", "string", "time", "types", "typing"),
)


def main(control: int, folder: str, mode: str = "", account: str = "") -> None:
    """Serve orders on the inherited socket ``control`` until it closes; candidates live in ``folder``.

    ``account`` is the number of one that nobody uses, which they shall have, or empty.
    """
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("LD_BIND_NOW", None)  # it has done its work
    for name in _WARM:
        importlib.import_module(name)
    random.seed(0)  # every candidate starts from the same state: an answer that uses it keeps its verdict
    plan = confine.open_house() if mode == OPEN else confine.settle(folder, int(account) if account else None)
    nursery = _Nursery(control, folder, plan)
    candidate.rehearse()
    gc.collect()
    gc.freeze()
    kernel.give_back_memory()
    try:
        os.write(control, wire.pack(nursery.describe()))
        nursery.serve()
    except (wire.Closed, OSError):
        pass
    finally:
        nursery.end_all()
        _discard(folder)


def _leave(_number: int, _frame: types.FrameType | None) -> None:
    sys.exit(0)


class _Nursery:
    """Forks, ends and cleans up after candidate processes."""

    def __init__(self, control: int, folder: str, plan: confine.Plan) -> None:
        self._control = control
        self._plan = plan
        self._places = Places(folder)
        self._home = ""
        self._alive: dict[int, Place] = {}
        self._preparations: dict[tuple[int, int], Callable[[], None]] = {}
        self._fork = kernel.forker()
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)  # after the change of account, which clears it
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)

    def describe(self) -> dict[str, Any]:
        plan = self._plan
        return {
            "landlock": plan.landlock,
            "seccomp": plan.filter_calls is not None,
            "own_account": plan.uid is not None,
        }

    def serve(self) -> None:
        receive = passing.receiver(self._control, ORDER.size, CHANNELS)
        while True:
            data, channels = receive()
            if len(data) != ORDER.size:
                raise wire.Closed("the checker is gone")
            kind, pid, grace_ms, memory_bytes, cpu_seconds = ORDER.unpack(data)
            ended, started = (0, False, True), 0
            if kind & END:
                ended = self.end(pid, grace_ms / 1000)
            if kind & START:
                if len(channels) != CHANNELS:
                    raise wire.Closed("no channels for a candidate")
                if ended[2]:  # else its files would be in the way
                    started = self._start(memory_bytes, cpu_seconds, channels)
                for channel in channels:
                    os.close(channel)
            os.write(self._control, ANSWER.pack(started, *ended))

    def _start(self, memory_bytes: int, cpu_seconds: int, channels: tuple[int, ...]) -> int:
        place = self._places.take()
        sample = place.path
        if self._home != sample:  # here rather than in each child, for the reason given above
            self._home = os.environ["TMPDIR"] = os.environ["HOME"] = sample
            os.chdir(sample)
        prepare = self._preparation((memory_bytes, cpu_seconds))
        pid = self._fork()
        if pid == 0:
            _become_candidate(channels, prepare)
        if pid < 0:
            raise OSError(kernel.last_error(), "a candidate process could not be started")
        self._alive[pid] = place
        return pid

    def _preparation(self, needs: tuple[int, int]) -> Callable[[], None]:
        if needs not in self._preparations:
            self._preparations.clear()
            limits = confine.Limits(*needs)
            self._preparations[needs] = confine.preparation(self._plan, limits, _arrival(self._control))
        return self._preparations[needs]

    def end(self, pid: int, grace_s: float = 0.0) -> tuple[int, bool, bool]:
        """Make sure nothing of the candidate is left.

        Within ``grace_s`` seconds it may end by itself. Returns its wait status, whether it did not, and whether it
        left no file (our owner removes those).
        """
        place = self._alive.pop(pid)
        ended = grace_s > 0 and _ends_by_itself(pid, grace_s)
        _kill(pid)
        status = os.waitpid(pid, 0)[1]
        if self._plan.filter_calls is None:
            _reap_strays(self._alive)
        return status, not ended, self._places.give_back(place)

    def end_all(self) -> None:
        for pid in list(self._alive):
            self.end(pid)


def _arrival(control: int) -> tuple[Callable[[], int], ...]:
    """Gives a new process a session of its own and the usual signals, and takes the control channel from it."""
    if not kernel.LINUX:
        return (lambda: _portable_arrival(control),)
    signals = [kernel.prepared("sigaction", number, _USUAL, 0) for number in (signal.SIGTERM, signal.SIGINT)]
    return kernel.prepared("setsid"), kernel.prepared("close", control), *signals


def _portable_arrival(control: int) -> int:
    os.setsid()
    os.close(control)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    return 0


def _become_candidate(channels: tuple[int, ...], prepare: Callable[[], None]) -> None:
    """In the forked process. Every page touched here is copied, so it is plain calls of prepared things."""
    try:
        prepare()
    except BaseException:  # noqa: BLE001 - whatever went wrong, no code may run unconfined
        os._exit(CONFINEMENT_FAILED)
    try:
        candidate.serve(*channels)
    finally:
        os._exit(1)


def _kill(pid: int) -> None:
    """The process and its group; not yet reaped, so the number is still its own."""
    try:
        os.killpg(pid, _KILL)
    except (ProcessLookupError, PermissionError):  # not yet the leader of its own group
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, _KILL)


def _ends_by_itself(pid: int, grace_s: float) -> bool:
    until = time.monotonic() + grace_s
    pause = 0.0005
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def _reap_strays(alive: dict[int, Place]) -> None:
    """Kill and reap whatever was handed to us as subreaper, where starting processes is not filtered."""
    while strays := [pid for pid in _children() if pid not in alive]:
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
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
