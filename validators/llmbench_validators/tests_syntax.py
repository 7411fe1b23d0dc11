"""What a task's test code asks of the answer, read from its syntax: nothing here depends on any answer."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator

from llmbench_validators.task_code import Parsed, parsed

_CANDIDATE, _CHECK = "candidate", "check"
_FRESH_CALLS = frozenset({"range", "str", "int", "float"})
_BUILTIN_CODE = frozenset(name for name, value in vars(builtins).items() if callable(value))
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@functools.lru_cache(maxsize=1024)
def holds_arguments(code: str, function: str) -> bool:
    """Whether the tests may look at an argument after the call, since they pass more than values written in place."""
    tests = parsed(code)
    names = _names_of(tests, function)
    calls = _calls(tests, names)
    heads = {id(call.func) for call in calls}
    heads |= {id(argument) for call in _calls(tests, {_CHECK}) for argument in _arguments(call)}
    if any(isinstance(node, ast.Name) and node.id in names and id(node) not in heads for node in tests.nodes):
        return True  # handed on, to map or to check: the calls cannot be seen here
    return any(not _fresh(argument) for call in calls for argument in _arguments(call))


@functools.lru_cache(maxsize=1024)
def passes_code(code: str, setup: str, function: str) -> bool:
    """Whether the tests call the function with a function, a class or an object of a class: no plain data."""
    tests, before = parsed(code), parsed(setup)
    own = _names_of(tests, function)
    body = [*tests.tree.body, *before.tree.body]
    made = {node.name for node in body if isinstance(node, _SCOPES)} - own
    code_names = made | (_BUILTIN_CODE - {*_bound(tests), *_bound(before)})
    objects = code_names | _objects([*tests.nodes, *before.nodes])
    return any(_is_code(argument, objects) for call in _calls(tests, own) for argument in _arguments(call))


@functools.lru_cache(maxsize=1024)
def wanted_names(code: str, setup: str, function: str) -> tuple[str, ...]:
    """The names that the code uses and neither it nor ``setup`` nor Python defines: the answer has to."""
    tests = parsed(code)
    bound = {*_bound(tests), *_bound(parsed(setup)), *dir(builtins), function, _CANDIDATE, "__name__", "__file__"}
    used = {node.id for node in tests.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return tuple(sorted(used - bound))


def _names_of(tests: Parsed, function: str) -> set[str]:
    """The names the function under test goes by: its own, and what ``check`` calls it."""
    checks = [node for node in tests.tree.body if isinstance(node, ast.FunctionDef) and node.name == _CHECK]
    return {function, _CANDIDATE, *(node.args.args[0].arg for node in checks if node.args.args)}


def _calls(tests: Parsed, names: set[str]) -> list[ast.Call]:
    calls = [node for node in tests.nodes if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in names]


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _fresh(node: ast.expr) -> bool:
    """Whether nobody but the call can hold the value."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        return True
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_fresh, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None for key in node.keys) and all(map(_fresh, node.values))
    if isinstance(node, ast.UnaryOp):
        return _fresh(node.operand)
    if isinstance(node, ast.BinOp):
        return _fresh(node.left) and _fresh(node.right)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRESH_CALLS


def _is_code(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return any(_is_code(part, names) for part in node.elts)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and f"{node.func.id}()" in names
    return node.id in names if isinstance(node, ast.Name) else isinstance(node, ast.Lambda)


def _objects(nodes: list[ast.AST]) -> set[str]:
    """Variables that hold objects of the tests' own classes, and ``Class()`` for each of those classes."""
    made = {f"{node.name}()" for node in nodes if isinstance(node, ast.ClassDef) and _is_opaque(node)}
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and _is_code(node.value, made)]
    return made | {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _is_opaque(node: ast.ClassDef) -> bool:
    """Whether its objects are no plain data, as those of a class that derives from a list would be."""
    return all(isinstance(base, ast.Name) and base.id == "object" for base in node.bases)


def _bound(tests: Parsed) -> Iterator[str]:
    for node in tests.nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, _SCOPES):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
