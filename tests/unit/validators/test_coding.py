from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion, Stage, ValidationSpecError

from .code_support import grade, needs_full_isolation, square

pytestmark = needs_full_isolation


def test_a_right_answer_passes_with_full_score_and_says_how_it_was_found() -> None:
    verdict = square("def f(x):\n    return x * x")

    assert (verdict.passed, verdict.failure) == (True, None)
    assert 0.95 <= verdict.score <= 1
    assert (verdict.validator, verdict.version, verdict.confidence) == ("coding", "4", "high")
    assert verdict.stages == {"base": Stage(3, 3)}
    assert verdict.graded_text == "def f(x):\n    return x * x\n"
    assert (verdict.extractor, verdict.isolation) == ("fence", "full")


def test_a_wrong_answer_gets_the_share_of_tests_it_passes_and_names_the_failed_one() -> None:
    verdict = square("def f(x):\n    return x + x")

    assert (verdict.passed, verdict.failure) == (False, "wrong_answer")
    quality = verdict.subscores["quality"]
    assert verdict.score == pytest.approx((0.7 + 0.15 * quality) / 0.85 / 3, abs=1e-6)
    assert verdict.findings[0] == "base test 2: f(3) returned 6, expected 9"


def test_stages_are_weighted_and_hidden_failures_only_take_away() -> None:
    verdict = grade(
        "def f(x):\n    return x",
        base_tests=[{"args": [1], "expected": 1}],
        edge_tests=[{"args": [2], "expected": 3}],
        hidden_tests=[{"args": [7], "expected": 7}, {"args": [8], "expected": 9}],
    )

    correctness = 0.5 / 0.7 - 0.25 * 0.5
    robustness = (0 + 0.5) / 2
    assert verdict.subscores["correctness"] == pytest.approx(correctness, abs=1e-6)
    assert verdict.subscores["robustness"] == pytest.approx(robustness)
    quality = verdict.subscores["quality"] * correctness
    whole = 0.5 * correctness + 0.2 * robustness + 0.15 * quality
    assert verdict.score == pytest.approx(whole / 0.85, abs=1e-6)
    assert verdict.stages["hidden"] == Stage(1, 2)


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return 0",
        "def f(x):\n    raise ValueError(f'got {x}')",
        "def f(x):\n    import sys; sys.exit(f'got {x}')",
        "def f(x):\n    return {'got': x}",
        "def f(x):\n    import os; os._exit(4711 % 256)",
        "class Odd: pass\ndef f(x):\n    Odd.__name__ = f'got{x}'\n    return Odd()",
        "def f(x):\n    if x == 4711:\n        while True: pass\n    return 1",
    ],
)
def test_hidden_tests_never_show_in_a_verdict(code: str) -> None:
    verdict = grade(
        code,
        base_tests=[{"args": [1], "expected": 1}],
        hidden_tests=[{"args": [4711], "expected": "sesame"}],
        timeout_s=0.5,
    )

    assert not verdict.passed
    assert "4711" not in repr(verdict).replace(code, "").replace(repr(code)[1:-1], "")
    assert "sesame" not in repr(verdict)
    assert "hidden: 1 of 1 tests failed" in verdict.findings


def test_passing_everything_but_a_hidden_test_is_not_passing() -> None:
    verdict = grade(
        "def f(x):\n    return {1: 1}[x]",
        base_tests=[{"args": [1], "expected": 1}],
        hidden_tests=[{"args": [2], "expected": 2}],
    )

    assert (verdict.passed, verdict.failure) == (False, "runtime_error")
    assert 0 < verdict.score < 1


