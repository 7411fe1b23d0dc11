"""Calls read from test code before it runs are those it makes, or none are told."""

from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import asserts, foresight
from llmbench_validators.session import Reply

from .code_support import grade, needs_full_isolation

TOLD = {
    "asserts in a row": "assert f(1, 2) == 3\nassert f([1], key='a') == [(1, 'a')]\nassert f({'a': {1, 2}}) == 0\n",
    "a check that nobody calls": "META = {}\ndef check(candidate):\n    assert True\n    assert candidate('x')\n",
    "a check under another name": "def check(g):\n    assert g(-1.5)\n    assert g(None) == f(2)\ncheck(f)\n",
    "two calls in one": "import math\nassert abs(f(1) - f(2)) < 1e-6, 'far apart'\n",
    "what is around the calls": "a = [n for n in range(3)]\nassert a[:1] == [f(0)]\nassert f(1) == len(a)\n",
    "a message that would call": "assert f(1), f(2)\n",
}
NOT_TOLD = {
    "a variable": "value = 3\nassert f(value) == 4\n",
    "a loop": "for n in range(3):\n    assert f(n) == n\n",
    "a call in a call": "assert f(f(1)) == 2\n",
    "a call for one of two reasons": "assert f(1) == 1 or f(2) == 2\n",
    "handed on": "assert list(map(f, [1, 2])) == [1, 2]\n",
    "a call before a test": "f(1)\nassert f(2) == 2\n",
    "a helper that calls": "def helper():\n    return f(1)\nassert helper() == 1\n",
    "nothing at all": "pass\n",
}


def made(test_code: str) -> list[tuple[Any, Any]]:
    """The calls that the code makes of a function whose value equals and exceeds nothing and is true."""
    calls: list[tuple[Any, Any]] = []

    def call(args: Any, kwargs: Any) -> Reply:
        calls.append((args, kwargs))
        return Reply(value=1)

    asserts.run(test_code, "", "f", asserts.Proxy("f", call), is_async=False)
    return calls


@pytest.mark.parametrize("name", TOLD)
def test_plain_tests_tell_their_calls(name: str) -> None:
    told = foresight.calls(TOLD[name], "", "f")

    assert told
    assert told[: len(made(TOLD[name]))] == made(TOLD[name])


@pytest.mark.parametrize("name", NOT_TOLD)
def test_what_depends_on_more_is_not_guessed_at(name: str) -> None:
    assert not foresight.calls(NOT_TOLD[name], "", "f")


STATEFUL = "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)\n"
FIRST_WRONG = "def f(x):\n    while x == 3:\n        pass\n    return 0 if x == 1 else x\n"


@needs_full_isolation
def test_a_guess_that_was_wrong_leaves_no_trace_in_the_verdict() -> None:
    other = "globals()['f'] = lambda _, own=globals()['f']: own(9)\nassert f(1) == 1\nassert f(2) == 2\n"

    verdict = grade(STATEFUL, test_code=other)

    assert foresight.calls(other, "", "f") == [([1], {"d": []}), ([2], {"d": []})]
    assert verdict.passed, verdict.findings


@needs_full_isolation
def test_a_test_that_failed_counts_though_a_later_call_never_ends() -> None:
    tests = "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(3) == 3\n"

    verdict = grade(FIRST_WRONG, test_code=tests, timeout_s=0.5)

    assert (verdict.passed, verdict.failure) == (False, "wrong_answer")
