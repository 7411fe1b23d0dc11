"""What a test file holds, known from its syntax alone, before any of it runs beside an answer."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llmbench_validators import repair

MODULE = "module"
"""The name of the one test a file without test functions is: that it runs to its end."""

_CASES = frozenset({"TestCase", "IsolatedAsyncioTestCase"})


@dataclass(frozen=True, slots=True)
class Known:
    """The names of a file's tests; ``exact`` is False when base classes from elsewhere may add some."""

    names: frozenset[str]
    exact: bool

    @property
    def any(self) -> bool:
        """Whether there are test functions at all."""
        return self.names != {MODULE} or not self.exact


@functools.lru_cache(maxsize=512)
def known(code: str) -> Known:
    """The tests in ``code``, which parses."""
    tree = repair.parsed(code) or ast.Module([], [])
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    exact = not any(_name(node) == "load_tests" for node in tree.body)
    names = {_name(node) for node in tree.body if _is_test(node)}
    for node in classes.values():
        case, sure = _kind(node, classes)
        exact = exact and sure
        if case:
            names |= {f"{node.name}.{name}" for name in _methods(node, classes)}
        elif node.name.startswith("Test"):
            names |= {f"{node.name}.{_name(part)}" for part in node.body if _is_test(part)}
    return Known(frozenset(names or {MODULE}), exact)


def imported(code: str, paths: Iterable[str]) -> list[str]:
    """Modules of the standard library the code imports, less those the project has under the same name."""
    own = {part.removesuffix(".py") for path in paths for part in path.split("/")}
    names: dict[str, None] = {}
    for node in ast.walk(repair.parsed(code) or ast.Module([], [])):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module] = None
            names.update(dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names if alias.name == "mock"))
    roots = sys.stdlib_module_names - own
    return [name for name in names if name.split(".")[0] in roots and name != "__main__"]


def _name(node: ast.AST) -> str:
    return node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ""


def _is_test(node: ast.AST) -> bool:
    return _name(node).startswith("test")


def _kind(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int = 0) -> tuple[bool, bool]:
    """Whether the class is a test case, and whether that and its tests are sure."""
    case, sure = False, True
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
        if name in _CASES:
            case = True
        elif name in classes and classes[name] is not node and depth < len(classes):
            inner = _kind(classes[name], classes, depth + 1)
            case, sure = case or inner[0], sure and inner[1]
        elif name not in {"object", "ABC", "Generic", "Exception"}:
            sure = False
    return case, sure


def _methods(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int = 0) -> set[str]:
    names = {_name(part) for part in node.body if _is_test(part)}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and classes[base.id] is not node and depth < len(classes):
            names |= _methods(classes[base.id], classes, depth + 1)
    return names
