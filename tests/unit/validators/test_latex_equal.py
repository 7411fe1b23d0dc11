"""Formulas compared by value: with the extra ``math`` where it is installed, never otherwise."""

from __future__ import annotations

import pytest
from llmbench_validators import latex_equal, reasoning
from llmbench_validators.types import Completion, Verdict

needs_math = pytest.mark.skipif(not latex_equal.available(), reason="the extra math is not installed")


def graded(expected: str, answer: str) -> Verdict:
    spec = {"type": "reasoning", "expected_answer": expected, "answer_type": "latex"}
    return reasoning.validate(spec, Completion(f"Therefore $\\boxed{{{answer}}}$."))


@needs_math
@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"\sqrt{2}", r"\frac{\sqrt{8}}{2}"),
        (r"(x+1)^2", r"x^2 + 2x + 1"),
        (r"\frac{\pi}{2}", r"\frac{1}{2}\pi"),
        (r"\{1, 2\}", r"\{2, 1\}"),
        (r"x < 3", r"3 > x"),
        (r"2^{10}", "1024"),
    ],
)
def test_formulas_of_the_same_value_are_equal(expected: str, answer: str) -> None:
    verdict = graded(expected, answer)
    assert verdict.passed
    assert verdict.version.endswith("+math")


@needs_math
@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"(1, 2)", r"(2, 1)"),
        (r"\{1, 2\}", r"(1, 2)"),
        (r"[0, 1)", r"[0, 1]"),
        (r"\frac{1}{2\pi}", r"\frac{1}{2}\pi"),
        (r"\sqrt{2}", "1.41421"),
        (r"3 \pm \sqrt{2}", r"3 + \sqrt{2}"),
        (r"\text{east}", r"\text{seat}"),
        (r"x = 3", r"y = 3"),
        (r"10\%", "0.1"),
        (r"3\frac{1}{2}", r"\frac{3}{2}"),
        ("x", r"\frac{1}{2"),
    ],
)
def test_other_formulas_are_not(expected: str, answer: str) -> None:
    assert not graded(expected, answer).passed


@needs_math
def test_a_formula_that_would_be_computed_for_ever_is_not_equal_and_the_next_is_compared() -> None:
    assert not graded(r"\sqrt{2}", r"9^{9^{9^9}}").passed
    assert graded(r"\sqrt{2}", r"\frac{\sqrt{8}}{2}").passed


@pytest.mark.parametrize(
    "text", ["", "x" * 301, "two or three", "5%", "1,234", "3 1/2", "2^1/2", "1\n2", "no", "is", "a east b"]
)
def test_what_has_no_certain_value_is_compared_by_its_spelling(text: str) -> None:
    assert not latex_equal.comparable(text)
    assert not latex_equal.equal(text, text)


def test_without_the_extra_spelling_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latex_equal, "available", lambda: False)
    assert not graded(r"\sqrt{2}", r"\frac{\sqrt{8}}{2}").passed
    verdict = graded(r"\frac{\pi}{2}", r"\dfrac{ \pi }{2}")
    assert verdict.passed
    assert not verdict.version.endswith("+math")