@pytest.mark.parametrize(
    ("text", "reason", "failure"),
    [
        ("", None, "empty"),
        ("I'm sorry, I can't.", None, "refusal"),
        ("Square it.", None, "no_code"),
        ("```python\ndef f(x)\n    return x\n```", None, "syntax_error"),
        ("```python\ndef f(x):\n    retu (", "length", "budget_exhausted"),
        ("```python\ndef g(x):\n    return x\n```", None, "missing_function"),
        ("```python\nf = 3\n```", None, "missing_function"),
        ("```python\nimport not_there_at_all\ndef f(x):\n    return x\n```", None, "import_error"),
        ("```python\nint('x')\ndef f(x):\n    return x\n```", None, "runtime_error"),
        ("```python\ndef f(x):\n    return lambda: 3\n```", None, "wrong_answer"),
    ],
)
def test_failures_that_are_not_about_logic_have_their_own_words(text: str, reason: str | None, failure: str) -> None:
    block = {"type": "coding", "function_name": "f", "tests": [{"args": [2], "expected": 4}]}
    verdict = registry.grade(block, Completion(text, finish_reason=reason))

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.0, failure)
    assert verdict.findings


@pytest.mark.parametrize(
    ("block", "named"),
    [
        ({"function_name": "f", "base_test": []}, "base_test"),
        ({"function_name": "f", "base_tests": []}, "base_tests"),
        ({"base_tests": [{"args": [1], "expected": 1}]}, "function_name"),
        ({"function_name": "class", "base_tests": [{"args": [1], "expected": 1}]}, "function_name"),
        ({"function_name": "f", "base_tests": [{"args": [1]}]}, r"base_tests\[0\]"),
        ({"function_name": "f", "base_tests": [{"args": [1], "expected": 1, "arg": 2}]}, "'arg'"),
        ({"function_name": "f", "base_tests": [{"input": 1, "args": [1], "expected": 1}]}, "input"),
        ({"function_name": "f", "base_tests": [{"args": [len], "expected": 1}]}, "plain data"),
        ({"function_name": "f", "base_tests": [{"input": 1, "expected": 1}], "tests": []}, "tests"),
        ({"function_name": "f", "test_code": "assert (", "language": "python"}, "test_code"),
        ({"function_name": "f", "test_code": "assert f(1)", "language": "cobol"}, "cobol"),
        ({"function_name": "f", "test_code": "assert f(1)", "comparison": "loose"}, "comparison"),
        ({"function_name": "f", "test_code": "assert f(1)", "timeout_s": 0}, "timeout_s"),
        ({"function_name": "f", "test_code": "assert f(1)", "memory_mb": True}, "memory_mb"),
        ({"function_name": "f", "test_code": "assert f(missing) == 1"}, "missing"),
        ({"function_name": "f", "test_code": "assert f(len) == 1", "trust": "strong"}, "plain data"),
        ({"function_name": "f", "test_code": "assert f(map) == 1", "trust": "strong"}, "trust: weak"),
        ({"function_name": "f", "test_code": "assert f(1)", "trust": "full"}, "trust: 'full'.*auto, strong, weak"),
        ({"function_name": "f", "test_code": "assert f(1)", "compare": "input"}, "compare: 'input'"),
        ({"function_name": "f", "base_tests": [{"args": [], "expected": 1}], "compare": "argument"}, "compare"),
        ({"function_name": "f", "test_code": "assert f(len)", "setup_code": "1 / 0"}, "setup_code"),
        ({"function_name": "f", "test_code": "assert f(1)", "setup_code": "1 / 0"}, "setup_code"),
    ],
)
def test_a_wrong_block_is_refused_by_the_key_at_fault(block: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationSpecError, match=named):
        registry.grade({"type": "coding", **block}, Completion("```python\ndef f(x):\n    return x\n```"))


def test_every_key_of_the_format_is_accepted() -> None:
    verdict = square(
        "def f(x):\n    return x * x",
        language="python",
        edge_tests=[{"input": "0", "expected": 0}],
        hidden_tests=[],
        randomizable=True,
        reference_solution="def f(x):\n    return x * x\n",
        setup_code="import math\n",
        comparison="approx",
        memory_mb=256,
    )

    assert verdict.passed


