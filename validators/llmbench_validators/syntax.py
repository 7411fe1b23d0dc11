"""Walking Python syntax trees of answers."""

from __future__ import annotations

import ast
import functools
from typing import Any

_NO_NODES = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "is_async"}
)
"""Fields that hold no nodes, or operators and contexts."""
MAX_NODES = 50_000
"""More of a tree is not looked at: no answer that anybody reads is that long."""


class Nodes(list[ast.AST]):
    """The nodes of a tree, those nearer to the root first."""

    def __init__(self, tree: ast.AST) -> None:
        super().__init__([tree])
        self._below: dict[int, list[ast.AST]] = {}
        self._kinds: dict[type, list[ast.AST]] = {}
        for node in self:
            if len(self) > MAX_NODES:
                break
            self._below[id(node)] = found = children(node)
            self += found
        for node in self:
            self._kinds.setdefault(type(node), []).append(node)

    def all(self, *kinds: type) -> list[Any]:
        """The nodes of those very classes, one class after the other."""
        return [node for kind in kinds for node in self._kinds.get(kind, ())]

    def below(self, node: ast.AST) -> list[ast.AST]:
        """See :func:`children`; looked up rather than found again."""
        found = self._below.get(id(node))
        return children(node) if found is None else found


def nodes(tree: ast.AST) -> Nodes:
    """The nodes of ``tree``."""
    return Nodes(tree)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below ``node``, without operators and contexts, which stand for no text of their own."""
    found: list[ast.AST] = []
    kind: Any = node.__class__
    for name in _fields(kind):
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    """The fields of a class of nodes that can hold nodes."""
    return () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _NO_NODES)
