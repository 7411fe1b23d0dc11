"""The checker's side of the process that candidates are forked from."""

from __future__ import annotations

import os
import socket
import subprocess
from array import array
from collections import deque
from typing import Any, NamedTuple

from llmbench_validators import accounts, folders, launch, wire, zygote
from llmbench_validators.session import Budget, Ended, Started
from llmbench_validators.types import SandboxFault

_START_S = 60.0


class _Answer:
    """What an order will be answered; the answers come in the order of the orders."""

    pid = 0
    ended: Ended | None = None
    here = False


class _Spare(NamedTuple):
    """A candidate that was started in advance and has seen nothing yet."""

    budget: Budget
    channel: socket.socket
    replies: int
    answer: _Answer


def _pipe() -> tuple[int, int]:
    """Both ends of a pipe that does not block."""
    if hasattr(os, "pipe2"):
        return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


class WarmZygote:
    """A running zygote process whose candidates write below ``folder``, an empty one.

    ``mode`` is passed on to it. Raises SandboxFault when it does not answer.
    """

    def __init__(self, folder: str, mode: str = "") -> None:
        self._folder = folder
        try:
            account = "" if (uid := accounts.spare_uid()) is None else str(uid)
            self._process, self._control = launch.start("llmbench_validators.zygote", folder, mode, account)
        except OSError as exc:
            raise SandboxFault(f"the sandbox process could not be started: {exc}") from exc
        self._control.settimeout(_START_S)
        self._awaited: deque[_Answer] = deque()
        self._left: _Answer | None = None
        self._spare: _Spare | None = None
        self.mechanisms = self._described()

    def start(self, budget: Budget) -> Started:
        """See :class:`~llmbench_validators.session.Zygote`.

        Raises SandboxFault when the process is gone; the function it returns does so too.
        """
        self._tidy()
        spare, self._spare = self._spare, None
        if spare is not None and spare.budget != budget:
            self._discard(spare)
            spare = None
        if spare is None:
            spare = self._started(zygote.START, 0, budget)
        return Started(spare.channel, spare.replies, lambda: self._told(spare.answer).pid)

    def end(self, pid: int, grace_s: float) -> Ended:
        """See :class:`~llmbench_validators.session.Zygote`. Raises SandboxFault when the process is gone."""
        answer = self._order(zygote.ORDER.pack(zygote.END, pid, int(grace_s * 1000), 0, 0), [])
        ended = self._told(answer).ended
        assert ended is not None
        return ended

    def leave(self, pid: int, budget: Budget) -> None:
        """See :class:`~llmbench_validators.session.Zygote`; a candidate with ``budget`` is started in its place.

        Raises SandboxFault when the process is gone.
        """
        self._tidy()
        if self._spare is not None:
            self.end(pid, 0)
            return
        self._spare = self._started(zygote.END | zygote.START, pid, budget)
        self._left = self._spare.answer

    def _tidy(self) -> None:
        """Remove what the candidate left behind that was ended last without a look."""
        left, self._left = self._left, None
        if left is None:
            return
        ended = self._told(left).ended
        if ended is not None and not ended.clean:
            spare, self._spare = self._spare, None
            if spare is not None:
                self._discard(spare)
            self.clean()

    def _discard(self, spare: _Spare) -> None:
        spare.channel.close()
        os.close(spare.replies)
        if pid := self._told(spare.answer).pid:
            self.end(pid, 0)

    def _started(self, kind: int, ending: int, budget: Budget) -> _Spare:
        ours, theirs = socket.socketpair()
        replies, end = _pipe()
        try:
            order = zygote.ORDER.pack(kind, ending, 0, *budget)
            ancillary = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", (theirs.fileno(), end)))
            return _Spare(budget, ours, replies, self._order(order, [ancillary]))
        finally:
            theirs.close()
            os.close(end)

    def _order(self, order: bytes, ancillary: list[tuple[int, int, array[int]]]) -> _Answer:
        try:
            self._control.sendmsg([order], ancillary)
        except OSError as exc:
            raise SandboxFault(f"the sandbox process is gone: {exc}") from exc
        answer = _Answer()
        self._awaited.append(answer)
        return answer

    def _told(self, answer: _Answer) -> _Answer:
        """``answer`` once it is here."""
        while not answer.here:
            told = self._awaited.popleft()
            told.pid, status, killed, clean = zygote.ANSWER.unpack(self._received())
            told.ended, told.here = Ended(status, bool(killed), bool(clean)), True
        return answer

    def _received(self) -> bytes:
        try:
            data = self._control.recv(zygote.ANSWER.size, socket.MSG_WAITALL)
        except OSError as exc:
            raise SandboxFault(f"the sandbox process does not answer: {exc}") from exc
        if len(data) != zygote.ANSWER.size:
            raise SandboxFault("the sandbox process has ended")
        return data

    def _described(self) -> dict[str, Any]:
        try:
            reply = wire.receive(self._control, 1 << 16)
        except (OSError, EOFError, ValueError) as exc:
            raise SandboxFault(f"the sandbox process does not answer: {exc}") from exc
        return dict(reply)

    def clean(self) -> None:
        """Remove what a candidate left. Raises SandboxFault when something resists."""
        with os.scandir(self._folder) as entries:
            left = [entry.path for entry in entries]
        for path in left:
            folders.remove(path)
        if os.listdir(self._folder):
            raise SandboxFault(f"files of a candidate cannot be removed from {self._folder}")

    def stop(self) -> None:
        """Close the channel, which ends the process; kill it when it lingers."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        folders.remove(self._folder)
