"""Test code that runs beside the answer: when, how the verdict says so, and what can and cannot be kept out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llmbench_validators import registry, weak_run
from llmbench_validators.types import Completion, Stage, ValidationSpecError, Verdict

from tests.support.collected import COLLECTED, NOTICE

from .code_support import grade, needs_full_isolation

pytestmark = needs_full_isolation

NODE = "class Node:\n    def __init__(self, value):\n        self.value = value\n"
VALUE = "def f(node):\n    return node.value\n"
ON_NODES = {"setup_code": NODE, "test_code": "assert f(Node(3)) == 3\nassert f(Node(4)) == 4\n"}

NEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "an object of the task's class": (VALUE, ON_NODES),
    "a variable that holds one": (VALUE, {"setup_code": NODE, "test_code": "n = Node(3)\nassert f(n) == 3\n"}),
    "a function": ("def f(g):\n    return g(2)\n", {"test_code": "assert f(lambda x: x + 1) == 3\n"}),
    "a type": ("def f(x, t):\n    return isinstance(x, t)\n", {"test_code": "assert f(3, int)\n"}),
}
SHOWN_BY_REFERENCE = {
    "a class of the answer's": (NODE + VALUE, "assert f(Node(3)) == 3\n"),
    "a function as the result": ("def f(x):\n    return lambda y: x + y\n", "assert f(1)(2) == 3\n"),
    "identity": ("def f(x):\n    return x\n", "a = [1]\nassert f(a) is a\n"),
    "an endless generator": ("import itertools\ndef f():\n    return itertools.count()\n", "assert next(f()) == 0\n"),
    "the truth of an object": ("import re\ndef f(x):\n    return re.match('a', x)\n", "assert f('a')\n"),
}


def marked(verdict: Verdict) -> bool:
    return verdict.findings[-1:] == (weak_run.TRUST,)


@pytest.mark.parametrize(("code", "spec"), NEEDS.values(), ids=NEEDS.keys())
def test_tests_that_hand_over_what_is_no_plain_data_run_beside_the_answer(code: str, spec: dict[str, Any]) -> None:
    right, wrong = grade(code, **spec), grade("def f(*args):\n    return None\n", **spec)

    assert (right.passed, right.failure, marked(right)) == (True, None, True)
    assert (wrong.passed, wrong.failure, marked(wrong)) == (False, "wrong_answer", True)


@pytest.mark.parametrize(("code", "tests"), SHOWN_BY_REFERENCE.values(), ids=SHOWN_BY_REFERENCE.keys())
def test_a_reference_that_needs_it_shows_the_need(code: str, tests: str) -> None:
    spec = {"test_code": tests, "reference_solution": code}

    assert grade(code, **spec).passed
    assert marked(grade(code, **spec))
    assert marked(grade("def f(*args):\n    return 1\n", **spec))


@pytest.mark.parametrize("answer", ["def f(x):\n    return lambda: x", "def f(x):\n    return x", "def f(x): return f"])
def test_no_answer_can_bring_about_the_weaker_way(answer: str) -> None:
    for spec in ({}, {"reference_solution": "def f(x):\n    return x\n"}):
        assert not marked(grade(answer, test_code="assert f(1) == 1\n", **spec))


def test_the_block_can_ask_for_either_way() -> None:
    tests = {"test_code": "assert f(1) == 1\n"}

    assert marked(grade("def f(x): return x", trust="weak", **tests))
    assert not marked(grade("def f(x): return x", trust="strong", **tests))
    with pytest.raises(ValidationSpecError, match="Node object.*trust: weak or a reference_solution"):
        grade(VALUE, trust="strong", **ON_NODES)


def test_tests_written_as_data_stay_out_of_reach_and_come_first() -> None:
    spec: dict[str, Any] = {
        "base_tests": [{"args": [1], "expected": 1}],
        "hidden_tests": [{"args": [7], "expected": 8}],
        "test_code": "assert f(2) == 2\nassert f(3) == 4\n",
        "trust": "weak",
    }
    verdict = grade("def f(x):\n    return x", **spec)

    assert verdict.stages == {"base": Stage(2, 3), "hidden": Stage(0, 1)}
    assert verdict.failure == "wrong_answer"
    assert "hidden: 1 of 1 tests failed" in verdict.findings
    assert "base test 2: assert f(3) == 4" in verdict.findings


FAILURES = {
    "wrong": ("def f(x):\n    return x", "wrong_answer"),
    "raises": ("def f(x):\n    raise ValueError('no')", "runtime_error"),
    "asserts": ("def f(x):\n    assert x == 0", "runtime_error"),
    "leaves": ("def f(x):\n    raise SystemExit(0)", "runtime_error"),
    "loops": ("def f(x):\n    while True: pass", "timeout"),
    "fills memory": ("def f(x):\n    return bytearray(8 << 30)", "memory_limit"),
    "reads files": ("def f(x):\n    return open('/etc/passwd').read()", "blocked"),
    "other name": ("def g(x):\n    return x", "missing_function"),
    "missing module": ("import not_there_at_all\ndef f(x):\n    return x", "import_error"),
    "no class": ("def f(x):\n    return x * x", None),
}


@pytest.mark.parametrize(("code", "failure"), FAILURES.values(), ids=FAILURES.keys())
def test_failures_have_the_same_words_as_in_the_strong_way(code: str, failure: str | None) -> None:
    spec = {"test_code": "assert f(2) == 4\nassert f(3) == 9\n", "timeout_s": 1}

    assert grade(code, trust="weak", **spec).failure == grade(code, **spec).failure == failure


def test_a_class_the_tests_want_and_the_answer_lacks_is_missing() -> None:
    verdict = grade(VALUE, test_code="assert f(Node(3)) == 3\n", reference_solution=NODE + VALUE)

    assert (verdict.failure, verdict.findings[0]) == ("missing_function", "base test 1: the code defines no Node")


def test_an_answer_may_use_or_repeat_the_classes_of_the_task() -> None:
    spec = {**ON_NODES, "test_code": "assert f(Node(3)).value == 4\n"}

    assert grade("def f(node):\n    return Node(node.value + 1)\n", **spec).passed
    assert grade(NODE + "def f(node):\n    return Node(node.value + 1)\n", **spec).passed


def test_a_setup_that_fails_is_the_task_s_fault() -> None:
    with pytest.raises(ValidationSpecError, match="setup_code fails.*ZeroDivisionError"):
        grade(VALUE, setup_code="1 / 0\n", test_code="assert f(len) == 3\n")


LIST = "EXPECTED = [50, 60]\nassert f(2) == 50\nassert f(3) == EXPECTED[1]\n"
FRAME = "import sys\nframe = sys._getframe(1)"
KEPT_OUT = {
    "equal to everything": "class E:\n    def __eq__(s, o): return True\ndef f(x): return E()",
    "equal to everything, made by type": "E = type('E', (), {'__eq__': lambda s, o: True})\ndef f(x): return E()",
    "equal to all of a kind": "class I(int):\n    def __eq__(s, o): return type(o) is int\ndef f(x): return I(0)",
    "frame": "import sys\ndef f(x): return sys._getframe(1).f_globals['EXPECTED'][x - 2]",
    "frame, in text": f"def f(x):\n    d = {{}}\n    exec({FRAME!r}, d)\n    return d['frame']",
    "frame of a traceback": "def f(x):\n    try: 1 / 0\n    except Exception as e:\n"
    "        return getattr(getattr(e, '__trace' + 'back__'), 'tb_' + 'frame')",
    "garbage collector, in text": "def f(x):\n    exec('import gc; gc.get_objects()')",
    "code in disguise": "import os\ndef f(x):\n    exec(compile('1', os.__file__, 'exec'))",
    "patched builtins": "import builtins\nbuiltins.abs = lambda v: 0\ndef f(x): return 0",
    "patched builtins, in text": "exec('import builtins; builtins.abs = lambda v: 0')\ndef f(x): return 0",
    "imports the tests": "def f(x):\n    return __import__('te' + 'sts').EXPECTED[x - 2]",
    "leaves": "import os\ndef f(x): getattr(os, '_ex' + 'it')(0)",
    "writes to every descriptor": "import os\nfor d in range(3, 64):\n    try: os.write(d, b'{\"results\":[]}')\n"
    "    except OSError: pass\ndef f(x): return 0",
    "own test names": "def check(g): pass\nEXPECTED = [0, 0]\ndef f(x): return 0",
}


@pytest.mark.parametrize("code", KEPT_OUT.values(), ids=KEPT_OUT.keys())
def test_cheats_that_are_kept_out(code: str) -> None:
    verdict = grade(code, test_code=LIST, trust="weak", timeout_s=3)

    assert not verdict.passed
    assert verdict.failure in {"cheating", "runtime_error", "wrong_answer"}


PATCHED_ROOM = """exec('''for c in object.__subclasses__():
    if c.__name__ == '_Room': c._one = lambda *a: [None, '']''')
