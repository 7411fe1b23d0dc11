"""Rules about the syntax of an answer's code: what it must hold, must not hold, or must not exceed.

Every rule takes the tree and the check's option and returns what breaks it, in words; nothing means it is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_BLOCKING = (
    *("time.sleep", "open", "input", "os.system", "os.popen", "os.wait*", "requests.*", "urllib.request.*"),
    *("subprocess.run", "subprocess.call", "subprocess.check_*", "subprocess.getoutput", "socket.create_connection"),
    *("socket.getaddrinfo", "asyncio.run", "http.client.*", "shutil.*", "select.select"),
)
_BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.Assert, ast.comprehension),
    ast.match_case,
)
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)

Option = Literal["names", "value", "none", "more"]


@dataclass(frozen=True, slots=True)
class Rule:
    """``option`` says what a check gives: ``names`` (a list), ``value`` (a number), nothing, or ``more`` names."""

    option: Option
    broken: Callable[[ast.Module, Any], list[str]]


# --- names


def _imports(tree: ast.Module) -> dict[str, str]:
    """Local names and what was imported under them, dotted."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(
                {a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names}
            )
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.update({a.asname or a.name: f"{module}.{a.name}" for a in node.names})
    return found


def _dotted(node: ast.expr, imports: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = imports.get(node.id, node.id) if isinstance(node, ast.Name) else "?"
    return ".".join([root, *reversed(parts)])


def _calls(nodes: Iterable[ast.AST], imports: dict[str, str]) -> list[tuple[str, int]]:
    return [(_dotted(node.func, imports), node.lineno) for node in nodes if isinstance(node, ast.Call)]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _forbid_calls(tree: ast.Module, names: Sequence[str]) -> list[str]:
    calls = _calls(ast.walk(tree), _imports(tree))
    return [f"line {line} calls {name}" for name, line in calls if _matches(name, names)]


def _require_calls(tree: ast.Module, names: Sequence[str]) -> list[str]:
    calls = {name for name, _ in _calls(ast.walk(tree), _imports(tree))}
    return [f"nothing calls {name}" for name in names if not any(fnmatchcase(call, name) for call in calls)]


def _modules(tree: ast.Module) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(("." * node.level + (node.module or ""), node.lineno))
    return found


def _within(name: str, names: Sequence[str]) -> bool:
    return any(name == allowed or name.startswith(allowed + ".") for allowed in names)


def _forbid_imports(tree: ast.Module, names: Sequence[str]) -> list[str]:
    return [f"line {line} imports {name}" for name, line in _modules(tree) if _within(name, names)]


def _allow_imports(tree: ast.Module, names: Sequence[str]) -> list[str]:
    return [f"line {line} imports {name}" for name, line in _modules(tree) if not _within(name, names)]


def _require_imports(tree: ast.Module, names: Sequence[str]) -> list[str]:
    have = [name for name, _ in _modules(tree)]
    return [f"{name} is not imported" for name in names if not any(_within(module, [name]) for module in have)]


def _kinds(tree: ast.Module) -> list[tuple[str, int]]:
    return [(type(node).__name__, getattr(node, "lineno", 0)) for node in ast.walk(tree)]


def _forbid_nodes(tree: ast.Module, names: Sequence[str]) -> list[str]:
    return [f"line {line} holds {name}" for name, line in _kinds(tree) if name in names]


def _require_nodes(tree: ast.Module, names: Sequence[str]) -> list[str]:
    have = {name for name, _ in _kinds(tree)}
    return [f"there is no {name}" for name in names if name not in have]


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Names as a check writes them: ``f``, ``C``, ``C.m``; coroutines with ``async`` before the name as well."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (name for part in node.body for name in _spellings(part, f"{node.name}."))
        yield from _spellings(node, "")


def _spellings(node: ast.stmt, owner: str) -> list[str]:
    if not isinstance(node, _FUNCTIONS):
        return []
    name = f"{owner}{node.name}"
    return [name, f"async {name}"] if isinstance(node, ast.AsyncFunctionDef) else [name]


def _require_definitions(tree: ast.Module, names: Sequence[str]) -> list[str]:
    have = set(_definitions(tree))
    return [f"{name} is not defined" for name in names if name not in have]


# --- measures


def functions(tree: ast.Module) -> list[Function]:
    """Every function and method, nested ones too."""
    return [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to a function itself, without the functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own(child)


def complexity(function: Function) -> int:
    """Cyclomatic complexity (McCabe 1976): one more than the number of decisions."""
    own = list(_own(function))
    branches = sum(isinstance(node, _BRANCHES) for node in own)
    conditions = sum(len(node.ifs) for node in own if isinstance(node, ast.comprehension))
    return 1 + branches + conditions + sum(len(node.values) - 1 for node in own if isinstance(node, ast.BoolOp))


def _lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _arguments(function: Function) -> int:
    args = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len([name for name in args if name not in {"self", "cls"}])


def _nesting(node: ast.AST) -> int:
    inner = [
        _nesting(child) + (isinstance(child, _BLOCKS) and not _is_elif(node, child))
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, _SCOPES)
    ]
    return max(inner, default=0)


def _is_elif(node: ast.AST, child: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]


def _most(measure: Callable[[Function], int], noun: str) -> Callable[[ast.Module, Any], list[str]]:
    def broken(tree: ast.Module, value: float) -> list[str]:
        measured = [(function.name, measure(function)) for function in functions(tree)]
        return [f"{name} has {noun} {count}, at most {value:g}" for name, count in measured if count > value]

    return broken


def _public(tree: ast.Module) -> list[Function | ast.ClassDef]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
    return [node for node in nodes if not node.name.startswith("_")]


def _share(good: int, total: int, least: float, noun: str) -> list[str]:
    share = good / total if total else 0.0
    return [] if share >= least else [f"{good} of {total} {noun}"]


def _min_docstrings(tree: ast.Module, least: float) -> list[str]:
    public = _public(tree)
    return _share(
        sum(bool(ast.get_docstring(n)) for n in public), len(public), least, "public definitions have docstrings"
    )


def _min_annotations(tree: ast.Module, least: float) -> list[str]:
    places: list[bool] = []
    for function in functions(tree):
        args = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        places += [arg.annotation is not None for arg in args if arg.arg not in {"self", "cls"}]
        places.append(function.returns is not None)
    return _share(sum(places), len(places), least, "arguments and results are annotated")


# --- habits


def _no_blocking_in_async(tree: ast.Module, more: Sequence[str]) -> list[str]:
    imports = _imports(tree)
    found = []
    for function in functions(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            calls = _calls(_own(function), imports)
            found += [f"line {line} blocks in {name}" for name, line in calls if _matches(name, (*_BLOCKING, *more))]
    return found


def _no_bare_except(tree: ast.Module, _option: None) -> list[str]:
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return [f"line {node.lineno} catches everything" for node in handlers if _catches_all(node)]


def _catches_all(node: ast.ExceptHandler) -> bool:
    """Bare, or BaseException that is not raised again."""
    broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "BaseException")
    return broad and not any(isinstance(part, ast.Raise) for part in ast.walk(node))


def _no_mutable_defaults(tree: ast.Module, _option: None) -> list[str]:
    kinds = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    found = []
    for function in functions(tree):
        defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
        found += [f"{function.name} has a mutable default" for default in defaults if isinstance(default, kinds)]
    return found


RULES: dict[str, Rule] = {
    "require_definitions": Rule("names", _require_definitions),
    "require_calls": Rule("names", _require_calls),
    "forbid_calls": Rule("names", _forbid_calls),
    "require_imports": Rule("names", _require_imports),
    "forbid_imports": Rule("names", _forbid_imports),
    "allow_imports": Rule("names", _allow_imports),
    "require_nodes": Rule("names", _require_nodes),
    "forbid_nodes": Rule("names", _forbid_nodes),
    "max_complexity": Rule("value", _most(complexity, "complexity")),
    "max_function_lines": Rule("value", _most(_lines, "lines:")),
    "max_arguments": Rule("value", _most(_arguments, "arguments:")),
    "max_nesting": Rule("value", _most(_nesting, "nesting")),
    "min_docstrings": Rule("value", _min_docstrings),
    "min_annotations": Rule("value", _min_annotations),
    "no_blocking_in_async": Rule("more", _no_blocking_in_async),
    "no_bare_except": Rule("none", _no_bare_except),
    "no_mutable_defaults": Rule("none", _no_mutable_defaults),
}
"""Every rule by its name. Names of calls may hold ``*``; shares are from 0 to 1."""
