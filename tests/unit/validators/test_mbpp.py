"""MBPP, whole and sanitized, where the collected data is present: the reference code passes its own tests."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from llmbench_validators import registry, weak_run
from llmbench_validators.types import Completion, Verdict

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

FOLDER = COLLECTED / "data" / "mbpp"
WHOLE, SANITIZED = FOLDER / "mbpp.jsonl", FOLDER / "mbpp_sanitized_codet.jsonl"
DOCUMENTATION = re.compile(r"^ *'''.*?'''\n", re.DOTALL | re.MULTILINE)
# Their tests use a class of the answer's, hand over a type, use a module that only the answer imports, or ask
# whether a match object is true.
WEAK = {367, 533, 596, 601, 927}
WEAK_SANITIZED = {596, 737, 787, 794}

pytestmark = [
    needs_full_isolation,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:invalid escape sequence"),  # in the collected code
]


def whole() -> Iterator[tuple[int, str, str, str]]:
    """Number, code, tests and setup of each of the 974."""
    for row in map(json.loads, WHOLE.read_text(encoding="utf-8").splitlines()):
        tests = "\n".join([*row["test_list"], *row["challenge_test_list"]])
        code, setup = (row[key].replace("\r\n", "\n") for key in ("code", "test_setup_code"))
        yield row["task_id"], code, tests, setup


def sanitized() -> Iterator[tuple[int, str, str, str]]:
    """The 427, whose code is indented otherwise than the documentation above it, and whose file has lost an import."""
    for row in map(json.loads, SANITIZED.read_text(encoding="utf-8").splitlines()):
        code = DOCUMENTATION.sub("", row["prompt"]) + row["canonical_solution"]
        tests = textwrap.dedent(row["test"].partition("\n")[2])
        yield int(row["task_id"].split("/")[1]), code, tests, "import math\n" if "math." in tests else ""


def called(code: str, tests: str) -> str:
    """The function of the code that the tests call."""
    made = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    calls = [node.func for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Call)]
    return next(call.id for call in calls if isinstance(call, ast.Name) and call.id in made)


def graded(code: str, tests: str, setup: str) -> Verdict:
    block: dict[str, Any] = {"type": "coding", "function_name": called(code, tests), "test_code": tests}
    block |= {"setup_code": setup, "reference_solution": code}
    return registry.grade(block, Completion(f"```python\n{code}\n```"))


@pytest.mark.parametrize(
    ("name", "count", "weak"), [("whole", 974, WEAK), ("sanitized", 427, WEAK_SANITIZED)], ids=["whole", "sanitized"]
)
def test_the_reference_code_passes_its_own_tests(name: str, count: int, weak: set[int]) -> None:
    if not FOLDER.is_dir():
        pytest.skip(NOTICE)
    items = list(whole() if name == "whole" else sanitized())
    verdicts = {number: graded(code, tests, setup) for number, code, tests, setup in items}

    assert len(verdicts) == count
    assert {number: verdict.findings for number, verdict in verdicts.items() if not verdict.passed} == {}
    assert {number for number, verdict in verdicts.items() if weak_run.TRUST in verdict.findings} == weak
