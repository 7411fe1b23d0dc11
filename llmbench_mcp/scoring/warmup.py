"""Starting what grading will need while the rest of the program is still being loaded."""

from __future__ import annotations

import gc
import os
import stat
import sys
from collections.abc import Sequence

_YOUNG_OBJECTS = 50_000
_LOOKED_AT = 1 << 16
_SIGNS = (b'"coding', b'"exam"', b'"task"')
"""One of these is in every line whose grading can run code."""


def settle() -> None:
    """For a process that is about to grade much: spare it looking for cycles in what stays, and in every syntax tree.

    Saves a twentieth of all processor time; a tree is freed without it.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


def start_early(words: Sequence[str]) -> None:
    """Start the sandbox when the command line ``words`` is a ``score`` of lines that need it, as far as can be seen.

    Only a guess: without it the sandbox starts when the first answer asks for it.
    """
    if "score" not in words[:3] or not any(_may_run_code(word) for word in words):
        return
    from llmbench_validators import sandbox

    sandbox.prepare()


def _may_run_code(word: str) -> bool:
    if word.startswith("-") and word != "-":
        return False
    try:
        descriptor = os.dup(sys.stdin.fileno()) if word == "-" else os.open(word, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError, AttributeError):
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return word == "-" and not os.isatty(descriptor)  # a pipe cannot be looked into
        return any(sign in os.pread(descriptor, _LOOKED_AT, 0) for sign in _SIGNS)
    except OSError:  # whoever reads it whole will say so
        return False
    finally:
        os.close(descriptor)
