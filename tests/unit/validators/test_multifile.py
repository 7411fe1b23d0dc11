from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion, Stage, ValidationSpecError

from .code_support import needs_full_isolation
from .multifile_support import FILES, RIGHT_REPORT, RIGHT_STOCK, TESTS, block, fenced, graded, single

BOTH = {"shop/stock.py": RIGHT_STOCK, "shop/report.py": RIGHT_REPORT}


@needs_full_isolation
def test_a_right_answer_passes_and_says_how_far_the_verdict_can_be_trusted() -> None:
    verdict = graded(fenced(BOTH))

    assert (verdict.passed, verdict.score, verdict.failure, verdict.confidence) == (True, 1.0, None, "high")
    assert (verdict.validator, verdict.extractor, verdict.isolation) == ("coding_multifile", "fence", "full")
    assert verdict.stages == {"integration": Stage(2, 2)}
    assert verdict.findings == ("trust: weak (the tests ran in the same process as the answer)",)
    assert "### shop/report.py\n" + RIGHT_REPORT in verdict.graded_text


@needs_full_isolation
def test_a_half_right_answer_gets_the_share_of_tests_it_passes_and_names_what_is_missing() -> None:
    verdict = graded(fenced({"shop/stock.py": RIGHT_STOCK}))

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.5, "wrong_answer")
    assert verdict.findings[0] == "expected file shop/report.py was not touched"
    assert verdict.findings[1] == "shop_test.py: StockTest.test_total: AssertionError: 0 != 5"


@needs_full_isolation
def test_the_project_as_it_was_given_fails() -> None:
    verdict = graded(fenced({path: FILES[path] for path in BOTH}))

    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert "shop/stock.py is unchanged" in verdict.findings


@needs_full_isolation
@pytest.mark.parametrize("path", ["../shop/stock.py", "/shop/stock.py", "a/../../b.py", ".hidden.py", "a/.git/x.py"])
def test_a_file_outside_the_project_is_refused_and_the_others_count(path: str) -> None:
    verdict = graded(fenced({**BOTH, path: "x = 1\n"}))

    assert verdict.passed
    assert verdict.findings[0].startswith(f"refused file {path!r}")


@needs_full_isolation
def test_an_answer_cannot_replace_the_tests_or_what_lies_beside_them() -> None:
    held = {"helper.py": "WANTED = 4\n", "work_test.py": "from helper import WANTED\nfrom work import f\n\n\n"}
    held["work_test.py"] += "def test_f():\n    assert f() == WANTED\n"
    answer = "```python helper.py\nWANTED = 1\n```\n```python work.py\nopen('helper.py', 'w').write('WANTED = 1')\n"
    verdict = graded(
        answer + "def f():\n    return 1\n```", files={}, modified_files=["work.py"], integration_tests=held
    )

    assert not verdict.passed
    assert "helper.py belongs to the tests; the answer's version is left out" in verdict.findings


@needs_full_isolation
def test_tests_of_the_answers_own_are_left_out() -> None:
    verdict = graded(fenced({**BOTH, "tests/test_mine.py": "import sys\nsys.modules.clear()\n"}))

    assert verdict.passed
    assert "tests/test_mine.py is a test of the answer's own and is left out" in verdict.findings


@needs_full_isolation
def test_a_new_file_may_be_added_and_an_old_one_removed() -> None:
    moved = RIGHT_REPORT.replace(
        "return sum(stock.items.values())", "from shop.sums import both\n    return both(stock)"
    )
    answer = fenced({"shop/stock.py": RIGHT_STOCK, "shop/report.py": moved})
    answer += "\n```python shop/sums.py\ndef both(stock):\n    return sum(stock.items.values())\n```\n"
    answer += "```diff\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-1 / 0\n```\n"

    assert graded(answer, files={**FILES, "old.py": "1 / 0\n"}).passed


@needs_full_isolation
@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("def f():\n    return 1", "wrong_answer"),
        ("def f():\n    raise KeyError('k')", "runtime_error"),
        ("def f():\n    while True: pass", "timeout"),
        ("def f():\n    return bytearray(1 << 40)", "memory_limit"),
        ("def f():\n    import socket; socket.socket()", "blocked"),
        ("def f():\n    open('/etc/passwd')", "blocked"),
        ("def g():\n    return 2", "missing_function"),
        ("import nowhere_to_be_found", "import_error"),
        ("import os\nos.dup2(1, 2) if 0 else None\ndef f(): return 2", "cheating"),
        ("def f() return 2", "syntax_error"),
    ],
)
def test_the_failure_word_says_what_went_wrong(code: str, failure: str) -> None:
    verdict = single(code, "from work import f\n\n\ndef test_f():\n    assert f() == 2\n", timeout_s=1)

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.0, failure)


@needs_full_isolation
def test_plain_asserts_test_functions_classes_and_coroutines_are_all_tests() -> None:
    code = "async def later():\n    return 2\n\n\ndef now():\n    return 2\n"
    plain = "import asyncio, work\nassert work.now() == asyncio.run(work.later())\n"
    named = "import work\n\n\nclass TestIt:\n    def setup_method(self):\n        self.n = 2\n\n    def test_n(self):\n"
    named += "        assert work.now() == self.n\n\n\nasync def test_later():\n    assert await work.later() == 2\n"
    verdict = single(code, "", integration_tests=[{"code": plain, "expected": "pass"}, {"code": named}])

    assert verdict.stages == {"integration": Stage(3, 3)}


