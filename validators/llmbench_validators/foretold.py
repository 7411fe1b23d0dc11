"""The calls that plain test code will make, read from its syntax before it ever ran."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from llmbench_validators import wire

_CHECK = "check"
_MAX_CALLS = 1_000
_CONDITIONAL = (
    *(ast.IfExp, ast.BoolOp, ast.Lambda, ast.NamedExpr, ast.Await),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""Expressions whose parts need not be evaluated once each, in the order in which they are written."""


class _Unclear(Exception):
    """The calls cannot be told."""


def calls(body: Sequence[ast.stmt], function: str) -> list[tuple[Any, Any]]:
    """Arguments and keyword arguments, encoded, of every call of ``function``; empty when they cannot be told.

    They can where the tests are asserts in a row, at the top or in ``check``, that call it with literals. A guess all
    the same: whoever uses it has to look whether those are the calls that are made.
    """
    try:
        return _found(body, function)
    except (_Unclear, wire.NotPlain, wire.TooLarge, RecursionError):
        return []


def _found(body: Sequence[ast.stmt], function: str) -> list[tuple[Any, Any]]:
    names = {function, "candidate"}
    found: list[tuple[Any, Any]] = []
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == _CHECK and node.args.args:
            own = names | {node.args.args[0].arg}
            for statement in node.body:
                found += _of_statement(statement, own)
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom) and not _is_check(node):
            found += _of_statement(node, names)
        if len(found) > _MAX_CALLS:
            raise _Unclear
    return found


def _is_check(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _CHECK


def _of_statement(node: ast.stmt, names: set[str]) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, ast.Assert):
        yield from _of_expression(node.test, names)
    elif any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node)):
        raise _Unclear


def _of_expression(node: ast.AST, names: set[str]) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, ast.Name) and node.id in names:
        raise _Unclear  # handed on to somebody who will call it
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        yield _arguments(node)
        return
    if isinstance(node, _CONDITIONAL) and any(isinstance(part, ast.Name) for part in ast.walk(node)):
        raise _Unclear
    for child in ast.iter_child_nodes(node):
        yield from _of_expression(child, names)


def _arguments(call: ast.Call) -> tuple[Any, Any]:
    try:
        given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        return wire.encode([ast.literal_eval(node) for node in call.args]), wire.encode(given)
    except (ValueError, TypeError, SyntaxError, MemoryError) as exc:
        raise _Unclear from exc
