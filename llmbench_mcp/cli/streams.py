"""The standard streams of one call: their failures are told apart from all others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast


class OutputFailed(Exception):
    """Standard output or standard error cannot be written; the text says why. Not an OSError: click eats those."""


class ReaderLeft(OutputFailed):
    """Whoever read the output has closed it."""


class _Guard:
    """A text stream whose failures are OutputFailed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderLeft(str(error)) from error
    except OSError as error:
        raise OutputFailed(error.strerror or type(error).__name__) from error


@contextmanager
def guarded() -> Iterator[None]:
    """While the block lasts, failing to write is OutputFailed.

    Raises:
        OutputFailed: standard output was closed by whoever started the program.
    """
    out, err = sys.stdout, sys.stderr
    if out is None:
        raise OutputFailed("standard output is closed")
    _forgive_encodings(out, err)
    sys.stdout, sys.stderr = cast("TextIO", _Guard(out)), cast("TextIO", _Guard(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def _forgive_encodings(*streams: TextIO) -> None:
    """On a terminal without Unicode, signs it lacks are escaped instead of ending the command."""
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def replace_missing_stderr() -> None:
    """A program started without standard error says its remarks to nobody."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives


def forget_unwritten() -> None:
    """Have the interpreter, which flushes at its exit, flush into nothing what could not be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            _redirect_to_nothing(stream)


def _redirect_to_nothing(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
