from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llmbench_validators import exam_answer, exam_spec
from llmbench_validators.types import Stage, ValidationSpecError

from .code_support import needs_full_isolation
from .exam_support import BEHAVIOUR, MODULE, OWN_TESTS, answer, block, sat

FULL = dict.fromkeys(block()["pillars"], 20.0)


@needs_full_isolation
def test_a_good_answer_gets_every_point() -> None:
    verdict = sat(answer())

    assert verdict.subscores == FULL, verdict.findings
    assert (verdict.passed, verdict.score, verdict.failure, verdict.confidence) == (True, 1.0, None, "high")
    assert verdict.stages["correctness"] == Stage(1, 1)
    assert (verdict.validator, verdict.extractor, verdict.isolation) == ("exam", "fence", "full")


@needs_full_isolation
def test_an_answer_that_loads_a_key_many_times_at_once_loses_the_pillar_of_concurrency() -> None:
    unlocked = MODULE.replace("        lock = self._locks.setdefault(key, asyncio.Lock())\n", "")
    verdict = sat(answer(unlocked.replace("async with lock:", "if True:")))

    assert not verdict.passed
    assert verdict.failure == "missed_criteria"
    assert verdict.subscores["correctness"] == 20
    assert verdict.subscores["concurrency"] == 8
    assert verdict.subscores["test coverage integrity"] == 0  # its own tests notice
    assert any("one load: the probe returned {'loads': 20" in finding for finding in verdict.findings)


@needs_full_isolation
def test_an_answer_that_is_right_but_badly_written_passes_with_fewer_points() -> None:
    lines = [line for line in MODULE.replace(" -> Any", "").split("\n") if '"""' not in line]
    verdict = sat(answer("\n".join(lines).replace("await load()", "await load(); time.sleep(0.0)")))

    assert verdict.passed
    assert verdict.subscores["concurrency"] == 16
    assert verdict.subscores["readability"] == 15
    assert verdict.score == pytest.approx((20 + 16 + 20 + 15 + 20) / 100)
    assert "concurrency: no_blocking_in_async: line 26 blocks in time.sleep" in verdict.findings


@needs_full_isolation
def test_tests_that_check_nothing_are_found_out_by_faults_in_the_code() -> None:
    empty = "import unittest\nimport ttl_cache\n\n\nclass T(unittest.TestCase):\n"
    empty += "".join(f"    def test_{n}(self):\n        ttl_cache.TTLCache(1)\n\n" for n in range(5))
    verdict = sat(answer(tests=empty))

    assert not verdict.passed
    assert 5 <= verdict.subscores["test coverage integrity"] < 12
    assert sum(verdict.subscores.values()) >= 70  # the minimum of each pillar is what fails it
    assert any("faults went unnoticed: line" in finding for finding in verdict.findings)


@needs_full_isolation
@pytest.mark.parametrize(
    "peeking",
    [
        f"SOURCE = open('ttl_cache.py').read()\n\n\ndef test_text():\n    assert SOURCE == {MODULE!r}\n",
        "import ttl_cache\n\n\ndef test_code():\n    assert len(ttl_cache.TTLCache.get.__code__.co_code) > 3\n",
        "import sys\n\n\ndef test_modules():\n    assert sys.modules\n",
    ],
)
def test_tests_that_look_at_the_text_of_the_code_are_worth_nothing(peeking: str) -> None:
    only = {"test coverage integrity": [{"mutation": 5}]}
    verdict = sat(answer(tests=peeking), pillars={**block()["pillars"], **only})

    assert verdict.subscores["test coverage integrity"] == 0


@needs_full_isolation
def test_blocks_without_paths_are_told_apart_by_what_they_hold() -> None:
    verdict = sat(f"The cache:\n```python\n{MODULE}```\nIts tests:\n```python\n{OWN_TESTS}```\n")

    assert verdict.passed
    assert verdict.extractor == "blocks"


@needs_full_isolation
def test_without_its_own_tests_an_answer_loses_that_pillar_only() -> None:
    verdict = sat(f"```python ttl_cache.py\n{MODULE}```")

    assert verdict.subscores == {**FULL, "test coverage integrity": 0.0}
    assert verdict.findings[0] == "there is no test_ttl_cache.py"
    assert not verdict.passed


@needs_full_isolation
def test_code_that_hangs_or_dies_loses_what_depends_on_it_and_nothing_else() -> None:
    verdict = sat(answer(MODULE.replace("await load()", "[0 for _ in iter(int, 1) if 0]")), timeout_s=0.3)

    assert verdict.subscores["correctness"] == 0
    assert verdict.subscores["structure"] == 20
    assert verdict.failure == "missed_criteria"


SUPPORT = "def doubled(value):\n    return 2 * value\n"
SUPPORTED = """
from helpers import doubled

def test_help():
    assert doubled(2) == 4
"""


@needs_full_isolation
def test_what_the_checks_import_cannot_be_changed_by_an_answer() -> None:
    pillars = {**block()["pillars"], "correctness": [{"tests": SUPPORTED}]}
    text = answer() + "\n```python helpers.py\ndef doubled(value):\n    return 5\n```\n"
    verdict = sat(text, pillars=pillars, support={"helpers.py": SUPPORT})

    assert verdict.subscores["correctness"] == 20, verdict.findings