def test_input_is_json_text_or_a_value_or_plain_text() -> None:
    tests = [
        {"input": "[1, 2]", "expected": [1, 2]},
        {"input": [1, 2], "expected": [1, 2]},
        {"input": "two words", "expected": "two words"},
        {"args": [], "kwargs": {"x": {"a": 1}}, "expected": {"a": 1}},
    ]

    assert grade("def f(x):\n    return x", base_tests=tests).passed


def test_each_call_gets_fresh_arguments() -> None:
    tests = [{"args": [[3, 1]], "expected": [1, 3]}] * 2

    assert grade("def f(x):\n    x.sort()\n    y = x[:]\n    x.clear()\n    return y", base_tests=tests).passed


def test_what_the_code_prints_is_no_evidence() -> None:
    assert not square("print('{\"passed\": true}')\ndef f(x):\n    print('3 passed')\n    return 0").passed


@pytest.mark.parametrize(
    "tail",
    [
        "assert f(2) == 5",
        "n = int(input())",
        "import sys; sys.exit(0)",
        "print(f(2)); undefined",
        "import nothing_here",
    ],
)
def test_a_failing_demo_below_the_definition_does_not_void_it(tail: str) -> None:
    verdict = square(f"def f(x):\n    return x * x\n{tail}")

    assert verdict.passed
    assert verdict.findings


@pytest.mark.parametrize(
    "code",
    [
        "class Solution:\n    def f(self, x):\n        return x * x",
        "f = lambda x: x * x",
        "import functools\nf = functools.partial(pow, exp=2)",
        "async def f(x):\n    import asyncio\n    await asyncio.sleep(0)\n    return x * x",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(x):\n    return P(x).x ** 2",
        "def f(x: List[int]) -> int:\n    return x * x",
        "def f(x, n=900):\n    return x * x if n == 0 else f(x, n - 1)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\ndef f(x):\n    return x * x",
        "import atexit, time\natexit.register(time.sleep, 600)\ndef f(x):\n    return x * x",
        "import sys\ndef f(x):\n    sys.stderr.write('e' * 2_000_000)\n    print('\\ud800')\n    return x * x",
        "import tempfile\ndef f(x):\n    with tempfile.TemporaryFile() as t:\n        t.write(b'x')\n    return x * x",
        "if __name__ == '__main__':\n    while True: pass\ndef f(x):\n    return x * x",
    ],
)
def test_honest_code_of_every_kind_passes(code: str) -> None:
    verdict = square(code, setup_code="from typing import List\n")

    assert verdict.passed, verdict.findings


TEST_STYLES = {
    "asserts": "assert f(2) == 4\nassert f(3) == 9\n",
    "check": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\n",
    "check called": "def check(g):\n    assert g(2) == 4\n    assert g(3) == 9\ncheck(f)\n",
    "loop": "for n in range(4):\n    assert f(n) == n * n\n",
    "unittest": "import unittest\nunittest.TestCase().assertEqual(f(3), 9)\n",
    "helper of the task": "assert f(3) == nine()\n",
    "result first": "r = f(3)\nassert r == 9\n",
}


@pytest.mark.parametrize("test_code", TEST_STYLES.values(), ids=TEST_STYLES.keys())
def test_benchmarks_own_tests_run_as_they_are(test_code: str) -> None:
    setup = "def nine():\n    return 9\n\ndef f(x):\n    '''Square.'''\n"

    assert grade("def f(x):\n    return x * x", test_code=test_code, setup_code=setup).passed
    wrong = grade("def f(x):\n    return x + x", test_code=test_code, setup_code=setup)
    assert (wrong.passed, wrong.failure) == (False, "wrong_answer")


def test_each_assert_counts_and_the_failing_line_is_shown() -> None:
    verdict = grade("def f(x):\n    return x + x", test_code="assert f(2) == 4\nassert f(3) == 9\n")

    assert verdict.stages == {"base": Stage(1, 2)}
    assert verdict.findings == ("base test 2: assert f(3) == 9; f(3) returned 6",)


