from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llmbench_validators import compare, extraction, fences, registry, wire
from llmbench_validators.types import Completion, Verdict

from .code_support import needs_full_isolation

FRAGMENTS = (
    *("```", "```python\n", "~~~", "\n", "def f(x):\n", "    return x\n", "class A:\n", "<think>", "</think>", "`f`"),
    *("<pre>", "</pre>", "<code>", "{", '{"code": "', '"}', "[", "cat <<EOF\n", "EOF\n", "&lt;", "\u201c", "\ufeff"),
    *(">>> ", "<|im_end|>", "<|channel|>final<|message|>", "- ", "> ", "\t", "\x00", "\ud800", "import f\n", "\r\n"),
)
TEXTS = st.text() | st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join)


@given(TEXTS, st.sampled_from([None, "stop", "length"]))
@settings(max_examples=400, deadline=None)
def test_extraction_gives_a_result_for_any_text(text: str, reason: str | None) -> None:
    found = extraction.extract(text, "f", reason)

    assert (found.failure is None) == (found.extractor is not None) or found.failure == "syntax_error" or reason


HOSTILE = {
    "fences": "```python\n" * 40_000,
    "pairs of fences": "```python\ndef f(x\n```\n" * 18_000,
    "fences of growing length": "".join("`" * (3 + n % 300) + "\n" for n in range(2_600)),
    "beginnings of functions": "def f(x):\n" * 40_000,
    "tags of preformatted text": "<pre>" * 80_000,
    "here-documents": "```\n" + "cat <<EOF\n" * 39_000,
    "back-ticks": "`f`" * 130_000,
    "thoughts": "<think>a</think>\n" * 23_000,
    "template tokens": "<|a|>" * 80_000,
}


@pytest.mark.timeout(120)  # work that grows with the square of the text takes far longer
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_model_in_a_loop_is_read_in_bounded_time(text: str) -> None:
    assert extraction.extract(text, "f").failure is not None


def test_no_more_blocks_are_read_than_anybody_writes() -> None:
    assert len(fences.blocks("```\na\n```\n" * 5_000)) == fences.MAX_BLOCKS


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=15
)


@given(values)
def test_a_value_equals_itself_after_the_journey(value: Any) -> None:
    assert compare.same(wire.decode(wire.encode(value)), value)


def plainly_equal(left: Any, right: Any) -> bool:
    """Equality of JSON values in other words: by type and content, numbers of one value alike, floats nearly so."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        near = isinstance(right, float) and abs(left - right) <= max(1e-9, 1e-6 * max(abs(left), abs(right)))
        return left == right or near
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(plainly_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(plainly_equal(left[key], right[key]) for key in left)
    return bool(left == right)


small = st.sampled_from([None, True, False, 0, 1, 0.0, 1.0, 0.1 + 0.2, 0.3, "", "1", "a", 2**60])
near_misses = st.recursive(
    small, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


@given(near_misses, near_misses)
@settings(max_examples=500)
def test_equal_values_and_only_those_compare_equal(left: Any, right: Any) -> None:
    assert compare.same(left, right) == plainly_equal(left, right)


TESTS = "assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3\n"
COUNTING = "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n"
ANSWERS = (
    *("def f(x):\n    return x", "def f(x):\n    return 1", COUNTING, COUNTING.replace("n += 1", "n += 2")),
    *("def f(x):\n    return x if x != 2 else 1 // 0", "import os\ndef f(x):\n    return x if x < 3 else os._exit(0)"),
    *("import random\ndef f(x):\n    return random.random()", "def f(x", "I cannot.", "def g(x): return x"),
    "import random\nrandom.seed()\ndef f(x):\n    return {'a', 'b', 'c'}",
    "def f(x):\n    open('left', 'a').write('x')\n    return len(open('left').read())",
)
STATEFUL = "assert f(1) == 1 and f(2) == 2\nassert f(3) == 3\n"


@needs_full_isolation
@pytest.mark.parametrize(
    "tests", [TESTS, STATEFUL, "def check(c):\n    for n in (1, 2, 3):\n        assert c(n) == n\n"]
)
def test_a_verdict_does_not_depend_on_what_was_graded_before(tests: str) -> None:
    block = {"type": "coding", "function_name": "f", "test_code": tests, "timeout_s": 5}

    def graded(order: list[int]) -> dict[int, Verdict]:
        return {n: registry.grade(block, Completion(f"```python\n{ANSWERS[n]}\n```")) for n in order}

    order = list(range(len(ANSWERS)))
    first = graded(order)
    for seed in (1, 2):
        random.Random(seed).shuffle(order)

        assert graded(order) == first