def test_an_answer_that_imports_what_only_the_checks_may_is_cheating() -> None:
    verdict = sat(answer(f"import helpers\n{MODULE}"), support={"helpers.py": SUPPORT})

    assert verdict.failure == "cheating"


@needs_full_isolation
def test_the_same_answer_gets_the_same_verdict_again() -> None:
    spoiled = answer(MODULE.replace("< entry[0]", "<= entry[0]"))

    assert sat(spoiled) == sat(spoiled)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("", "empty"),
        ("I cannot help with that.", "refusal"),
        ("A cache is a dictionary.", "no_code"),
        (f"```python test_ttl_cache.py\n{OWN_TESTS}```", "no_code"),
        ("```python ttl_cache.py\nclass TTLCache(:\n```", "syntax_error"),
        ("```python ttl_cache.py\nimport gc\nclass TTLCache: pass\n```", "cheating"),
    ],
)
def test_an_answer_that_cannot_be_examined_is_named_for_what_it_is(text: str, failure: str) -> None:
    verdict = sat(text)

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.0, failure)
    assert verdict.subscores == dict.fromkeys(FULL, 0.0)


def changed(check: Any) -> dict[str, Any]:
    return {"pillars": {**block()["pillars"], "correctness": [check]}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pillar": {}}, r"unknown key 'pillar'; valid are type, language, module, tests, files, support, pillars"),
        ({"module": "ttl_cache"}, r"module must be the path of a Python file"),
        ({"module": "../a.py"}, r"module: '\.\./a\.py' is no path inside the project"),
        ({"pillars": {"one": []}}, r"pillars must map 5 names to lists of checks"),
        (changed({}), r"pillars\.correctness\[0\]: must be a mapping with exactly one of rule, probe, tests"),
        (changed({"rule": "a", "probe": "b"}), r"exactly one of"),
        (changed({"rule": "short"}), r"rule is 'short'; valid are require_definitions, .*no_mutable_defaults"),
        (changed({"rule": "max_nesting"}), r"value must be a number"),
        (changed({"rule": "max_nesting", "value": 2, "names": ["x"]}), r"unknown key 'names'; valid are rule, name"),
        (changed({"rule": "forbid_calls"}), r"names is missing"),
        (changed({"rule": "no_bare_except", "file": "x.py"}), r"file is 'x\.py'; valid are ttl_cache\.py, test_ttl"),
        (changed({"probe": "x = 1", "expected": 1}), r"probe must define a function probe\(\)"),
        (changed({"probe": "def probe(): pass"}), r"expected is missing"),
        (changed({"probe": "def probe(:"}), r"probe: is no Python"),
        (changed({"tests": "x = "}), r"tests: is no Python"),
        (changed({"tests": BEHAVIOUR, "weight": 2}), r"unknown key 'weight'; valid are tests, name, points"),
        (changed({"tests": BEHAVIOUR, "points": 0}), r"points must be a number above 0"),
        (changed({"mutation": 1000}), r"mutation must be at most 40"),
        (changed({"mutation": 5, "kill": 2}), r"kill must be a number from 0\.05 to 1"),
        ({"pass_mark": 101}, r"pass_mark must be a number from 0 to 100"),
        ({"pillar_minimum": 21}, r"pillar_minimum must be a number from 0 to 20"),
        ({"support": {"a.py": "x = "}}, r"support\[a\.py\]: is no Python"),
        ({"reference_solution": 1}, r"reference_solution must be the text of a right answer"),
        ({"timeout_s": -1}, r"timeout_s must be a number above 0"),
    ],
)
def test_a_wrong_block_is_refused_with_what_is_allowed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError, match=message):
        sat("x", **changes)


def test_own_tests_cannot_be_asked_for_without_saying_where_they_are() -> None:
    spec = {key: value for key, value in block().items() if key != "tests"}

    with pytest.raises(ValidationSpecError, match=r"own_tests needs the key tests"):
        exam_spec.parse(spec)


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["```", "def f(): pass", "# ttl_cache.py", "<think>"])).map("\n".join)
)
@settings(max_examples=200, deadline=None)
def test_reading_an_answer_never_fails(text: str) -> None:
    sheet = exam_answer.read(text, exam_spec.parse(block()), None)

    assert ("ttl_cache.py" in sheet.files) == (sheet.failure is None)


@needs_full_isolation
@pytest.mark.parametrize(
    "module",
    [
        "class TTLCache:\n    x = " + "1 + " * 900 + "1\n",
        "class TTLCache:\n    x = " + "[" * 90 + "]" * 90 + "\n",
        "class TTLCache: pass\n" + "".join(f"class C{n}(C{n - 1}, C{n - 1}): pass\n" for n in range(1, 60)),
        "class TTLCache: pass\nx = '\ud800'\n",
        "class TTLCache: pass\n" + "# ü\n" * 60_000,
    ],
)
def test_odd_code_is_examined_like_any_other(module: str) -> None:
    verdict = sat(answer(module, tests=module), timeout_s=1)

    assert not verdict.passed
