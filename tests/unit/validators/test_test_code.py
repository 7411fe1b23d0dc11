"""Test code as people write it: what it says in a process of its own is what the verdict says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from llmbench_validators import sandbox
from llmbench_validators.types import SandboxFault, ValidationSpecError

from .code_support import grade, needs_full_isolation, square

pytestmark = needs_full_isolation

NEGATIVE = "def f(n):\n    return [-1] * n\n"
ONE = "def f(x):\n    return 1\n"
AFTER_THE_LAST = {
    "a loop over what was kept": "r = f(3)\nassert len(r) == 3\nfor a in r:\n    assert a > 0\n",
    "a helper": "def more():\n    assert f(1)[0] == 1\nassert len(f(1)) == 1\nmore()\n",
    "a raise": "r = f(2)\nassert len(r) == 2\nif r[0] != 1:\n    raise ValueError(r)\n",
    "a with": "import contextlib\nr = f(2)\nassert r\nwith contextlib.nullcontext():\n    assert r[0] == 1\n",
    "a test case's own assertion": "import unittest\nassert f(1)\nunittest.TestCase().assertEqual(f(1), [1])\n",
}


@pytest.mark.parametrize("trust", ["strong", "weak"])
@pytest.mark.parametrize("name", AFTER_THE_LAST)
def test_what_fails_after_the_last_test_fails_the_answer(name: str, trust: str) -> None:
    verdict = grade(NEGATIVE, test_code=AFTER_THE_LAST[name], trust=trust)

    assert (verdict.passed, verdict.failure) == (False, "wrong_answer"), verdict
    assert grade("def f(n):\n    return [1] * n\n", test_code=AFTER_THE_LAST[name], trust=trust).passed


LIMITER = """
import time
last = []
def f(x):
    now = time.monotonic()
    if last and now - last[-1] < 0.2:
        return False
    last.append(now)
    return True