def f(x): return 0"""
# What sharing a process with the tests cannot keep out, and why such verdicts are marked.
NOT_KEPT_OUT = {
    "greater than everything": ("class E:\n    def __gt__(s, o): return True\ndef f(x): return E()", "assert f(2) > 3"),
    "equal in a membership test": (
        "E = type('E', (), {'__eq__': lambda s, o: True})\ndef f(x): return E()",
        "assert f(2) in (4,)",
    ),
    "patches the checking code, in text": (
        PATCHED_ROOM,
        "assert f(2) == 4",
    ),
}


@pytest.mark.parametrize(("code", "tests"), NOT_KEPT_OUT.values(), ids=NOT_KEPT_OUT.keys())
def test_cheats_that_are_not_kept_out_pass_only_where_the_verdict_is_marked(code: str, tests: str) -> None:
    weak, strong = grade(code, test_code=tests, trust="weak"), grade(code, test_code=tests)

    assert (weak.passed, marked(weak)) == (True, True)
    assert not strong.passed


@pytest.mark.timeout(300)
def test_none_of_the_collected_cheats_passes_in_the_weaker_way(monkeypatch: pytest.MonkeyPatch) -> None:
    file = COLLECTED / "cases" / "sandbox.jsonl"
    if not file.exists():
        pytest.skip(NOTICE)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("BENCH_SECRET", "canary")
    wrong = []
    for case in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        verdict = registry.grade({**case["validation"], "trust": "weak"}, Completion(case["completion"]))
        wanted = case["expected"]
        tolerated = wanted["may_pass"] if verdict.passed else wanted["may_fail"]
        if verdict.passed != wanted["passed"] and not tolerated:
            wrong.append(case["id"])

    assert wrong == []
