"""Looks at a model file before a server is started on it."""

from __future__ import annotations

import stat
from pathlib import Path

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.text import one_line

MAGIC = b"GGUF"
_NEXT = "Give the path of a .gguf model file."


def check_gguf(path: Path) -> None:
    """Raises InputError unless ``path`` is a readable regular file that begins as GGUF files do."""
    shown = one_line(str(path), 300)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a FIFO would wait for ever
            raise InputError(f"{shown} is not a regular file.", _NEXT)
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise InputError(f"{shown} cannot be read: {reason}.", _NEXT) from error
    if head != MAGIC:
        raise InputError(f"{shown} is not a GGUF model file.", _NEXT)
