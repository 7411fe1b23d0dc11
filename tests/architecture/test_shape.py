"""Sizes and truths the code base promises."""

from __future__ import annotations

import ast
import json
import re
import statistics
from dataclasses import fields
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from llmbench_mcp import __version__
from llmbench_mcp.config import Settings
from llmbench_mcp.domain import errors

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("llmbench_mcp", "validators", "datasets", "prompts", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
]
PRODUCT = [path for path in SOURCES if path.relative_to(ROOT).parts[0] not in ("tests", "benchmarks")]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def functions(path: Path) -> list[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.end_lineno or 0) - node.lineno + 1 for node in ast.walk(tree) if isinstance(node, kinds)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_functions_are_short() -> None:
    lengths = [length for path in PRODUCT for length in functions(path)]
    assert statistics.median(lengths) <= 10
    assert max(lengths) <= 50


def test_every_setting_is_in_the_readme() -> None:
    names = [f"LLMBENCH_{field.name.upper()}" for field in fields(Settings)]
    assert [name for name in names if f"`{name}`" not in README] == []


def test_the_changelogs_newest_version_is_this_one() -> None:
    found = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == __version__


@pytest.mark.parametrize("group", ["llmbench.validators", "llmbench.backends", "llmbench.importers"])
def test_the_built_in_plug_ins_come_through_their_own_door(group: str) -> None:
    loaded = {entry.name: entry.load() for entry in entry_points(group=group)}
    assert len(loaded) >= 2


def test_the_client_configuration_example_is_json() -> None:
    example = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
    assert example["mcpServers"]["llmbench"]["command"] == "llmbench-mcp"


def test_the_error_tree_in_the_docstring_is_complete() -> None:
    classes = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]
    drawn = errors.__doc__ or ""
    assert [name for name in classes if not re.search(rf"\b{name}\b", drawn)] == []


def test_only_two_commands_are_needed_on_a_fresh_machine() -> None:
    scripts = set(re.findall(r"scripts/\w+", README))
    assert scripts == {"scripts/demo", "scripts/test"}
