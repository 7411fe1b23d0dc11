"""Running a vendor's tool: found on PATH, without a shell, its output and its time bounded."""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from llmbench_mcp.domain.text import one_line
from llmbench_mcp.gpu.bounded import BoundedCall

OUTPUT_BYTES = 4 * 1024 * 1024
_CHUNK = 65_536
_ASIDE_S = 0.2
"""How long before the limit a tool is stopped, so that whoever waits learns it within the limit."""
_JSON_START = re.compile(r"^\s*(?=[\[{])", re.MULTILINE)
_ERROR_BYTES = 4096


class ProgramError(Exception):
    """A tool gave no usable output; the text says why."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a tool printed on stdout, and its complaint when it ended with an error status."""

    text: str
    complaint: str

    def json(self) -> Any:
        """The JSON document after any banner lines. Raises ProgramError when there is none.

        The status is not looked at: rocm-smi ends with an error when one of many figures is not supported.
        """
        start = _JSON_START.search(self.text)
        try:
            if start is not None:
                return json.JSONDecoder().raw_decode(self.text, start.end())[0]
        except (ValueError, RecursionError) as error:
            raise ProgramError(f"its output is no JSON{self.complaint}") from error
        raise ProgramError(f"it printed no JSON{self.complaint}")


class Tool:
    """One vendor's tool; every way of calling it runs at most once at a time, ``limit_s`` seconds at most."""

    def __init__(self, name: str, limit_s: float) -> None:
        self.name = name
        self._limit_s = limit_s
        self._calls: dict[tuple[str, ...], BoundedCall[Printed]] = {}

    def is_there(self) -> bool:
        """Whether PATH has it now."""
        return find_program(self.name) is not None

    async def __call__(self, *arguments: str) -> Printed:
        """What it prints. Raises ProgramError, also when it, or an earlier call still, hangs."""
        call = self._calls.setdefault(arguments, BoundedCall(partial(self._run, arguments), self._limit_s))
        try:
            return await call()
        except TimeoutError as error:
            # Killing it did not end it: it waits inside the kernel, for a driver that hangs.
            raise ProgramError(f"it did not answer within {self._limit_s:g} s and cannot be stopped") from error

    def _run(self, arguments: tuple[str, ...]) -> Printed:
        path = find_program(self.name)
        if path is None:
            raise ProgramError("it is not on PATH any more")
        limit_s = self._limit_s - min(_ASIDE_S, self._limit_s / 4)
        return run_program(path, arguments, limit_s)


def find_program(name: str) -> str | None:
    """Its absolute path, or None when PATH has none; a relative entry of PATH is not looked at."""
    found = shutil.which(name)
    return found if found and os.path.isabs(found) else None


def run_program(path: str, arguments: Sequence[str], limit_s: float) -> Printed:
    """What it prints; blocking. Killed, with what it started, after ``limit_s`` seconds.

    Raises:
        ProgramError: it cannot be started, hung, or printed more than ``OUTPUT_BYTES``.
    """
    deadline = time.monotonic() + limit_s
    try:
        process = subprocess.Popen(  # noqa: S603  # a path from PATH and fixed arguments, no shell
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ProgramError(f"it cannot be started: {error.strerror}") from error
    with process:
        try:
            output, errors = _collect(process, deadline)
        finally:
            _kill(process)
    complaint = ""
    if process.returncode:
        said = one_line(errors.decode("utf-8", "replace"), 120)
        complaint = f" (status {process.returncode}{': ' if said else ''}{said})"
    return Printed(output.decode("utf-8", "replace"), complaint)


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    assert process.stdout is not None, "piped"
    assert process.stderr is not None, "piped"
    parts: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as selector:
        for descriptor in parts:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ProgramError("it did not answer in time and was stopped")
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fd)
                parts[key.fd] += chunk
            if len(parts[process.stdout.fileno()]) > OUTPUT_BYTES:
                raise ProgramError(f"it printed more than {OUTPUT_BYTES} bytes")
            del parts[process.stderr.fileno()][_ERROR_BYTES:]
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    output, errors = parts.values()
    return bytes(output), bytes(errors)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group, before its leader is waited for: until then its number is nobody else's."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
