"""Syntax trees, one at a time.

Before 3.11.8 and 3.12.2, CPython counts the depth of every tree under construction in one place
(https://github.com/python/cpython/issues/106905): when the garbage collector lets another thread in between, both
end in SystemError, or a tree counts as deeper than it is. So no two threads of ours build one at the same time, and
where a thread of somebody else came in between, the tree is built again.
"""

from __future__ import annotations

import ast
import os
import threading

_TRIES = 20
_lock = threading.RLock()


def tree(code: str, name: str) -> ast.Module:
    """The tree of ``code``, as from a file ``name``. Raises as ``ast.parse``."""
    with _lock:
        for _ in range(_TRIES):
            try:
                return ast.parse(code, name)
            except SystemError:
                continue
        return ast.parse(code, name)


def _renew() -> None:
    """In a forked child the thread that holds the lock may not exist."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
