from __future__ import annotations

import ast
from typing import Any

import pytest
from llmbench_validators.exam_mutants import mutants, neutral
from llmbench_validators.exam_rules import RULES


def broken(rule: str, code: str, option: Any = None) -> list[str]:
    return RULES[rule].broken(ast.parse(code), option)


@pytest.mark.parametrize(
    ("rule", "option", "kept", "breaking"),
    [
        ("require_definitions", ["C.m", "async f"], "class C:\n def m(self): 0\nasync def f(): 0", "def f(): 0"),
        ("require_calls", ["asyncio.gather"], "from asyncio import gather as g\ng()", "import asyncio\nasyncio.run()"),
        ("require_calls", ["*.acquire"], "def f(s): s.lock.acquire()", "def f(s): s.lock"),
        ("forbid_calls", ["eval", "os.*"], "import os\nos.sep", "import os as o\no.listdir()"),
        ("require_imports", ["collections"], "from collections.abc import Sized", "import collection"),
        ("forbid_imports", ["threading"], "import thread", "from threading import Lock"),
        ("allow_imports", ["asyncio", "typing"], "import asyncio.queues, typing", "import re"),
        ("require_nodes", ["AsyncWith"], "async def f():\n async with x: 0", "with x: 0"),
        ("forbid_nodes", ["Global", "While"], "for x in y: 0", "while x: 0"),
        ("max_complexity", 3, "def f(x):\n if x and x: 0", "def f(x):\n if x and x or y: 0"),
        ("max_function_lines", 2, "def f():\n 0", "def f():\n 0\n 0"),
        ("max_arguments", 2, "class C:\n def m(self, a, b): 0", "def f(a, b, *, c): 0"),
        ("max_nesting", 1, "def f():\n if x: 0\n elif y: 0", "def f():\n if x:\n  for y in z: 0"),
        ("min_docstrings", 0.5, "def f():\n 'x'\ndef g(): 0", "def f(): 0"),
        ("min_annotations", 0.5, "def f(a: int, b): 0\ndef g() -> int: 0", "def f(a): 0"),
        ("no_blocking_in_async", (), "async def f():\n def g(): time.sleep(1)\n await x", "async def f(): open('x')"),
        ("no_blocking_in_async", ("db.*",), "def f(): db.get()", "async def f(): db.get()"),
        ("no_bare_except", None, "try: 0\nexcept ValueError: 0", "try: 0\nexcept: 0"),
        ("no_bare_except", None, "try: 0\nexcept BaseException:\n raise", "try: 0\nexcept BaseException: 0"),
        ("no_mutable_defaults", None, "def f(a=()): 0", "def f(*, a=[]): 0"),
    ],
)
def test_a_rule_tells_code_that_keeps_it_from_code_that_breaks_it(
    rule: str, option: Any, kept: str, breaking: str
) -> None:
    assert broken(rule, kept, option) == []
    assert broken(rule, breaking, option)


def test_every_rule_is_tried_above() -> None:
    tried = test_a_rule_tells_code_that_keeps_it_from_code_that_breaks_it.pytestmark[0].args[1]

    assert {case[0] for case in tried} == set(RULES)


CODE = '''
def f(a: int, b=2):
    """Text."""
    if a < b and not b:
        print("odd", 3)
        return a + 1
    for x in range(a):
        b += x
    items.append(b)
    raise ValueError(1 + 1)


if __name__ == "__main__":
    f(1)
'''


def test_faults_are_put_where_a_test_could_notice_them() -> None:
    changes = [mutant.change for mutant in mutants(CODE, 100)]

    assert changes == [
        "2 -> 3",
        "a < b and (not b) -> a < b or not b",
        "a < b -> a >= b",
        "not b -> not not b",
        "return a + 1 -> return None",
        "a + 1 -> a - 1",
        "1 -> 2",
        "b += x -> b -= x",
        "items.append(b) -> None",
    ]


def test_a_smaller_number_of_faults_is_spread_over_the_code_and_always_the_same() -> None:
    assert [m.change for m in mutants(CODE, 3)] == ["2 -> 3", "not b -> not not b", "1 -> 2"]
    assert mutants(CODE, 3) == mutants(CODE, 3)


def test_every_fault_changes_the_program_and_leaves_it_one() -> None:
    codes = {mutant.code for mutant in mutants(CODE, 100)}

    assert len(codes) == 9
    assert all(ast.dump(ast.parse(code)) != ast.dump(ast.parse(CODE)) for code in codes)


def test_the_neutral_variant_is_another_text() -> None:
    variant = neutral(CODE)

    assert variant is not None
    assert variant != CODE
    assert ast.dump(ast.parse(variant).body[0]) == ast.dump(ast.parse(CODE).body[0])
    assert neutral("def (") is None


def test_code_without_a_place_for_a_fault_has_no_mutants() -> None:
    assert mutants("class C:\n    pass\n", 5) == []
    assert mutants("def (", 5) == []
