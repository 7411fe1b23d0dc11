"""Work whose time depends on a task's patterns or references: done in a child process that may use only so much."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time

from llmbench_validators import show
from llmbench_validators.types import SandboxFault

CPU_SECONDS = 2
MEMORY_BYTES = 1 << 30

_PROGRAM = "import json, sys; job = json.load(sys.stdin); sys.path[:] = job['path']; from llmbench_validators import {0}; {0}.serve(job)"  # noqa: E501 - one line, so that a traceback names it


class LimitExceeded(RuntimeError):
    """Checking this value would take more time or memory than it may."""


def restrain() -> None:
    """From here on this process has ``CPU_SECONDS`` of processor time and ``MEMORY_BYTES``; then it is killed."""
    seconds = math.ceil(time.process_time()) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def in_child(module: str, job: bytes, what: str) -> bytes:
    """What ``serve(job)`` of a module of this package writes to standard output.

    Args:
        module: its name, without the package's.
        job: JSON, an object with at least ``path``, the ``sys.path`` to work with.
        what: the work, for messages: "checking the answer".

    Raises:
        LimitExceeded: it took more than it may. SandboxFault: the process itself failed.
    """
    command = [sys.executable, "-I", "-c", _PROGRAM.format(module)]
    try:
        done = subprocess.run(command, input=job, capture_output=True, check=False)  # noqa: S603  # a fixed program
    except OSError as error:
        raise SandboxFault(f"the process for {what} did not start: {error}") from error
    if done.returncode < 0 or b"MemoryError" in done.stderr:
        raise LimitExceeded(f"{what} took more than {CPU_SECONDS} s or {MEMORY_BYTES >> 20} MiB")
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise SandboxFault(f"the process for {what} failed: {show.cut(last)}")
    return done.stdout
