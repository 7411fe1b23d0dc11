"""One answer's code kept ready to be called: its process is started when needed and again after a death."""

from __future__ import annotations

import functools
import socket
import types
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from llmbench_validators import arguments, wire
from llmbench_validators.session import Candidate, CandidateFailed, Reply, Zygote

Call = tuple[Any, Any]
"""Arguments and keyword arguments, encoded for the wire."""

_MAX_COMPILED = 20_000
_KEPT_CODES = 256
"""Compiled answers kept: the repeats of a task are often the same answer. Some 10 MB when all are as long as may be."""


class Unforeseen(BaseException):
    """A call differs from the one announced, after which the process may have run ahead."""


class Runner:
    """Calls the function of ``job`` (``code``, ``function``, ``imports``, ``timeout_s``, ``memory_mb``).

    ``stages`` bounds the processor time of one process: that many stages and the loading of the code.
    ``load_s`` is the least time the code has to load. With ``watched`` in the job the replies tell what calls do to
    their arguments.
    With ``careful`` in the job not even the compiler meets the code outside the sandbox.
    """

    def __init__(self, job: Mapping[str, Any], zygote: Zygote, parent: socket.socket, stages: int) -> None:
        self._job = job
        self._zygote = zygote
        self._parent = parent
        self._cpu_seconds = int(job["timeout_s"] * (stages + 1)) + 2
        self._candidate: Candidate | None = None
        self._unloadable: CandidateFailed | None = None
        self._code = None if job.get("careful") else _compiled(job["code"])
        self._announced: deque[Call] = deque()
        self.unforeseen = False
        self.asked = False
        """Whether a call was made since the stage began."""
        self.note = ""

    def begin_stage(self, calls: Iterable[Call] = ()) -> None:
        """A new stage, whose calls will be ``calls`` in this order (or more): they are sent all at once.

        Calls that were announced and not made before end the process: it has run ahead.
        """
        if self._announced:
            self.drop()
        self._announced = deque(calls)
        self.unforeseen = self.asked = False
        if self._candidate is not None:
            self._candidate.limit(self._job["timeout_s"])

    def ready(self) -> Candidate:
        """The process with the code loaded. Raises CandidateFailed; code that failed to load is not tried again."""
        if self._unloadable is not None:
            raise self._unloadable
        if self._candidate is None:
            self._candidate = self._started()
        return self._candidate

    def _started(self) -> Candidate:
        job = self._job
        budget = job["memory_mb"] << 20, self._cpu_seconds
        candidate = Candidate(self._zygote, budget, self._parent, again=bool(job.get("careful")))
        candidate.limit(max(job["timeout_s"], job.get("load_s", 0.0)))
        imports = [code for line in job["imports"] if (code := _compiled(line)) is not None]
        program = {
            "code": self._code or job["code"],
            "function": job["function"],
            "imports": imports,
            "watched": bool(job.get("watched")),
        }
        with ExitStack() as unless_loaded:
            unless_loaded.callback(candidate.end)
            try:
                candidate.load(program, list(self._announced))
            except CandidateFailed as exc:
                self._unloadable = exc
                raise
            unless_loaded.pop_all()
        self.note = candidate.note
        return candidate

    def call(self, args: Any, kwargs: Any) -> Reply:
        """Call the function with encoded arguments.

        Raises CandidateFailed, and forgets a process that died; Unforeseen when another call was announced.
        """
        self.asked = True
        if self.unforeseen or (self._announced and not _same(self._announced[0], (args, kwargs))):
            self.unforeseen = True
            raise Unforeseen
        try:
            candidate = self.ready()
            if not candidate.owes:
                candidate.send(list(self._announced) or [(args, kwargs)])
            return candidate.reply()
        except CandidateFailed:
            self.drop()
            raise
        finally:
            if self._announced:
                self._announced.popleft()

    def drop(self) -> None:
        """End the process; the next call starts another."""
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            candidate.leave()


def _same(one: Call, other: Call) -> bool:
    """Whether they are equal and of the same types: True is no 1."""
    return one == other and repr(one) == repr(other)


def carry_out(value: Any, reply: Reply) -> None:
    """Put what a call did to its arguments into ``value``, the pair of arguments and keyword arguments.

    Raises CandidateFailed for what no honest process tells.
    """
    try:
        arguments.apply(value, reply.changes or ())
    except wire.Malformed:
        raise CandidateFailed("cheating", "wrote to the result channel") from None


@functools.lru_cache(maxsize=_KEPT_CODES)
def _compiled(code: str) -> types.CodeType | None:
    """The code compiled here, where the compiler is warm; None when it is long or no Python."""
    if len(code) > _MAX_COMPILED:
        return None
    try:
        return compile(code, "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
