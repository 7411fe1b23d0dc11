"""The door to the sandbox: a small pool of checker processes, started when first needed.

Safe to call from many threads. Nothing untrusted and no test runs in the calling process, and it is never
forked: the pool starts fresh interpreters.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

from llmbench_validators import folders, launch, wire
from llmbench_validators.probe import LEVELS
from llmbench_validators.types import SandboxFault, ValidationSpecError

_START_S = 90.0
_MAX_OUTCOME = 4 << 20
_MAX_PROCESSES = 8
_ENDING_S = 5.0
_LEAVING_S = 0.5


Meanwhile = Callable[[], object]
"""What the caller does while the sandbox works; when grading has to begin again, it is called again."""


def _nothing() -> None:
    pass


class _Checker:
    """One checker process and its channel. It is still starting until :meth:`ready` was called."""

    def __init__(self, mode: str = "") -> None:
        if os.name != "posix":
            raise SandboxFault(f"model code cannot be run safely on {os.name}; use Linux, or WSL 2 on Windows")
        self._leaving = False
        self._folder = folders.make()
        try:
            self._process, self._channel = launch.start("llmbench_validators.checker", self._folder, mode)
        except OSError as exc:
            raise SandboxFault(f"the checker process could not be started: {exc}") from exc
        self._mailbox = wire.Mailbox(self._channel)

    def ready(self) -> dict[str, Any]:
        """The isolation report, once the process has made it; to be asked for once."""
        with self._talking(_START_S):
            report = self._reply()
        if "fault" in report:
            self.stop()
            raise SandboxFault(str(report["fault"]))
        return report

    def run(self, job: dict[str, Any], seconds: float, meanwhile: Meanwhile) -> dict[str, Any]:
        with self._talking(seconds):
            wire.send_trusted(self._channel, {**job, wire.PLAIN: True})
        try:
            meanwhile()
        except BaseException:
            self.stop(kill=True)  # its answer would be taken for that to the next job
            raise
        with self._talking(seconds):
            return self._reply()

    def _reply(self) -> dict[str, Any]:
        reply = _outcome(wire.unpack(self._mailbox.take(_MAX_OUTCOME)))
        if not isinstance(reply, dict):
            raise wire.Malformed("it answered nonsense")
        return reply

    @contextlib.contextmanager
    def _talking(self, seconds: float) -> Iterator[None]:
        """Whatever goes wrong with the channel is the end of the process, and a SandboxFault."""
        try:
            self._channel.settimeout(seconds)
            yield
        except (OSError, EOFError, ValueError) as exc:
            self.stop(kill=True)
            raise SandboxFault(f"the checker process failed: {exc or type(exc).__name__}") from exc

    def leave(self) -> None:
        """Tell the process to end, whatever it is doing; whoever waits for its answer gets a SandboxFault."""
        self._leaving = True
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def stop(self, *, kill: bool = False) -> None:
        self._channel.close()
        if kill and not self._leaving:
            self._process.kill()
        try:
            self._process.wait(_LEAVING_S if self._leaving else _ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        folders.remove(self._folder)


def _outcome(reply: Any) -> Any:
    """What the checker's reply stands for. Most outcomes are JSON as they are, where tuples have become lists."""
    return reply[wire.PLAIN] if isinstance(reply, dict) and wire.PLAIN in reply else wire.decode(reply)


