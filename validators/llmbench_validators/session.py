"""The trusted side of a candidate process: start it, call its function, end it, and say what became of it."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from llmbench_validators import candidate, clock, show, wire
from llmbench_validators.clock import Clock
from llmbench_validators.types import SandboxFault

_MAX_RINGS = 4096
_DEATH_GRACE_S, _DYING_S = 1.0, 60.0
_CONFINEMENT_FAILED, _OUT_OF_MEMORY = 71, 70
_CALL_WORDS = frozenset({"runtime_error", "blocked", "memory_limit"})
_LOAD_WORDS = _CALL_WORDS | {"syntax_error", "import_error", "missing_function"}
_SIGNAL_WORDS = {signal.SIGXCPU: "timeout", signal.SIGKILL: "memory_limit", signal.SIGXFSZ: "output_limit"}


class CandidateFailed(Exception):
    """The candidate process is of no more use; ``word`` is the failure word."""

    def __init__(self, word: str, text: str = "") -> None:
        super().__init__(word, text)
        self.word = word
        self.text = text


class Reply(NamedTuple):
    """What one call came to: a value, or a failure word with a short text.

    ``raised`` and ``kin`` name the exception and the nearest builtin it derives from, ``message`` is its text and
    ``arguments`` what it was made with (None: not told). ``changes`` is what the call did
    to its arguments, as told and unchecked, see :mod:`llmbench_validators.arguments`.
    """

    value: Any = None
    word: str | None = None
    text: str = ""
    raised: str | None = None
    kin: str = "Exception"
    changes: Any = None
    message: str = ""
    arguments: tuple[Any, ...] | None = None


Budget = tuple[int, int]
"""Of one candidate: bytes of memory and seconds of processor time."""


class Ended(NamedTuple):
    """The wait status of a candidate, whether it had to be killed, and whether it left no file."""

    status: int
    killed: bool
    clean: bool


class Started(NamedTuple):
    """A new candidate: the channel it serves, the end of the pipe its replies come from, and its process number.

    The last is a function, for it may have to be waited for. The descriptor is the receiver's to close.
    """

    channel: socket.socket
    replies: int
    pid: Callable[[], int]


class Zygote(Protocol):
    """What a session needs of the process that forks candidates."""

    def start(self, budget: Budget) -> Started:
        """A new candidate."""
        ...

    def end(self, pid: int, grace_s: float) -> Ended:
        """Make sure the candidate is gone; it may end by itself within ``grace_s``."""
        ...

    def leave(self, pid: int, budget: Budget) -> None:
        """As :meth:`end`, when nobody needs to know how; ``budget`` is what the next one will likely have."""
        ...

    def clean(self) -> None:
        """Remove the files of the ended candidate."""
        ...


class Candidate:
    """One candidate process.

    ``parent`` is watched too, so that nothing outlives the process we work for. ``again`` says that the code was
    tried before: what looked like somebody else's doing then is its own.
    """

    def __init__(
        self, zygote: Zygote, budget: Budget, parent: socket.socket | None = None, *, again: bool = False
    ) -> None:
        self._zygote = zygote
        self._budget = budget
        self._parent = parent
        self._again = again
        self._channel, self._replies, self.pid = zygote.start(budget)
        self._channel.setblocking(False)
        self._inbox = wire.Inbox(self._replies)
        self._watched = _watch(self._channel, parent)
        self._silent = False
        self._ended: Ended | None = None
        self._bells = self._calls_for_room = 0  # still to be expected
        self.owes = 0
        """Replies still to come."""
        self.is_async = False
        self.note = ""
        self._clock: Clock | None = None

    def limit(self, seconds: float) -> None:
        """Start the clock of the next stage."""
        self._clock = Clock(self.pid, seconds, fresh=self._clock is None)

    def load(self, program: dict[str, Any], calls: list[tuple[Any, Any]]) -> None:
        """Run ``program``, then ``calls``.

        program: ``code`` (text or compiled), ``function``, ``imports`` (compiled), ``watched``. Returns once the
        code is loaded. Raises CandidateFailed.
        """
        self._ask({**program, "calls": calls}, len(calls) + 1)
        self.owes = len(calls)
        reply = self._receive()
        if "failed" in reply:
            word = _text(reply, "failed")
            raise CandidateFailed(word if word in _LOAD_WORDS else "runtime_error", _text(reply, "text"))
        if "ready" not in reply:
            raise self._forged()
        self.is_async, self.note = bool(reply.get("async")), _text(reply, "note")

    def send(self, calls: list[tuple[Any, Any]], times: int = 0) -> None:
        """Ask for calls with encoded arguments, one after the other. Raises CandidateFailed.

        With ``times`` they are made that often, and there is one reply to all of them: the first failure, or none.
        """
        self.owes = 1 if times else len(calls)
        self._ask({"calls": calls, "times": times} if times else {"calls": calls}, self.owes)

    def reply(self) -> Reply:
        """What the next call came to. Raises CandidateFailed when the process did not survive it."""
        reply = self._receive()
        self.owes -= 1
        if "value" in reply:
            try:
                return Reply(value=wire.decode(reply["value"]), changes=reply.get("changes"))
            except (wire.Malformed, RecursionError) as exc:
                raise self._forged() from exc
        if "odd" in reply:
            return Reply(word="wrong_answer", text=f"returned a {_text(reply, 'odd')} object, which is no plain data")
        if "large" in reply:
            return Reply(word="output_limit", text="returned a value that is too large or too deep")
        if "raised" not in reply:
            raise self._forged()
        return _raised(reply)

    def _ask(self, request: dict[str, Any], replies: int) -> None:
        if self._inbox.partial:  # more than was asked for
            raise self._forged()
        self._bells += 1
        self._calls_for_room += candidate.MOST_CALLS * replies
        self._send(wire.pack_trusted(request))

    def _send(self, frame: bytes) -> None:
        try:
            sent = self._channel.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            raise self._death() from None
        if sent < len(frame):
            self._send_slowly(memoryview(frame)[sent:])

    def _send_slowly(self, rest: memoryview) -> None:
        clock = self._running()
        room = select.poll()
        room.register(self._channel, select.POLLOUT)
        while rest:
            if clock.over():
                self.end()
                raise CandidateFailed("timeout", "did not read its arguments in time")
            room.poll(clock.patience() * 1000 + 1)
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._death() from None

    def _running(self) -> Clock:
        assert self._clock is not None, "limit() starts the clock"
        self._clock.resume()
        return self._clock

    def _receive(self) -> dict[str, Any]:
        try:
            while (body := self._inbox.take(wire.MAX_REPLY)) is None:
                self._wait()
            reply = wire.unpack(body)
        except (wire.Closed, OSError):
            raise self._death() from None
        except (wire.TooLarge, wire.Malformed):
            raise self._forged() from None
        if not isinstance(reply, dict):
            raise self._forged()
        return reply

    def _forged(self) -> CandidateFailed:
        """The process is ended: its code wrote to the channel that only our side of it should use."""
        self.end()
        return CandidateFailed("cheating", "wrote to the result channel")

    def _wait(self) -> None:
        """Until there are more replies. Raises CandidateFailed when its time is over, wire.Closed after the last.

        Raises wire.Malformed when it says that it is done and is not, or rings without need.
        """
        clock = self._running()
        while not self._silent:
            if clock.over():
                if self._inbox.read() and self._inbox.complete:  # of calls before the one that takes too long
                    return
                self.end()
                raise CandidateFailed("timeout", f"ran longer than {clock.seconds:g} s")
            if not self._bells:
                break
            if self._heard(clock.patience()) and self._inbox.read():
                clock.pause()
                return
        if not self._inbox.read():
            raise wire.Closed("the candidate has ended") if self._silent else wire.Malformed("fewer replies than calls")

    def _heard(self, seconds: float) -> bool:
        """Wait for a sign that there are replies to read."""
        self._watched.register(self._replies, select.POLLIN if self._inbox.partial else 0)
        ready = dict(self._watched.poll(seconds * 1000 + 1))
        if self._parent is not None and self._parent.fileno() in ready:
            raise ParentGone
        if ready.get(self._replies, 0) & ~select.POLLIN:
            self._silent = True
        if self._channel.fileno() in ready:
            self._listen()
        return bool(ready)

    def _listen(self) -> None:
        rung = self._channel.recv(_MAX_RINGS)
        self._silent = self._silent or not rung
        bells, rooms = rung.count(candidate.BELL), rung.count(candidate.ROOM)
        self._bells -= bells
        self._calls_for_room -= rooms
        if bells + rooms < len(rung) or self._bells < 0 or self._calls_for_room < 0:
            raise wire.Malformed("no bell of ours")

    def _death(self) -> CandidateFailed:
        pid = self.pid()
        used = clock.processor_time(pid)
        status, killed, _ = self.end(_DYING_S if clock.is_leaving(pid) else _DEATH_GRACE_S)
        if killed:
            return CandidateFailed("cheating", "closed the result channel")
        if os.WIFSIGNALED(status):
            return self._signalled(signal.Signals(os.WTERMSIG(status)), used)
        code = os.WEXITSTATUS(status)
        if code == _CONFINEMENT_FAILED:
            raise SandboxFault("the sandbox could not confine a process; see the isolation report")
        if code == _OUT_OF_MEMORY:
            return CandidateFailed("memory_limit", "ran out of memory")
        word = "cheating" if code == 0 else "runtime_error"
        return CandidateFailed(word, f"ended the process with status {code} instead of returning")

    def _signalled(self, number: signal.Signals, used: float) -> CandidateFailed:
        word = _SIGNAL_WORDS.get(number, "runtime_error")
        if number == signal.SIGKILL:
            if used >= self._budget[1]:
                word = "timeout"
            elif not self._again:  # by itself, for want of memory, or by somebody: the second time will tell
                raise SandboxFault("a process of the sandbox was killed")
        return CandidateFailed(word, f"the process died of {number.name}")

    def end(self, grace_s: float = 0.0) -> Ended:
        """Make sure the process is gone; safe to call twice."""
        if self._ended is None:
            self._close()
            self._ended = self._zygote.end(self.pid(), grace_s)
            if not self._ended.clean:
                self._zygote.clean()
        return self._ended

    def leave(self) -> None:
        """As :meth:`end`, without waiting for it."""
        if self._ended is None:
            self._ended = Ended(0, killed=True, clean=True)
            try:
                self._zygote.leave(self.pid(), self._budget)
            finally:
                self._close()  # last, so that it is gone before it could wake up and see to its own end

    def _close(self) -> None:
        self._channel.close()
        if self._replies >= 0:
            os.close(self._replies)
        self._replies = -1


class ParentGone(BaseException):
    """The process we grade for has closed its end; there is nobody left to answer."""


def _watch(channel: socket.socket, parent: socket.socket | None) -> select.poll:
    watched = select.poll()
    watched.register(channel, select.POLLIN)
    if parent is not None:
        watched.register(parent, select.POLLIN)
    return watched


def _raised(reply: dict[str, Any]) -> Reply:
    name, text, word = _text(reply, "raised"), _text(reply, "text"), _text(reply, "word")
    message = reply.get("text", "")
    return Reply(
        word=word if word in _CALL_WORDS else "runtime_error",
        text=f"raised {name}: {text}" if text else f"raised {name}",
        raised=name,
        kin=_text(reply, "kin"),
        changes=reply.get("changes"),
        message=message if isinstance(message, str) else "",
        arguments=_arguments(reply.get("arguments")),
    )


def _arguments(told: Any) -> tuple[Any, ...] | None:
    try:
        found = wire.decode(told)
    except (wire.Malformed, RecursionError):
        return None
    return found if isinstance(found, tuple) else None


def _text(reply: dict[str, Any], key: str) -> str:
    value = reply.get(key, "")
    return show.steady(value[:300]) if isinstance(value, str) else ""
