"""Small faults put into a program, to see whether its own tests notice: the same ones every time.

The operators are the common ones of mutation testing (Offutt et al. 1996, "sufficient" set, less the costly
ones): relations, arithmetic, logic, constants, and results or calls left out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llmbench_validators import repair

_RELATIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
_UNTESTED = frozenset({"__repr__", "__str__", "main"})
_CHATTER = frozenset({"print", "debug", "info", "warning", "error", "log", "exception"})
_MAX_CODE = 100_000
_NEUTRAL = "_unused_marker_ = None"


@dataclass(frozen=True, slots=True)
class Mutant:
    """The changed program, and where and what the change is."""

    line: int
    change: str
    code: str


def neutral(code: str) -> str | None:
    """The program in another spelling that behaves alike, None when it does not parse.

    Tests that pass on the original and not on this look at its text instead of its behaviour.
    """
    tree = repair.parsed(code)
    try:
        return None if tree is None else f"{ast.unparse(tree)}\n{_NEUTRAL}\n"
    except RecursionError:
        return None


def mutants(code: str, count: int) -> list[Mutant]:
    """Up to ``count`` mutants of ``code``, spread evenly over all places a fault can be put."""
    tree = repair.parsed(code) if len(code) <= _MAX_CODE else None
    places = _places(tree) if tree is not None else []
    chosen = places if len(places) <= count else [places[i * len(places) // count] for i in range(count)]
    made = [_mutant(code, index) for index in chosen]
    return [mutant for mutant in made if mutant is not None]


def _places(tree: ast.Module) -> list[int]:
    """Numbers (in the order of ast.walk) of the nodes that can be changed, by line."""
    skipped = {id(part) for node in _untouched(tree) for part in ast.walk(node)}
    nodes = list(enumerate(ast.walk(tree)))
    found = [
        (getattr(n, "lineno", 0), getattr(n, "col_offset", 0), i) for i, n in nodes if _fits(n) and id(n) not in skipped
    ]
    return [index for _, _, index in sorted(found)]


def _untouched(tree: ast.Module) -> Iterator[ast.AST]:
    """Parts no test can be asked to notice: annotations, output, the script's own start, display methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.Raise) and node.exc is not None:
            yield node.exc
        if _is_display(node):
            yield node


def _is_display(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in _UNTESTED
    if isinstance(node, ast.If):
        return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _called(node.value) in _CHATTER


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _fits(node: ast.AST) -> bool:
    kind = _KINDS.get(type(node))
    return kind is not None and kind[0](node)


def _mutant(code: str, index: int) -> Mutant | None:
    tree = repair.parsed(code)
    if tree is None:
        return None
    node = list(ast.walk(tree))[index]
    before = ast.unparse(node)
    line = getattr(node, "lineno", 0)
    _KINDS[type(node)][1](node)
    ast.fix_missing_locations(tree)
    return Mutant(line, f"{before} -> {ast.unparse(node)}", ast.unparse(tree) + "\n")


# --- the changes


def _swap_relation(node: ast.Compare) -> None:
    node.ops[0] = _RELATIONS[type(node.ops[0])]()


def _swap_arithmetic(node: ast.BinOp | ast.AugAssign) -> None:
    node.op = _ARITHMETIC[type(node.op)]()


def _swap_logic(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _double_negation(node: ast.UnaryOp) -> None:
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def _other_constant(node: ast.Constant) -> None:
    node.value = (not node.value) if isinstance(node.value, bool) else int(str(node.value)) + 1


def _no_result(node: ast.Return) -> None:
    node.value = ast.Constant(None)


def _no_call(node: ast.Expr) -> None:
    node.value = ast.Constant(None)


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, bool) or (isinstance(node.value, int) and abs(node.value) < 1 << 64)


def _does_something(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Call | ast.Await)


def _has_result(node: ast.Return) -> bool:
    return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)


_Fits = Callable[..., bool]
_Change = Callable[..., None]
_KINDS: dict[type[ast.AST], tuple[_Fits, _Change]] = {
    ast.Compare: (lambda node: type(node.ops[0]) in _RELATIONS, _swap_relation),
    ast.BinOp: (lambda node: type(node.op) in _ARITHMETIC, _swap_arithmetic),
    ast.AugAssign: (lambda node: type(node.op) in _ARITHMETIC, _swap_arithmetic),
    ast.BoolOp: (lambda _node: True, _swap_logic),
    ast.UnaryOp: (lambda node: isinstance(node.op, ast.Not), _double_negation),
    ast.Constant: (_is_number, _other_constant),
    ast.Return: (_has_result, _no_result),
    ast.Expr: (_does_something, _no_call),
}