class Pool:
    """Checkers for one process; at most one a processor works at a time.

    With the mode ``open`` (see zygote) nothing is confined: for measuring what the isolation costs.
    """

    def __init__(self, size: int | None = None, mode: str = "") -> None:
        self._mode = mode
        self._slots = threading.BoundedSemaphore(size or max(1, min(os.cpu_count() or 1, _MAX_PROCESSES)))
        self._lock = threading.Lock()
        self._idle: list[_Checker] = []
        self._starting: list[_Checker] = []
        self._busy: set[_Checker] = set()
        self._ended = False
        self._report: dict[str, Any] | None = None

    def prepare(self) -> None:
        """Start the first checker without waiting for it; what is wrong with it is said when it is needed."""
        with self._lock, contextlib.suppress(SandboxFault):
            if not (self._idle or self._starting or self._busy):
                self._starting.append(_Checker(self._mode))

    def report(self) -> dict[str, Any]:
        """What the sandbox keeps from code here (``level``, ``guarantees``, ``mechanisms``). Raises SandboxFault."""
        if self._report is None:
            with self._slots:
                self._put_back(self._take())
        assert self._report is not None
        return self._report

    def run(self, job: dict[str, Any], seconds: float, meanwhile: Meanwhile = _nothing) -> dict[str, Any]:
        """Grade one job within ``seconds`` of wall time.

        Raises SandboxFault when the sandbox fails twice, ValidationSpecError when the tests are at fault.
        """
        with self._slots:
            try:
                outcome = self._attempt(job, seconds, meanwhile, fresh=False)
            except SandboxFault:  # a process that was killed or lost its folder says nothing about the next one
                outcome = self._attempt({**job, "careful": True}, seconds, meanwhile, fresh=True)
        if "spec_error" in outcome:
            raise ValidationSpecError(outcome["spec_error"])
        return outcome

    def _attempt(self, job: dict[str, Any], seconds: float, meanwhile: Meanwhile, *, fresh: bool) -> dict[str, Any]:
        checker = self._take(fresh=fresh)
        try:
            outcome = checker.run(job, seconds, meanwhile)
        except BaseException:
            self._busy.discard(checker)
            raise
        if outcome.get("recycle"):
            self._busy.discard(checker)
            checker.stop()
        else:
            self._put_back(checker)
        if "fault" in outcome:
            raise SandboxFault(outcome["fault"])
        return outcome

    def _take(self, *, fresh: bool = False) -> _Checker:
        with self._lock:
            if self._ended:
                raise SandboxFault("grading was broken off")
            if self._idle and not fresh:
                checker = self._idle.pop()
                self._busy.add(checker)
                return checker
            checker = self._starting.pop() if self._starting else _Checker(self._mode)
            self._busy.add(checker)
        try:
            self._report = checker.ready()
        except SandboxFault:
            self._busy.discard(checker)
            raise
        return checker

    def _put_back(self, checker: _Checker) -> None:
        with self._lock:
            self._busy.discard(checker)
            self._idle.append(checker)

    def close(self) -> None:
        """End every idle checker, and with it its sandbox processes."""
        with self._lock:
            idle, self._idle = self._idle, []
            starting, self._starting = self._starting, []
        for checker in starting:
            checker.leave()
        for checker in idle + starting:
            checker.stop()

    def break_off(self) -> None:
        """End every checker, also those at work; nothing more is graded here."""
        with self._lock:
            self._ended = True
            checkers = [*self._idle, *self._starting, *self._busy]
        for checker in checkers:
            checker.leave()
        for checker in checkers:
            checker.stop()


_pool = Pool()


def _renew() -> None:
    """A forked child must not talk on its parent's channels."""
    global _pool
    _pool = Pool()


atexit.register(lambda: _pool.close())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
_minimum = "full"


def require(level: str) -> None:
    """Set the lowest isolation level (process, partial or full) under which code is run at all.

    The default is ``full``; the environment variable LLMBENCH_MIN_ISOLATION sets it for a process.
    """
    global _minimum
    if level not in LEVELS:
        raise ValueError(f"isolation level {level!r} is unknown; choose {', '.join(LEVELS)}")
    _minimum = level


def meets(level: str) -> bool:
    """Whether that level is enough here. Raises SandboxFault when the variable holds no level."""
    needed = os.environ.get("LLMBENCH_MIN_ISOLATION") or _minimum
    if needed not in LEVELS:
        raise SandboxFault(f"LLMBENCH_MIN_ISOLATION is {needed!r}; use one of {', '.join(LEVELS)}")
    return level in LEVELS and LEVELS.index(level) >= LEVELS.index(needed)


def prepare() -> None:
    """Start the sandbox in the background, for a caller that will need it soon."""
    _pool.prepare()


def break_off() -> None:
    """End all grading of code in this process, at once: each call of it raises SandboxFault, until :func:`renew`."""
    _pool.break_off()


def renew() -> None:
    """Make grading possible again after :func:`break_off`, once nobody is at it any more."""
    _renew()


def isolation_report() -> dict[str, Any]:
    """What the sandbox keeps from code on this machine. Raises SandboxFault when it cannot run."""
    return _pool.report()


def run(job: dict[str, Any], seconds: float, meanwhile: Meanwhile = _nothing) -> tuple[dict[str, Any], str]:
    """Grade one job; returns the outcome and the isolation level it ran under. Raises as :class:`Pool`."""
    report = _pool.report()
    level = str(report["level"])
    if not meets(level):
        missing = [name for name, held in report["guarantees"].items() if not held]
        raise SandboxFault(
            f"this machine gives isolation level {level} only (not kept apart: {', '.join(missing)}); "
            f"set LLMBENCH_MIN_ISOLATION={level} to run model code here all the same"
        )
    return _pool.run(job, seconds, meanwhile), level
