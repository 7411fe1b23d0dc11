"""The same answers graded in another order get the same verdicts, to the byte."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from llmbench_validators import coding_spec, lines, sandbox, trust
from llmbench_validators.coding_spec import CodingSpec

from tests.support.collected import COLLECTED, NOTICE

from .code_support import needs_full_isolation

pytestmark = needs_full_isolation

NODE = "class Node:\n    def __init__(self, value):\n        self.value = value\n"
TASKS: dict[str, dict[str, Any]] = {
    "data": {"base_tests": [{"args": [n], "expected": n * n} for n in (2, 3, -1)]},
    "random": {
        "base_tests": [{"args": [[3, 1, 2]], "expected": [1, 2, 3]}],
        "hidden_tests": [{"args": [[2, 2]], "expected": [2, 2]}],
        "test_code": "a = [2, 1]\nf(a)\nassert f(a) == [1, 2]\n",
    },
    "in place": {"base_tests": [{"args": [[3, 1]], "expected": [1, 3]}], "compare": "argument"},
    "weak": {"setup_code": NODE, "test_code": "assert f(Node(3)) == 3\nassert f(Node(4)) == 4\n"},
    "weak by reference": {
        "test_code": "assert f(1)(2) == 3\n",
        "reference_solution": "def f(x): return lambda y: x + y",
    },
    "strong by reference": {"test_code": "assert f(2) == 4\n", "reference_solution": "def f(x): return x * x"},
    "stateful": {"test_code": "assert f(2) == 4 and f(3) == 9\nassert f(2) == 4\n"},
    "own fault": {"test_code": "assert f(undefined_name) == 4\n"},
}
CODE = (
    *("def f(x):\n    return x * x", "def f(x):\n    return sorted(x)", "def f(x):\n    x.sort()\n    return x"),
    *("def f(node):\n    return node.value", "def f(x): return lambda y: x + y", "def f(x):\n    return object()"),
    *("n = 0\ndef f(x):\n    global n\n    n += 1\n    return n", "import os\ndef f(x): os._exit(0)", "def f(x", "No."),
    "import builtins, sys\nbuiltins.sorted = None\nsys.modules['json'] = None\ndef f(x): return x",
    "import random\ndef f(x):\n    return random.random()",
    "def f(x):\n    return map(str, {'a', 'b', 'c', 'd'})",
    "open('left', 'a').write('x')\ndef f(x): return len(open('left').read()) * x",
    "def f(x):\n    if x == 3:\n        while True: pass\n    return x * x",
    "def f(x):\n    raise ValueError(object())",
    "import os\ndef f(x):\n    open(f'/proc/{os.getppid()}/environ')",
    "import os\ndef f(x):\n    raise ValueError(os.getcwd())",
)
OTHERS: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
    ({"type": "exact", "expected": "yes"}, ("yes", "no", "")),
    ({"type": "reasoning", "expected_answer": "12", "answer_type": "number"}, ("The answer is 12.", "13", "#### 12")),
    ({"type": "planning", "rubric": [{"criterion": "Tests", "keywords": ["test"]}]}, ("Test it.", "No tests.")),
    ({"type": "instructions", "instructions": [{"id": "punctuation:no_comma"}]}, ("One two.", "One, two.")),
    ({"type": "json_schema", "schema": {"type": "object", "required": ["a"]}}, ('{"a": 1}', "{}", "[1", "{'a': 1}")),
)


def own() -> list[bytes]:
    made = [
        {"id": f"{name} {number}", "validation": {"type": "coding", "function_name": "f", "timeout_s": 0.5, **task}}
        | {"completion": f"```python\n{code}\n```"}
        for name, task in TASKS.items()
        for number, code in enumerate(CODE)
    ]
    made += [
        {"id": f"{block['type']} {number}", "validation": block, "completion": text}
        for block, texts in OTHERS
        for number, text in enumerate(texts)
    ]
    return [json.dumps(line).encode() for line in made]


def forgotten() -> None:
    """As in a new process: nothing known of any task, and no sandbox running."""
    trust._known.clear()
    sandbox._pool.close()


def verdicts(given: Iterable[bytes]) -> dict[str, bytes]:
    results = list(lines.grade_lines(given, jobs=2))
    return {result["id"]: unnumbered(result) for result in results}


def unnumbered(result: dict[str, Any]) -> bytes:
    """The result without the number of its line, which only an error tells."""
    error = result.get("error", "")
    return json.dumps({**result, "error": error.partition(": ")[2]}, sort_keys=True).encode()


@pytest.mark.timeout(300)
def test_own_answers_get_the_same_verdicts_in_any_order() -> None:
    given = own()
    first = verdicts(given)
    for seed in (1, 2):
        random.Random(seed).shuffle(given)
        forgotten()

        assert verdicts(given) == first
    assert len(first) == len(given)
    assert {b'"passed": true' in verdict for verdict in first.values()} == {True, False}


@pytest.mark.timeout(900)
def test_collected_answers_get_the_same_verdicts_in_any_order() -> None:
    files = sorted((COLLECTED / "cases" / "score").glob("*.jsonl"))
    if not files:
        pytest.skip(NOTICE)
    cases = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    cases += [quick(json.loads(line)) for line in (COLLECTED / "cases" / "sandbox.jsonl").read_bytes().splitlines()]
    given = [json.dumps({**case, "id": str(number)}).encode() for number, case in enumerate(cases)]
    first = verdicts(given)
    random.Random(1).shuffle(given)
    forgotten()

    assert verdicts(given) == first


def quick(case: dict[str, Any]) -> dict[str, Any]:
    """Code that never ends is as good as any when it is stopped earlier."""
    endless = case["expected"]["failure"] == "timeout"
    return {**case, "validation": {**case["validation"], **({"timeout_s": 1} if endless else {})}}


def test_whether_a_task_is_weak_is_decided_without_any_answer() -> None:
    asked: list[str] = []

    def passes(task: CodingSpec, code: str) -> bool:
        asked.append(code)
        return True

    for name in ("strong by reference", "weak by reference"):
        forgotten()
        trust.is_weak(coding_spec.parse({"type": "coding", "function_name": "f", **TASKS[name]}), passes)

    assert asked == [TASKS[name]["reference_solution"] for name in ("strong by reference", "weak by reference")]