@needs_full_isolation
def test_each_test_module_starts_from_a_fresh_project() -> None:
    code = "import os\n\n\ndef first():\n    try:\n        open('seen', 'x').close()\n    except FileExistsError:\n"
    code += "        return False\n    return True\n"
    tests = [{"code": "from work import first\nassert first()\n"}] * 3

    assert single(code, "", integration_tests=tests).stages == {"integration": Stage(3, 3)}


@needs_full_isolation
def test_after_a_few_timeouts_the_rest_is_not_waited_for() -> None:
    tests = [{"code": "from work import f\nassert f() == 2\n"}] * 200
    verdict = single("def f():\n    while True: pass", "", integration_tests=tests, timeout_s=0.2)

    assert (verdict.failure, verdict.stages) == ("timeout", {"integration": Stage(0, 200)})


@needs_full_isolation
def test_tests_the_test_file_skips_do_not_count_and_those_the_answer_skips_fail() -> None:
    tests = "import unittest\nfrom work import f\n\n\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n"
    tests += "    def test_a(self):\n        self.fail()\n\n    def test_b(self):\n        self.assertEqual(f(), 1)\n"

    assert single("def f():\n    return 1", tests).stages == {"integration": Stage(1, 1)}
    skipping = single("import unittest\ndef f():\n    raise unittest.SkipTest('no')", tests)
    assert (skipping.passed, skipping.score) == (False, 0.0)


@needs_full_isolation
def test_grading_again_gives_the_same_verdict() -> None:
    code = (
        "import random\n\n\nclass Odd:\n    pass\n\n\ndef f():\n    return [Odd(), random.random(), {'b', 'a', 'c'}]\n"
    )
    tests = "import unittest, work, os\n\n\nclass T(unittest.TestCase):\n    def test(self):\n"
    tests += "        self.assertEqual(work.f(), os.getcwd())\n"

    assert single(code, tests) == single(code, tests)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I'm sorry, I can't help with that.", "refusal"),
        ("Change `total` so that it sums the counts.", "no_code"),
        ("```python\nprint('which file is this?')\n```", "no_code"),
        ("```python ../x.py\nx = 1\n```", "format"),
        ("```diff\n--- a/shop/stock.py\n+++ b/shop/stock.py\n@@ -1 +1 @@\n-nothing\n+like it\n```", "format"),
        ("```python shop/stock.py\ndef broken(:\n```", "syntax_error"),
        ("<think>```python shop/stock.py\nx = 1\n```", "no_code"),
    ],
)
def test_an_answer_without_usable_files_is_named_for_what_it_is(answer: str, failure: str) -> None:
    verdict = graded(answer)

    assert (verdict.passed, verdict.score, verdict.failure) == (False, 0.0, failure)
    assert verdict.findings


def test_an_answer_cut_off_before_its_first_file_ran_out_of_budget() -> None:
    verdict = registry.grade(block(), Completion("First I would", finish_reason="length"))

    assert verdict.failure == "budget_exhausted"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"file": {}}, r"unknown key 'file'; valid are .*modified_files, integration_tests, timeout_s"),
        ({"language": "rust"}, r"language is 'rust'; valid are python"),
        ({"files": ["a.py"]}, r"files: must be a mapping of paths to texts"),
        ({"files": {"../a.py": ""}}, r"files: '\.\./a\.py' is no path inside the project \(outside the project\)"),
        ({"files": {"a.py": 3}}, r"files: 'a\.py' must hold text"),
        ({"modified_files": "a.py"}, r"modified_files must be a list"),
        ({"integration_tests": []}, r"integration_tests must be a list of tests or a mapping"),
        ({"integration_tests": [{"code": "x ="}]}, r"integration_tests\[0\]\.code: is no Python \(line 1"),
        ({"integration_tests": [{"code": "x", "expected": "fail"}]}, r"the only valid value is pass"),
        ({"integration_tests": [{"code": "x", "timeout": 3}]}, r"unknown key 'timeout'; valid are name, path, code"),
        ({"integration_tests": {"a_test.py": "x = 1"}}, r"no file holds a test"),
        ({"timeout_s": 0}, r"timeout_s must be a number above 0"),
        ({"memory_mb": 1}, r"memory_mb must be from 16 to 16384"),
    ],
)
def test_a_wrong_block_is_refused_with_what_is_allowed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError, match=message):
        graded("x", **changes)


def test_the_small_projects_tests_are_what_the_other_tests_take_them_for() -> None:
    assert TESTS.count("def test_") == 2


HIDDEN_TEST = {"code": "from shop.stock import Stock\n\n\ndef test_secret():\n    assert Stock().items == {41: 7}\n"}


@needs_full_isolation
def test_hidden_tests_count_but_what_they_ask_is_not_told() -> None:
    verdict = graded(fenced(BOTH), hidden_tests=[HIDDEN_TEST], reference_solution=fenced(BOTH))

    assert (verdict.passed, verdict.failure) == (False, "wrong_answer")
    assert verdict.score == pytest.approx(2 / 3, abs=1e-6)
    assert verdict.stages == {"integration": Stage(2, 2), "hidden": Stage(0, 1)}
    assert "hidden: 1 of 1 tests failed" in verdict.findings
    assert not [finding for finding in verdict.findings if "41" in finding or "secret" in finding]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_tests": {"a.py": ""}}, "hidden_tests: must be a list"),
        ({"hidden_tests": [{"code": ""}]}, r"hidden_tests\[0\].code: must be Python"),
        ({"reference_solution": {"a.py": ""}}, "reference_solution: must be the text"),
    ],
)
def test_wrong_hidden_tests_and_reference_solutions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError, match=message):
        graded("", **changes)