"""
WAITS = "import time\nassert f(1) is True\nassert f(1) is False\ntime.sleep(0.3)\nassert f(1) is True\n"


def test_tests_that_wait_are_waited_for_each_time() -> None:
    assert [grade(LIMITER, test_code=WAITS).passed for _ in range(3)] == [True] * 3


def test_tests_that_take_the_time_of_a_call_see_it() -> None:
    tests = "import time\nt = time.monotonic()\nassert f(1) == 1\nassert time.monotonic() - t < 0.3\n"

    assert not grade("import time\ndef f(x):\n    time.sleep(0.5)\n    return 1\n", test_code=tests).passed


def test_true_is_no_1_for_whoever_was_graded_before() -> None:
    tests = 'assert f(f(3)) == "1"\n'
    with_one = "def f(n):\n    return 1 if n == 3 else str(n)\n"
    with_true = "def f(n):\n    return True if n == 3 else str(n)\n"

    assert [grade(code, test_code=tests).passed for code in (with_one, with_true, with_one)] == [True, False, True]


@pytest.mark.parametrize(
    "meddling",
    [
        "import decimal\ndecimal.getcontext().prec = 3\nassert f(1) == 1\n",
        "import sys\nsys.setrecursionlimit(120)\nassert f(1) == 1\n",
        "import math\nmath.sqrt = lambda x: 5\nassert f(1) == 1\n",
    ],
)
def test_what_tests_change_in_their_process_no_later_test_sees(meddling: str) -> None:
    later = (
        "import decimal, math, sys\nassert decimal.Decimal('1.23456') + 0 == decimal.Decimal('1.23456')\n"
        "assert math.sqrt(9) == 3 and sys.getrecursionlimit() > 500\nassert f(1) == 1\n"
    )
    with ThreadPoolExecutor(4) as pool:
        passed = pool.map(lambda code: grade(ONE, test_code=code).passed, [meddling, later] * 4)

    assert list(passed) == [True] * 8


@pytest.mark.parametrize(
    ("raises", "holds"),
    [
        ("raise ValueError('bad')", "type(e) is ValueError and str(e) == 'bad' and e.args == ('bad',)"),
        ("raise ValueError", "str(e) == '' and e.args == ()"),
        ("raise KeyError('k')", "e.args[0] == 'k' and str(e) == repr('k')"),
        ("raise ValueError('long ' * 100)", "str(e) == 'long ' * 100"),
        ("raise FileNotFoundError(2, 'gone', 'a.txt')", "e.errno == 2 and 'gone' in str(e)"),
        ("return b'\\xff'.decode()", "isinstance(e, UnicodeDecodeError) and 'utf-8' in str(e)"),
        ("raise StopIteration(7)", "e.value == 7"),
        ("raise ExceptionGroup('two', [ValueError(1)])", "'two' in str(e)"),
        ("raise type('Own', (ValueError,), {})('bad')", "isinstance(e, ValueError) and str(e) == 'bad'"),
        ("raise ValueError(object)", "isinstance(e, ValueError) and 'object' in str(e)"),
    ],
)
def test_tests_catch_what_was_raised(raises: str, holds: str) -> None:
    tests = (
        f"try:\n    f(1)\n    assert False, 'nothing raised'\nexcept Exception as e:\n    assert {holds}, (e, e.args)\n"
    )

    verdict = grade(f"def f(x):\n    {raises}\n", test_code=tests, trust="strong")

    assert verdict.passed, verdict.findings


@pytest.mark.parametrize(
    "tests",
    [
        "try:\n    r = f(1)\nexcept ValueError:\n    r = None\nassert r == 1\n",
        "for i in range(3):\n    last = f(i)\nassert last == 1\n",
        "def check(candidate):\n    for i in candidate(3):\n        last = i\n    assert last == 2\n",
    ],
)
def test_a_name_that_has_no_value_for_want_of_an_answer_is_no_fault_of_the_tests(tests: str) -> None:
    verdicts = [grade(f"def f(x):\n    {line}\n", test_code=tests) for line in ("raise TypeError", "return []")]

    assert not any(verdict.passed for verdict in verdicts)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("def test_a():\n    assert f(1) == 1\n", "never calls f"),
        ("async def check(candidate):\n    assert candidate(1) == 1\n", "never calls f"),
        ("assert f(unknown) == 1\n", "unknown"),
        ("x = []\nfor _ in range(200):\n    x = [x]\nf(x)\n", "no call can take"),
        ("raise KeyboardInterrupt\nassert f(1) == 1\n", None),
    ],
)
def test_tests_that_are_themselves_at_fault_are_refused(tests: str, message: str | None) -> None:
    if message is None:
        assert not grade(ONE, test_code=tests).passed
        return
    with pytest.raises(ValidationSpecError, match=message):
        grade(ONE, test_code=tests)


@pytest.mark.parametrize("setup", ["import sys\nsys.exit(3)\n", "raise KeyboardInterrupt\n"])
def test_a_setup_that_ends_the_process_is_refused(setup: str) -> None:
    with pytest.raises(ValidationSpecError, match="setup_code fails"):
        grade(ONE, setup_code=setup, test_code="assert f(1) == 1\n")


@pytest.mark.parametrize(
    "blocks", [{"setup_code": "while True: pass\n"}, {"test_code": "while True: pass\nassert f(1)\n"}]
)
def test_test_code_that_never_comes_to_a_call_is_no_timeout_of_the_answer(blocks: dict[str, str]) -> None:
    task = {"test_code": "assert f(1) == 1\n", "timeout_s": 0.3, **blocks}

    with pytest.raises(ValidationSpecError, match="before it called f"):
        grade(ONE, **task)


def test_tests_that_never_end_for_what_the_answer_gave_are_its_timeout() -> None:
    endless = "while f(1) != 2: pass\nassert f(1)\n"

    assert grade(ONE, test_code=endless, timeout_s=0.3).failure == "timeout"


def test_tests_may_end_by_themselves() -> None:
    tests = "import sys\nassert f(1) == {value}\nsys.exit({code})\n"

    assert grade(ONE, test_code=tests.format(value=1, code=0)).passed
    assert not grade(ONE, test_code=tests.format(value=2, code=0)).passed
    assert not grade(ONE, test_code=tests.format(value=1, code=1)).passed


def test_tests_may_call_from_threads() -> None:
    tests = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
        "    found = list(pool.map(lambda i: f(i), range(100)))\nassert found == [i * i for i in range(100)]\n"
    )

    assert grade("def f(x):\n    return x * x\n", test_code=tests).passed


def test_annotations_may_be_of_the_future() -> None:
    tests = "from __future__ import annotations\ndef g(x: Unknown) -> Unknown:\n    return f(x)\nassert g(1) == 1\n"

    assert grade(ONE, test_code=tests).passed


def test_a_fault_of_ours_while_the_sandbox_works_leaves_no_verdict_behind_for_the_next_answer() -> None:
    def fail() -> None:
        raise OSError("of ours")

    job = {
        "code": ONE,
        "function": "f",
        "imports": [],
        "setup": "",
        "mode": "exact",
        "compare": "result",
        "watched": False,
        "timeout_s": 5,
        "memory_mb": 64,
        "reference": "",
        "stages": [{"name": "base", "tests": [], "code": "assert f(1) == 2\n", "secret": False}],
    }
    with pytest.raises(OSError, match="of ours") as raised:
        sandbox.run(job, 60, fail)
    assert not isinstance(raised.value, SandboxFault)
    assert sandbox._pool._busy == set()
    assert square("def f(x):\n    return x * x\n").passed
