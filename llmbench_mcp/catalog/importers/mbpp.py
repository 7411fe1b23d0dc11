"""MBPP (Austin et al. 2021, arXiv:2108.07732), whole or sanitized: write a function that passes the asserts shown."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping

from llmbench_mcp.catalog.importers.bundle import Bundle
from llmbench_mcp.catalog.importers.humaneval import prompt_of
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.rows import Row, json_rows
from llmbench_mcp.catalog.importers.wording import CODE, fenced
from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import InputError

SPLITS: Mapping[str, range] = {
    "prompt": range(1, 11),
    "test": range(11, 511),
    "validation": range(511, 601),
    "train": range(601, 975),
}
"""The paper's split, by the items' numbers."""

_DOCUMENTATION = re.compile(r"^ *(?:'''|\"\"\").*?(?:'''|\"\"\")\n", re.DOTALL | re.MULTILINE)


def read(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of ``mbpp.jsonl``."""
    yield from _read(bundle, wish, r"(^|/)mbpp\.jsonl(\.gz)?$", "mbpp.jsonl")


def read_sanitized(bundle: Bundle, wish: Wish) -> Iterator[Item]:
    """The items of the sanitized file, as a list or as lines, with descriptions or with stubs."""
    yield from _read(bundle, wish, r"(^|/)[^/]*sanitized[^/]*\.jsonl?(\.gz)?$", "sanitized-mbpp.json")


def _read(bundle: Bundle, wish: Wish, pattern: str, what: str) -> Iterator[Item]:
    unknown = [part for part in wish.parts if part not in SPLITS]
    if unknown:
        raise InputError(f"MBPP has no split '{unknown[0]}'.", f"It has: {', '.join(SPLITS)}.")
    for row in json_rows(bundle, bundle.one(pattern, what)):
        found = row.text("task_id").rpartition("/")[2]
        if not found.isdecimal():
            raise row.error("task_id must be a number.", "As in 11 or MbppEval/11.")
        if not wish.parts or any(int(found) in SPLITS[part] for part in wish.parts):
            yield _stubbed(row, found) if "entry_point" in row.values else _described(row, found)


def _described(row: Row, number: str) -> Item:
    """A row with a description, the reference code and asserts."""
    code = row.text("code")
    shown = row.texts("test_list")
    further = row.texts("challenge_test_list") if "challenge_test_list" in row.values else []
    imports = row.texts("test_imports") if "test_imports" in row.values else []
    setup = "\n".join([*imports, row.optional("test_setup_code")]).strip()
    tests = "\n".join([*shown, *further])
    name = called(row, code, tests)
    asked = row.text("text", "prompt").strip()
    return Item(
        name=number,
        title=name.replace("_", " "),
        prompt=f"{asked}\n\nThe function is called `{name}` and passes these tests:\n\n"
        f"{fenced(chr(10).join(shown))}\n\n{CODE}",
        validation=_block(name, tests, setup, code),
        where=row.where,
        answer=Answer(fenced(code)),
    )


def _stubbed(row: Row, number: str) -> Item:
    """A row in HumanEval's form: a stub with its documentation, and a ``check`` that calls the function by name."""
    stub = row.text("prompt")
    # The code is indented otherwise than the documentation above it.
    code = _DOCUMENTATION.sub("", stub) + row.text("canonical_solution")
    tests = textwrap.dedent(row.text("test").partition("\n")[2])
    name = row.text("entry_point")
    setup = "import math\n" if "math." in tests else ""
    return Item(
        name=number,
        title=name.replace("_", " "),
        prompt=prompt_of(stub),
        validation=_block(called(row, code, tests), tests, setup, code),
        where=row.where,
        answer=Answer(fenced(code)),
    )


def _block(name: str, tests: str, setup: str, code: str) -> dict[str, str]:
    block = {"type": "coding", "function_name": name, "test_code": tests, "reference_solution": code}
    return block | ({"setup_code": setup} if setup else {})


def called(row: Row, code: str, tests: str) -> str:
    """The function of the code that the tests call; only read, never run."""
    made = {node.name for node in _parsed(row, code).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    calls = (node.func for node in ast.walk(_parsed(row, tests)) if isinstance(node, ast.Call))
    found = next((call.id for call in calls if isinstance(call, ast.Name) and call.id in made), None)
    if found is None:
        raise row.error("its tests call no function of its code.", "Leave the row out.")
    return found


def _parsed(row: Row, code: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the data's own code
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise row.error("its code is no Python.", "Leave the row out.") from error


_PARTS = "prompt, test, validation, train: items 1-10, 11-510, 511-600, 601-974"
IMPORTER = Importer(
    title="MBPP",
    description="Write short Python functions from a sentence and three tests.",
    licence="CC-BY-4.0",
    read=read,
    parts=_PARTS,
)
SANITIZED = Importer(
    title="MBPP, sanitized",
    description="The part of MBPP that was checked by hand: short Python functions from a sentence and tests.",
    licence="CC-BY-4.0",
    read=read_sanitized,
    parts=_PARTS,
)
