"""How well written code is, read from its syntax tree: 0 to 1, the same on every machine.

Quality is the weighted mean of five parts, each from 0 to 1. Each is the mean over the code's functions, or one
minus a share of findings, so that length alone neither helps nor harms:

structure: branches count one and one more for each level they are nested in, over 15 the more the worse; functions
of more than 60 lines lose too. naming: the share of names bound that are words in the style of PEP 8, where loops,
comprehensions and short functions may use single letters. repetition: the share of statements that do not occur a
second time in other words. readability: the share of lines that fit 100 columns and hold one statement, less a tenth
for each bare ``except``, comparison with a singleton by ``==``, wildcard import and mutable default. documentation:
a docstring, annotations, comments; code of a few lines explains itself in part.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llmbench_validators import syntax

WEIGHTS: Mapping[str, float] = {
    "structure": 0.30,
    "naming": 0.20,
    "repetition": 0.15,
    "readability": 0.20,
    "documentation": 0.15,
}
"""Part of the coding validator's version: they change with it only."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Nodes are told apart by their very class: what the parser makes has no subclasses, and a union is slow to ask.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = frozenset((ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.IfExp, ast.Match))
_WITH_OPERATOR = frozenset((ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.AugAssign))
_DEFINITIONS = frozenset((*_FUNCTIONS, ast.ClassDef))
_FREE_COMPLEXITY, _WORST_COMPLEXITY = 15, 45
_FREE_LINES, _WORST_LINES = 60, 180
_SHORT, _SELF_EXPLAINING = 8, 4
_MAX_COLUMNS = 100
_REPEATED_NODES = 12
_SNAKE, _CAMEL, _CONSTANT = (
    re.compile(r"_*[a-z][a-z0-9_]*"),
    re.compile(r"_*[A-Z][A-Za-z0-9]*"),
    re.compile(r"[A-Z0-9_]+"),
)


