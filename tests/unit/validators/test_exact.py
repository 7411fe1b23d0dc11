from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import exact
from llmbench_validators.types import Completion, ValidationSpecError, Verdict


def grade(text: str, expected: Any = "Red Fox", finish: str | None = "stop", **options: Any) -> Verdict:
    return exact.validate({"type": "exact", "expected": expected, **options}, Completion(text, finish_reason=finish))


def test_the_whole_answer_must_be_the_expected_text() -> None:
    right = grade(" Red Fox\n")

    assert (right.passed, right.score, right.confidence, right.failure) == (True, 1.0, "high", None)
    assert grade("It is a Red Fox").failure == "wrong_answer"
    assert grade("<think>Blue?</think>Red Fox").passed


def test_any_of_several_texts_is_right() -> None:
    assert grade("fox", ["vixen", "fox"]).passed
    assert not grade("dog", ["vixen", "fox"]).passed


def test_case_white_space_and_unicode_form_count_as_the_task_says() -> None:
    assert not grade("red fox").passed
    assert grade("red fox", ignore_case=True).passed
    assert not grade("Red  Fox").passed
    assert grade("Red \n Fox", whitespace="collapse").passed
    assert not grade("Red Fox\n", whitespace="exact").passed
    assert grade("cafe\u0301", "caf\u00e9").passed
    assert not grade("cafe\u0301", "caf\u00e9", nfc=False).passed


def test_the_finding_says_where_the_answer_leaves_the_expected_text() -> None:
    assert grade("Red Ferret").findings == ("The answer differs from the expected text at character 6, 'erret'.",)
    assert grade("Red").findings == ("The answer differs from the expected text at character 4, its end.",)
    assert "only in case" in grade("red  fox").findings[0]


def test_why_there_is_no_answer_is_named() -> None:
    assert grade("").failure == "empty"
    assert grade("Red", finish="length").failure == "budget_exhausted"
    assert grade("I cannot help with this.").failure == "refusal"
    assert grade("x" * 500_000).failure == "output_limit"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"case": "no"}, "unknown key 'case'; valid are type, expected, ignore_case, whitespace, nfc"),
        ({"ignore_case": "yes"}, "ignore_case must be true or false"),
        ({"whitespace": "none"}, "valid are trim, collapse, exact"),
        ({"expected": ""}, "expected must be text"),
        ({"expected": []}, "expected must be a list with at least one"),
        ({"expected": 4}, "expected must be text"),
    ],
)
def test_a_wrong_block_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError, match=message):
        exact.validate({"type": "exact", "expected": "a", **options}, Completion("a"))


# Nothing that could be a reasoning tag, and no mark that is dropped at the start.
plain = st.text(st.characters(exclude_characters="<[\u25c1\ufeff"), min_size=1)


@given(plain, plain.filter(str.strip))
def test_an_answer_passes_exactly_when_it_equals_the_expected_text(text: str, expected: str) -> None:
    assert grade(expected, expected).passed
    assert grade(expected, expected, whitespace="exact").passed
    assert not grade(f"{expected}|{text}", expected, whitespace="exact", nfc=False).passed


def test_line_ends_do_not_count() -> None:
    assert grade("a\r\nb", "a\nb", whitespace="exact").passed
    assert grade("a\nb", "a\r\nb", whitespace="exact").passed


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    assert grade(text, ignore_case=True, whitespace="collapse").score in (0, 1)
