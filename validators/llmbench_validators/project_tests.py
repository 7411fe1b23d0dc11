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
_PLAIN = frozenset({"object", "ABC", "Generic", "Exception", "Protocol", "Enum"})


@dataclass(frozen=True, slots=True)
class Known:
    """The names of a file's tests; ``exact`` is False when base classes from elsewhere may add some."""

    names: frozenset[str]
    exact: bool

    @property
    def any(self) -> bool:
        """Whether there are test functions at all."""
        return self.names != {MODULE} or not self.exact


@functools.lru_cache(maxsize=64)
def known(code: str) -> Known:
    """The tests in ``code``, which parses."""
    tree = repair.parsed(code) or ast.Module([], [])
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    exact = not any(_name(node) == "load_tests" for node in tree.body)
    names = {_name(node) for node in tree.body if _is_test(node)}
    for node in classes.values():
        family, foreign = _family(node, classes)
        exact = exact and foreign <= _CASES | _PLAIN
        if foreign & _CASES:
            names |= {f"{node.name}.{_name(part)}" for cls in family for part in cls.body if _is_test(part)}
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


def _family(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> tuple[list[ast.ClassDef], set[str]]:
    """The class and its ancestors in this file, and the names of those from elsewhere."""
    family: dict[str, ast.ClassDef] = {}
    foreign: set[str] = set()
    waiting = [node]
    while waiting:
        cls = waiting.pop()
        if cls.name in family:
            continue
        family[cls.name] = cls
        for base in cls.bases:
            name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
            if isinstance(base, ast.Name) and name in classes:
                waiting.append(classes[name])
            else:
                foreign.add(name)
    return list(family.values()), foreign