def measure(code: str, nodes: syntax.Nodes) -> dict[str, float]:
    """Every part of WEIGHTS and ``quality``, the whole; ``nodes`` are those of ``code`` (see syntax)."""
    functions = nodes.all(*_FUNCTIONS)
    lines = code.split("\n")
    parts = {
        "structure": _structure(functions, nodes),
        "naming": _naming(nodes, functions),
        "repetition": _repetition(nodes),
        "readability": _readability(lines, nodes),
        "documentation": _documentation(lines, functions),
    }
    whole = sum(parts[name] * weight for name, weight in WEIGHTS.items())
    return {"quality": round(whole, 6)} | {name: round(value, 6) for name, value in parts.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0


def _falling(value: float, free: float, worst: float) -> float:
    """1 up to ``free``, 0 from ``worst`` on, a straight line between."""
    return min(1.0, max(0.0, (worst - value) / (worst - free)))


# --- structure


def _structure(functions: Sequence[_Function], nodes: syntax.Nodes) -> float:
    return _mean([_shape(function, nodes) for function in functions])


def _shape(function: _Function, nodes: syntax.Nodes) -> float:
    simple = _falling(_complexity(function, nodes), _FREE_COMPLEXITY, _WORST_COMPLEXITY)
    return 0.7 * simple + 0.3 * _falling(_length(function), _FREE_LINES, _WORST_LINES)


def _length(function: _Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _complexity(function: _Function, nodes: syntax.Nodes) -> int:
    """Each branch, and one more for every branch around it; an ``elif`` is not deeper than its ``if``."""
    total = 0
    open_nodes: list[tuple[ast.AST, int]] = [(node, 0) for node in function.body]
    for node, depth in open_nodes:
        kind = type(node)
        if kind in _FUNCTIONS or len(open_nodes) > syntax.MAX_NODES:
            continue  # a function of its own
        branch = kind in _BRANCHES
        total += 1 + depth if branch else kind is ast.BoolOp
        chained = node.orelse if isinstance(node, ast.If) and _is_elif(node) else ()
        below = nodes.below(node)
        if below:
            open_nodes += [(child, depth if child in chained else depth + branch) for child in below]
    return total


def _is_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


# --- naming


def _naming(nodes: syntax.Nodes, functions: Sequence[_Function]) -> float:
    lenient = _counters(nodes)
    for function in functions:
        if _length(function) <= _SHORT:
            lenient |= {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    good = {(name, kind): _well_named(name, kind, lenient) for name, kind in _names(nodes)}
    return _mean([float(value) for value in good.values()])


def _names(nodes: syntax.Nodes) -> Iterator[tuple[str, str]]:
    yield from ((node.name, "class") for node in nodes.all(ast.ClassDef))
    yield from ((node.name, "function") for node in nodes.all(*_FUNCTIONS))
    yield from ((node.arg, "variable") for node in nodes.all(ast.arg))
    yield from ((node.id, "variable") for node in nodes.all(ast.Name) if type(node.ctx) is ast.Store)


def _counters(nodes: syntax.Nodes) -> set[str]:
    """Names bound by loops and comprehensions."""
    targets = [node.target for node in nodes.all(ast.For, ast.comprehension)]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _well_named(name: str, kind: str, lenient: set[str]) -> bool:
    if kind == "class":
        return _CAMEL.fullmatch(name) is not None
    if len(name.strip("_")) == 1 and kind == "variable":
        return name in lenient
    constant = kind == "variable" and _CONSTANT.fullmatch(name) is not None
    return name == "_" or constant or _SNAKE.fullmatch(name) is not None


# --- repetition


def _repetition(nodes: syntax.Nodes) -> float:
    shapes: dict[int, tuple[int, int]] = {}
    numbers: dict[object, int] = {}
    counted = Counter[int]()
    statements = 0
    for node in reversed(nodes):  # children first
        kind, below, size = type(node), nodes.below(node), 1
        form: object = kind
        if below:
            found = [shapes.get(id(child), (0, 1)) for child in below]
            form = (kind, _operators(node), *[number for number, _ in found])
            size += sum([size for _, size in found])
        shapes[id(node)] = number, _ = numbers.setdefault(form, len(numbers) + 1), size
        if isinstance(node, ast.stmt) and kind not in _DEFINITIONS:
            statements += 1
            if size >= _REPEATED_NODES:
                counted[number] += 1
    repeated = sum(times - 1 for times in counted.values())
    return max(0.0, 1.0 - 2 * repeated / statements) if statements else 1.0


def _operators(node: Any) -> tuple[type, ...]:
    """What tells ``a + b`` from ``a - b``; names and literals are meant to be left out."""
    if type(node) is ast.Compare:
        return tuple(map(type, node.ops))
    return (type(node.op),) if type(node) in _WITH_OPERATOR else ()


# --- readability


def _readability(lines: Sequence[str], nodes: syntax.Nodes) -> float:
    filled = [line for line in lines if line.strip()]
    long = sum(len(line) > _MAX_COLUMNS for line in filled)
    starts = Counter(node.lineno for node in nodes if isinstance(node, ast.stmt) and not _opens_block(node))
    crowded = sum(times - 1 for times in starts.values())
    faults = sum(map(_is_fault, nodes.all(ast.ExceptHandler, ast.ImportFrom, ast.arguments, ast.Compare)))
    return max(0.0, 1.0 - (long + crowded) / max(1, len(filled)) - 0.1 * faults)


def _opens_block(node: ast.stmt) -> bool:
    return "body" in node._fields


def _is_fault(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return node.type is None
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name == "*"
    if isinstance(node, ast.arguments):
        return any(isinstance(value, (ast.List, ast.Dict, ast.Set)) for value in node.defaults)
    return isinstance(node, ast.Compare) and any(
        isinstance(operator, (ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant) and _is_singleton(right.value)
        for operator, right in zip(node.ops, node.comparators, strict=True)
    )


def _is_singleton(value: object) -> bool:
    return value is None or value is True or value is False


# --- documentation


def _documentation(lines: Sequence[str], functions: Sequence[_Function]) -> float:
    if not functions:
        return 0.5
    remarks = 0.3 if any("#" in line for line in lines) else 0.0
    return _mean([min(1.0, _explained(function) + remarks) for function in functions if not _is_helper(function)])


def _is_helper(function: _Function) -> bool:
    """Private and short: its name says enough."""
    return function.name.startswith("_") and _length(function) <= _SHORT


def _explained(function: _Function) -> float:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    arguments = [argument for argument in arguments if argument.arg not in ("self", "cls")]
    annotated = function.returns is not None and all(argument.annotation for argument in arguments)
    described = ast.get_docstring(function, clean=False) is not None
    return 0.7 * described + 0.3 * annotated + 0.5 * (_length(function) <= _SELF_EXPLAINING)
