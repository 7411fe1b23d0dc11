"""A task's own code as syntax, parsed and walked once for all that ask about it."""

from __future__ import annotations

import ast
import functools

from llmbench_validators import repair, syntax

_KEPT, _MAX_KEPT = 16, 1 << 16
"""So many trees, each of code of at most so many characters: a tree takes a hundred times the memory of its text."""


class Parsed:
    """The syntax of some code: ``tree``, empty for text that is no Python, and what the parser said to that."""

    def __init__(self, code: str) -> None:
        tree = repair.parsed(code)
        self.tree = ast.Module([], []) if tree is None else tree
        self.fault = "" if tree is not None else repair.why_not(code) or "cannot be parsed"

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """Those nearer to the root first, without operators and contexts."""
        nodes: list[ast.AST] = [self.tree]
        for node in nodes:
            nodes += syntax.children(node)
        return nodes


def parsed(code: str) -> Parsed:
    """The syntax of ``code``, which nobody may change."""
    return _kept(code) if len(code) <= _MAX_KEPT else Parsed(code)


_kept = functools.lru_cache(maxsize=_KEPT)(Parsed)