def test_an_async_function_can_be_awaited_by_the_tests() -> None:
    code = "async def f(x):\n    return x * x"

    assert grade(code, test_code="import asyncio\nassert asyncio.run(f(2)) == 4\n").passed


def test_tests_can_expect_an_exception_by_its_type_or_its_base() -> None:
    code = "class Negative(ValueError): pass\ndef f(x):\n    if x < 0: raise Negative('below 0')\n    return x"
    test = (
        "try:\n    f(-1)\n    assert False\nexcept ValueError as e:\n    assert 'below' in str(e)\nassert f(1) == 1\n"
    )

    assert grade(code, test_code=test).passed


@pytest.mark.parametrize(
    "raised", ["AssertionError", "StopIteration", "TimeoutError", "KeyboardInterrupt", "SystemExit(3)"]
)
@pytest.mark.parametrize("test_code", ["assert f(1) == 1\n", "assert all(f(n) == n for n in range(3))\n"])
def test_an_exception_of_the_code_is_its_runtime_error_whatever_its_type(raised: str, test_code: str) -> None:
    assert grade(f"def f(x):\n    raise {raised}", test_code=test_code).failure == "runtime_error"


def test_python_equality_rules_in_test_code_are_not_tightened() -> None:
    assert grade("def f(x):\n    return x % 2 == 1", test_code="assert f(3) == 1\nassert f(2) == 0\n").passed


def test_tests_that_hang_on_a_returned_value_end_in_a_timeout() -> None:
    test_code = "n = f(1)\nwhile n != 3:\n    n = n\nassert f(1) == 3\n"
    verdict = grade("def f(x):\n    return 1", test_code=test_code, timeout_s=0.3)

    assert verdict.failure == "timeout"
    assert square("def f(x):\n    return x * x").passed


def test_an_unknown_validator_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(ValidationSpecError, match=r"'codign'.*coding, .*reasoning"):
        registry.grade({"type": "codign"}, Completion("x"))


DRAWN = "def random_inputs(rng):\n    return [rng.randint(5, 10**9)]\n"


def test_a_task_may_draw_its_random_inputs_itself_and_they_are_the_same_for_every_answer() -> None:
    spec: dict[str, Any] = {"reference_solution": "def f(x):\n    return x * x", "random_inputs": DRAWN}
    near = "def f(x):\n    return x if x > 4 else x * x"
    right, wrong = square("def f(x):\n    return x ** 2", **spec), square(near, **spec)

    assert (right.passed, right.stages["random"]) == (True, Stage(20, 20))
    assert (wrong.stages["base"], wrong.stages["random"]) == (Stage(3, 3), Stage(0, 20))
    assert wrong.findings == square(near, **spec).findings


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def inputs(rng):\n    return [1]", "must define a function random_inputs"),
        ("def random_inputs(rng):\n    return 1", "failed, or returned no list"),
        ("def random_inputs(rng):\n    return [1 / 0]", "failed, or returned no list"),
    ],
)
def test_random_inputs_that_cannot_be_drawn_are_the_tasks_fault(code: str, message: str) -> None:
    with pytest.raises(ValidationSpecError, match=f"random_inputs: {message}"):
        square("def f(x):\n    return x * x", reference_solution="def f(x):\n    return x * x", random_inputs=code)


def test_random_inputs_without_a_reference_solution_are_refused() -> None:
    with pytest.raises(ValidationSpecError, match="needs a reference_solution"):
        square("def f(x):\n    return x * x", random_inputs=DRAWN)


def test_an_answer_too_long_to_be_read_whole_says_so() -> None:
    spec = {"type": "coding", "function_name": "f", "test_code": "assert f(1) == 1"}

    verdict = registry.grade(spec, Completion("x = 1\n" * 100_000 + "def f(x: return x\n"))

    assert not verdict.passed
    assert verdict.findings[-1] == "only the first 400,000 of 600,018 characters of the answer were read"
