"""Walking Python syntax trees of answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAX_NODES = 50_000
"""More of a tree is not looked at: no answer that anybody reads is that long."""


def nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of ``tree``, those nearer to the root first."""
    found = [tree]
    for node in found:
        if len(found) > MAX_NODES:
            break
        found += children(node)
    return found


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes right below ``node`` (several times quicker than ``ast.iter_child_nodes``)."""
    for value in node.__dict__.values():
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))
