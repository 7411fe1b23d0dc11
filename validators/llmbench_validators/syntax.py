"""Walking Python syntax trees of answers."""

from __future__ import annotations

import ast

_MARKS = frozenset({"ctx", "op", "ops"})
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


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below ``node``, without operators and contexts, which stand for no text of their own."""
    found: list[ast.AST] = []
    for name in node._fields:
        if name in _MARKS:
            continue
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found
