from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llmbench_validators import arguments, wire
from llmbench_validators.types import Stage

from .code_support import grade, needs_full_isolation

IN_PLACE = "def f(x):\n    x.sort()\n"
COPYING = "def f(x):\n    return sorted(x)\n"

LOOKED_AT = {
    "check": "def check(candidate):\n    a = [3, 1, 2]\n    candidate(a)\n    assert a == [1, 2, 3]\n",
    "assert": "a = [3, 1, 2]\nf(a)\nassert a == [1, 2, 3]\n",
    "by keyword": "a = [3, 1, 2]\nf(x=a)\nassert a == [1, 2, 3]\n",
    "inside another": "d = {'a': [3, 1, 2]}\nf(d['a'])\nassert d == {'a': [1, 2, 3]}\n",
    "through map": "rows = [[2, 1], [3, 1]]\nlist(map(f, rows))\nassert rows == [[1, 2], [1, 3]]\n",
    "after an exception": "a = [3, 1, 'b']\ntry:\n    f(a)\nexcept TypeError:\n    a.pop()\nf(a)\nassert a == [1, 3]\n",
}


@needs_full_isolation
@pytest.mark.parametrize("tests", LOOKED_AT.values(), ids=LOOKED_AT.keys())
def test_tests_see_what_a_call_did_to_its_arguments(tests: str) -> None:
    assert grade(IN_PLACE, test_code=tests).passed
    assert not grade(COPYING, test_code=tests).passed


@needs_full_isolation
def test_every_name_for_a_changed_object_sees_the_change() -> None:
    tests = """row, other = [1], [2]
rows = [row, other]
f(rows)
assert rows == [[2], [1, 9]]
assert rows[1] is row and rows[0] is other
assert row == [1, 9]
"""

    assert grade("def f(rows):\n    rows[0].append(9)\n    rows.reverse()\n", test_code=tests).passed


@needs_full_isolation
@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("def f(d):\n    d['b'] = d.pop('a')\n", "d = {'a': [1]}\nf(d)\nassert d == {'b': [1]}\n"),
        ("def f(s):\n    s.add(2)\n    s.remove(1)\n", "s = {1}\nf(s)\nassert s == {2}\n"),
        ("def f(b):\n    b += b'c'\n", "b = bytearray(b'a')\nf(b)\nassert b == b'ac'\n"),
        (
            "def f(d):\n    d['x'].append(1)\n",
            "import collections as c\nd = c.defaultdict(list, x=[])\nf(d)\nassert d['x'] == [1] and d['y'] == []\n",
        ),
    ],
)
def test_dicts_sets_and_bytearrays_are_changed_in_place_too(code: str, tests: str) -> None:
    assert grade(code, test_code=tests).passed


@needs_full_isolation
def test_an_object_put_into_an_argument_fails_the_tests_that_look_and_no_others() -> None:
    code = "class Seen: pass\ndef f(d):\n    d['seen'] = Seen()\n    return 1\n"
    verdict = grade(code, test_code="d = {}\nassert f(d) == 1\nassert d == {}\n")

    assert verdict.stages == {"base": Stage(1, 2)}


@needs_full_isolation
def test_expected_can_be_what_becomes_of_the_first_argument() -> None:
    tests = [{"args": [[3, 1]], "expected": [1, 3]}, {"input": [2, 1, 2], "expected": [1, 2, 2]}]
    spec: dict[str, Any] = {"base_tests": tests, "compare": "argument"}
    right = grade(IN_PLACE, **spec, randomizable=True, reference_solution=IN_PLACE)

    assert right.passed
    assert right.stages["random"].total > 5
    assert grade(COPYING, **spec).findings[0] == "base test 1: f([3, 1]) left [3, 1], expected [1, 3]"


@needs_full_isolation
def test_a_forged_change_is_cheating() -> None:
    code = """
import socket, struct
def f(x):
    for d in range(3, 64):
        try: s = socket.socket(fileno=d)
        except OSError: continue
        b = b'{"value":null,"changes":[[99,[1]]]}'
        s.sendall(struct.pack('!I', len(b)) + b)
    while True: pass
"""
    verdict = grade(code, test_code="a = [1]\nf(a)\nassert a == [1]\n", timeout_s=2)

    assert (verdict.passed, verdict.failure) == (False, "cheating")


leaves = st.none() | st.integers(-3, 3) | st.text(max_size=2)
nested = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
changed = st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["clear", "swap", "add", "self"]), nested), max_size=4)


def mutate(value: Any, steps: list[tuple[int, str, Any]]) -> None:
    """Change some containers of ``value``; what is put in may be one of them, though never one that holds it."""
    for where, how, extra in steps:
        found = arguments.containers(value)
        if not found:
            return
        target = found[where % len(found)]
        if how == "clear":
            target.clear()
        elif how == "swap" and isinstance(target, list):
            target.reverse()
        else:
            new = (
                found[-1]
                if how == "self" and not arguments.containers(found[-1])[1:] and found[-1] is not target
                else extra
            )
            target.append(new) if isinstance(target, list) else target.update(new=copy.copy(new))


@given(nested, changed)
@settings(max_examples=300)
def test_changes_carried_over_give_the_very_same_content(value: Any, steps: list[tuple[int, str, Any]]) -> None:
    there = wire.decode(wire.encode([value]))
    watched = arguments.Watched(there)
    mutate(there, steps)
    here = [value]

    arguments.apply(here, watched.changes())

    assert here == there


@given(nested, st.recursive(leaves | st.sampled_from([{"ref": 0}, {"odd": "x"}, [0, 0]]), st.lists))
def test_no_claim_of_changes_does_more_than_be_refused(value: Any, claim: Any) -> None:
    try:
        arguments.apply([value], claim)
    except wire.Malformed:
        return
