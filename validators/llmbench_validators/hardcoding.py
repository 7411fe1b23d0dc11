"""Does the code compute, or does it list the answers of the visible tests?

Evidence is read from the syntax tree: literal tables and comparisons that map a test's very input to its very
expected value. Inputs too plain to prove anything (0, 1, empty, …) are left out: base cases look like that.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from llmbench_validators import syntax, task_code

Example = tuple[tuple[Any, ...], Any]
"""The arguments of a visible test and its expected value."""

SEVERE, SUSPECT = 0.8, 0.5
_FACTORS = ((SEVERE, 0.2), (SUSPECT, 0.6))
_MIN_EXAMPLES = 2


def factor(degree: float) -> float:
    """What is left of the correctness of code hardcoded to that ``degree``."""
    return next((left for bound, left in _FACTORS if degree >= bound), 1.0)


def degree(
    nodes: syntax.Nodes | None, examples: Sequence[Example], base_rate: float, random_rate: float | None
) -> float:
    """0 (computes) to 1 (lists): how much of the tests stands in the code, weighed by how it does beyond them.

    With random tests, a table counts by the gap between the pass rates (doubled, at most 1), and a gap without
    a table by half of itself: it is a sign, not a proof.
    """
    listed = _listed(nodes, examples) if nodes else 0.0
    if random_rate is None:
        return listed
    gap = max(0.0, base_rate - random_rate)
    return max(listed * min(1.0, 2 * gap), 0.5 * gap)


@functools.lru_cache(maxsize=1024)
def examples_in(test_code: str, function: str) -> tuple[Example, ...]:
    """The examples written as ``f(literal) == literal`` in a benchmark's own tests."""
    found: list[Example] = []
    for node in task_code.parsed(test_code).nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            call = node.left
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords:
                literals = _literals([*call.args, node.comparators[0]])
                if literals and call.func.id in {function, "candidate"}:
                    found.append((literals[:-1], literals[-1]))
    return tuple(found)


def _listed(nodes: syntax.Nodes, examples: Sequence[Example]) -> float:
    """The share of the telling examples that the code lists, times the share of its list that is examples."""
    pairs = set(_pairs(nodes))
    if not pairs:
        return 0.0
    telling = {_key(args): _frozen(value) for args, value in examples if _telling(args)}
    if len(telling) < _MIN_EXAMPLES:
        return 0.0
    hits = {key for key, value in telling.items() if (key, value) in pairs}
    return len(hits) / len(telling) * min(1.0, len(hits) / len({key for key, _ in pairs}) * 1.25)


def _telling(args: tuple[Any, ...]) -> bool:
    return any(not (isinstance(arg, bool) or arg is None or arg in (0, 1, 2, -1, "", [], {}, ())) for arg in args)


def _pairs(nodes: syntax.Nodes) -> Iterator[tuple[Any, Any]]:
    """Every literal input that the code maps to a literal output."""
    for node in nodes.all(ast.Dict):
        yield from _table(node)
    for node in nodes.all(ast.If):
        yield from _branch(node.test, node.body)
    for node in nodes.all(ast.IfExp):
        yield from _mapped(node.test, node.body)
    for node in nodes.all(ast.match_case):
        if isinstance(node.pattern, ast.MatchValue):
            yield from _outcome([node.pattern.value], node.body)


def _table(node: ast.Dict) -> Iterator[tuple[Any, Any]]:
    for key, value in zip(node.keys, node.values, strict=True):
        literals = _literals([key, value]) if key is not None else None
        if literals:
            yield _frozen(literals[0]), _frozen(literals[1])


def _branch(test: ast.expr, body: list[ast.stmt]) -> Iterator[tuple[Any, Any]]:
    compared = _compared(test)
    if compared:
        yield from _outcome(compared, body)


def _mapped(test: ast.expr, value: ast.expr) -> Iterator[tuple[Any, Any]]:
    compared = _compared(test)
    literals = _literals([*compared, value]) if compared else None
    if literals:
        yield _key(literals[:-1]), _frozen(literals[-1])


def _outcome(compared: list[ast.expr], body: list[ast.stmt]) -> Iterator[tuple[Any, Any]]:
    first = body[0]
    value = first.value if isinstance(first, ast.Return | ast.Assign) else None
    literals = _literals([*compared, value]) if value is not None else None
    if literals:
        yield _key(literals[:-1]), _frozen(literals[-1])


def _compared(test: ast.expr) -> list[ast.expr]:
    """The literals of ``a == 1`` or ``a == 1 and b == 2``, in order; empty for any other test."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found: list[ast.expr] = []
    for part in parts:
        if not (isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq)):
            return []
        sides = [side for side in (part.left, part.comparators[0]) if _literals([side])]
        if len(sides) != 1:
            return []
        found.append(sides[0])
    return found


def _literals(nodes: Iterable[ast.expr]) -> tuple[Any, ...] | None:
    try:
        return tuple(ast.literal_eval(node) for node in nodes)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _key(args: tuple[Any, ...]) -> Any:
    """One argument stands for itself, several for a tuple: so tables and comparisons agree."""
    return _frozen(args[0]) if len(args) == 1 else _frozen(args)


def _frozen(value: Any) -> Any:
    """Comparable and hashable: lists as tuples, and a boolean unlike the number it equals."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((_frozen(key), _frozen(item)) for key, item in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(map(_frozen, value))
    return (value,) if isinstance(value, bool) else value
