"""What test code says of itself: whether time matters to it, whether it changes what later tests would see."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_TIMED = frozenset(
    {
        *("time", "datetime", "sleep", "monotonic", "perf_counter", "process_time", "timeit", "sched", "signal"),
        *("asyncio", "concurrent", "threading", "multiprocessing", "select", "Thread", "ThreadPoolExecutor"),
    }
)
_CHANGES = frozenset(
    {
        *("setattr", "delattr", "patch", "setrecursionlimit", "setswitchinterval", "setcontext", "setlocale"),
        *("chdir", "putenv", "simplefilter", "filterwarnings", "register"),
    }
)
"""Calls that change the process they are made in."""
_NAMING = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


class Traits(NamedTuple):
    """Of one piece of code: ``timed``, when it matters how long calls take or in which thread they are made;
    ``meddles``, when it changes modules or the interpreter; the names it ``binds``; its compiler ``flags``."""

    timed: bool = False
    meddles: bool = False
    binds: frozenset[str] = frozenset()
    flags: int = 0


def traits(body: Iterable[ast.stmt]) -> Traits:
    """Read from the syntax alone, so that no answer can change it."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    imported = {name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for name in _imported(node)}
    return Traits(
        timed=not _TIMED.isdisjoint(name for node in nodes for name in _mentioned(node)),
        meddles=any(_changes(node, imported) for node in nodes),
        binds=frozenset(imported | {name for node in nodes for name in _bound(node)}),
        flags=_flags(nodes),
    )


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        yield (alias.asname or alias.name).partition(".")[0]


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from (node.module or "").split(".")
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (part for alias in node.names for part in alias.name.split("."))


def _changes(node: ast.AST, imported: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return any(name in _CHANGES for name in _mentioned(node.func))
    stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return stored and _root(node) in imported


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes, items and calls begins with."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return ""
    return node.id


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, _NAMING) and node.name:
        yield node.name


def _flags(nodes: Iterable[ast.AST]) -> int:
    """Those of the code's ``from __future__`` imports, which statements compiled one by one would not know of."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    names = {alias.name for node in imports for alias in node.names}
    return sum({getattr(__future__, name).compiler_flag for name in names & {*__future__.all_feature_names}})
