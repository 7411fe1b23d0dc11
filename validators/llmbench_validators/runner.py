"""One answer's code kept ready to be called: its process is started when needed and again after a death."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from llmbench_validators.session import Candidate, CandidateFailed, Reply, Zygote


class Runner:
    """Calls the function of ``job`` (``code``, ``function``, ``imports``, ``timeout_s``, ``memory_mb``).

    ``stages`` bounds the processor time of one process: that many stages and the loading of the code.
    """

    def __init__(self, job: Mapping[str, Any], zygote: Zygote, parent: socket.socket, stages: int) -> None:
        self._job = job
        self._zygote = zygote
        self._parent = parent
        self._cpu_seconds = int(job["timeout_s"] * (stages + 1)) + 2
        self._candidate: Candidate | None = None
        self._unloadable: CandidateFailed | None = None
        self.note = ""

    def restart_clock(self) -> None:
        """A new stage begins."""
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
        candidate = Candidate(self._zygote, (job["memory_mb"] << 20, self._cpu_seconds), self._parent)
        candidate.limit(job["timeout_s"])
        try:
            candidate.load(job["code"], job["function"], job["imports"])
        except CandidateFailed as exc:
            self._unloadable = exc
            candidate.end()
            raise
        except BaseException:
            candidate.end()
            raise
        self.note = candidate.note
        return candidate

    def call(self, args: Any, kwargs: Any) -> Reply:
        """Call the function with encoded arguments. Raises CandidateFailed, and forgets a process that died."""
        candidate = self.ready()
        try:
            return candidate.call(args, kwargs)
        except CandidateFailed:
            self.drop()
            raise

    def drop(self) -> None:
        """End the process; the next call starts another."""
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            candidate.end()
