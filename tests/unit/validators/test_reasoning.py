"""The reasoning validator: which answer it finds, and what it takes for the same answer."""

from __future__ import annotations

import pytest
from llmbench_validators.reasoning import VERSION, validate
from llmbench_validators.types import Completion, ValidationSpecError

from .reasoning_support import check, grade


@pytest.mark.parametrize(
    ("text", "extractor"),
    [
        ("4 + 4 = 9, I believe\n#### 8", "hash"),
        ("It could be 9.\n\\[\\boxed{8}\\]\nThere were 3 steps.", "boxed"),
        ("First 3, then 5. <answer>8</answer> Done in 2 steps.", "tag"),
        ('{"steps": "3 and then 9", "answer": 8}', "json"),
        ('```json\n{"final_answer": "8"}\n```', "json"),
        ("Three and five. The final answer is 8, after 2 steps.", "cue"),
        ("### Answer\n\n8 apples\n", "cue"),
        ("**Answer:** 8", "cue"),
        ("Die Antwort lautet 8.", "cue"),
        ("La respuesta es 8.", "cue"),
        ("答案是8", "cue"),
        ("8", "bare"),
        ("$8.00", "bare"),
        ("There are 3 and 5 of them.\nSo the basket has 8 apples for 2 children.", "conclusion"),
        ("I add 3 and 5. That is how I get to 8", "whole"),
    ],
)
def test_the_answer_is_looked_for_where_it_is_most_plainly_marked(text: str, extractor: str) -> None:
    verdict = grade(8, text, "number")
    assert verdict.passed
    assert verdict.extractor == extractor


def test_a_marked_answer_counts_more_than_a_right_number_elsewhere() -> None:
    check(
        [
            ("8", "So we get 8 apples.\n#### 18", False),
            ("8", "3 + 5 = 8, the answer is 7.", False),
            ("8", "\\boxed{7} because 8 is even", False),
            ("8", '{"reasoning": "the answer is 8", "answer": 7}', False),
        ],
        "number",
    )


def test_a_guess_is_marked_as_low_confidence_and_a_stated_answer_as_high() -> None:
    assert grade(8, "I add 3 and 5. That is how I get to 8", "number").confidence == "low"
    assert grade(8, "The answer is 8.", "number").confidence == "high"


def test_the_last_correction_wins() -> None:
    check(
        [
            ("18", "The answer is 16. Wait, I forgot two. The answer is 18.", True),
            ("16", "The answer is 16. Wait, I forgot two. The answer is 18.", False),
            ("18", "The answer is 16... no wait, I mean 18.", True),
            ("18", "\\boxed{16}. Hmm, that was wrong. Final answer: 18", True),
            ("16", "The answer is 16. Actually, that is correct.", True),
            ("16", "The answer is 16. Let me double check: 4 * 4 = 16. Yes.", True),
            ("16", "The answer is 16. In other words, the answer is 16.", True),
        ],
        "number",
    )


def test_only_whole_numbers_are_compared_never_their_digits() -> None:
    check(
        [
            ("11", "The answer is 711", False),
            ("12", "The answer is 120", False),
            ("3", "The answer is 3.5", False),
            ("3", "The answer is 3.", True),
            ("-4", "x = 4", False),
            ("4", "x = -4", False),
            ("9", "57-48 = 9", True),
            ("2", "B2", False),
            ("4", "\\boxed{4\\sqrt{2}}", False),
            ("7", "\\boxed{\\pm 7}", False),
            ("12", "at 12:30", False),
        ],
        "number",
    )


def test_the_spelling_of_a_number_does_not_matter() -> None:
    check(
        [
            ("1250000", "1,250,000", True),
            ("1,250", "1250", True),
            ("1250", "1\u00a0250", True),
            ("1250", "1{,}250", True),
            ("1250", "1'250", True),
            ("1250", "The answer is 1 250 francs", True),
            ("1234.5", "Answer: 1.234,5", True),
            ("1000000", "1.000.000", True),
            ("2.5", "2,5", True),
            ("29", "$29.00", True),
            ("-5", "-$5", True),
            ("-4", "x = \u2212 4", True),
            ("0.5", ".5", True),
            ("300000000", "3 \u00d7 10^8 m/s", True),
            ("0.003", "$3 \\times 10^{-3}$", True),
            ("0.00012", "1.2e-4", True),
            ("3000000", "3 million", True),
            ("7/3", "2\\frac{1}{3}", True),
            ("0.5", "½", True),
            ("42", "forty-two", True),
            ("42", "The answer is forty-two sheep.", True),
            ("42", "(42)", True),
            ("42", "**42**!", True),
            ("25", "25 °C", True),
        ],
        "number",
    )


def test_an_answer_is_the_result_of_its_equation_not_its_first_term() -> None:
    check(
        [
            ("9", "The answer is 57-48 = 9.", True),
            ("57", "The answer is 57-48 = 9.", False),
            ("18", "The answer is 18 (since 9 * 2 = 18, half of 36).", True),
            ("7", "The answer is 7, because 7 + 3 = 10.", True),
            ("10", "The answer is f(3) = 10", True),
            ("18", "The answer is not 16 but 18.", True),
            ("12", "The answer is 12, not 13.", True),
        ],
        "number",
    )


@pytest.mark.parametrize(
    "text",
    ["The answer is 5 or 6.", "The answer is between 5 and 10.", "The answer is 5-10.", "\\boxed{5, 6}", "5 to 10"],
)
def test_an_answer_that_leaves_a_choice_is_wrong(text: str) -> None:
    verdict = grade(5, text, "number")
    assert not verdict.passed
    assert verdict.failure == "wrong_answer"


def test_two_spellings_of_one_value_are_no_choice() -> None:
    check([("0.75", "The answer is 3/4 or 0.75.", True), ("0.75", "The answer is 0.75 or 75%", True)], "number")


def test_a_percentage_is_a_fraction_only_where_the_task_says_so() -> None:
    check(
        [("60%", "60 percent", True), ("60%", "0.6", True), ("60%", "60", True), ("60%", "0.6%", False)], "percentage"
    )
    check([("60", "60%", True), ("0.6", "60%", False)], "number")
    check([("3/5", "0.6", True), ("3/5", "6/10", True), ("3/5", "60%", False), ("3/5", "5/3", False)], "fraction")


def test_a_tolerance_is_an_absolute_difference_and_lowers_the_confidence() -> None:
    close = grade(3.14159, "The answer is 3.1416.", "number", tolerance=0.001)
    assert close.passed
    assert close.confidence == "medium"
    assert not grade(3.14159, "The answer is 3.1.", "number").passed
    assert not grade(0, "The answer is 0.001.", "number", tolerance=0.0).passed
    assert grade("40/3", "The answer is 13.33.", "number", tolerance=0.01).passed


def test_reasoning_is_no_answer() -> None:
    check(
        [
            ("25", "<think>It is 25.</think> The answer is 20.", False),
            ("25", "<think>Maybe 20?</think> The answer is 25.", True),
            ("25", "Maybe 20, or 30.</think>25", True),
            ("25", "<think>The answer is 25. But let me", False),
        ],
        "number",
    )


def test_a_question_the_model_asks_itself_afterwards_is_ignored_and_an_echoed_one_too() -> None:
    assert grade(9, "#### 9\n\nQuestion: And with 4 cows?\nAnswer: #### 6", "number").passed
    assert not grade(7, "Question: How many of the 7 boxes?\n\nAnswer: 3", "number").passed
    prompt = "How many boxes are there? The answer is 7 or 8."
    assert grade(8, f"{prompt}\nI count 8.", "number", prompt=prompt).passed


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (42, "The answer is 42."),
        (0.5, "The answer is 1/2."),
        ("60%", "0.6"),
        ("3/4", "0.75"),
        ("C", "(C)"),
        ("2024-03-05", "March 5, 2024"),
        ("15:30", "3:30 pm"),
        ("(1, 2)", "(1,2)"),
        ([1, 2], "(1, 2)"),
        ("{1, 2}", "2 and 1"),
        ("Paris", "It is Paris."),
    ],
)
def test_the_kind_of_answer_is_inferred_from_the_expected_one(expected: object, text: str) -> None:
    assert grade(expected, text).passed


def test_every_pattern_and_the_answer_are_worth_the_same() -> None:
    spec = {"type": "reasoning", "expected_answer": "3", "extract_patterns": ["alice.*fish", r"bob.*\bdog"]}
    half = validate(spec, Completion("Alice has the fish, Bob the cat. The answer is 3."))
    assert not half.passed
    assert half.score == pytest.approx(2 / 3)
    assert half.confidence == "medium"
    assert half.failure == "wrong_answer"
    assert half.findings == ("Pattern 2 did not match.",)
    assert (half.stages["answer"].passed, half.stages["patterns"].total) == (1, 2)
    whole = validate(spec, Completion("Alice has the fish, Bob the dog. The answer is 3."))
    assert (whole.passed, whole.score) == (True, 1.0)


def test_patterns_alone_are_enough_for_a_task() -> None:
    spec = {"type": "reasoning", "extract_patterns": ["fish", "dog"]}
    assert validate(spec, Completion("a dog and a fish")).passed
    assert validate(spec, Completion("a dog")).score == 0.5
    assert validate(spec, Completion("")).failure == "empty"


@pytest.mark.parametrize(
    ("text", "finish_reason", "failure"),
    [
        ("", "stop", "empty"),
        ("  \n", "stop", "empty"),
        ("<think>done</think>", "stop", "empty"),
        ("", "length", "budget_exhausted"),
        ("<think>3 + 4 is", "length", "budget_exhausted"),
        ("<think>3 + 4 is 7", "stop", "format"),
        ("First 3 boxes, then 7", "length", "budget_exhausted"),
        ("The answer is 7", "length", "budget_exhausted"),
        ("I'm sorry, I can't answer that.", "stop", "refusal"),
        ("I cannot help with 7 boxes.", "stop", "refusal"),
        ("It depends on the weather.", "stop", "format"),
        ("The answer is 8.", "stop", "wrong_answer"),
        ("The answer is 8. And now", "length", "wrong_answer"),
    ],
)
def test_the_failure_says_whether_an_answer_was_given_at_all(text: str, finish_reason: str, failure: str) -> None:
    verdict = grade(7, text, "number", finish_reason=finish_reason)
    assert verdict.failure == failure
    assert verdict.findings
    assert verdict.score == 0.0


def test_an_answer_given_before_the_cut_counts() -> None:
    assert grade(7, "The answer is 7. To check this, we", "number", finish_reason="length").passed


def test_a_verdict_names_what_was_judged_and_by_which_version() -> None:
    verdict = grade(8, "3 and 5. The answer is 8 apples.", "number")
    assert (verdict.validator, verdict.version) == ("reasoning", VERSION)
    assert verdict.graded_text == "8 apples"
    assert verdict.failure is None
    assert verdict.isolation is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"expected_answer": 1, "colour": 2}, "unknown key 'colour'; allowed: type, expected_answer, answer_type"),
        ({}, "expected_answer is missing"),
        ({"expected_answer": ""}, "expected_answer is empty"),
        ({"expected_answer": False}, "expected_answer must be text, a number or a list, not False; quote yes and no"),
        ({"expected_answer": float("nan")}, "expected_answer must be finite"),
        ({"expected_answer": 1, "answer_type": "word"}, "answer_type 'word' is unknown; allowed: number, fraction"),
        ({"expected_answer": "x", "answer_type": "number"}, "expected_answer 'x' is no number"),
        ({"expected_answer": "soon", "answer_type": "date"}, "expected_answer 'soon' is no date"),
        ({"expected_answer": 1, "accept": ["x"], "answer_type": "number"}, "accept 'x' is no number"),
        ({"expected_answer": 1, "accept": []}, "accept must be a list"),
        ({"expected_answer": 1, "tolerance": -1}, "tolerance must be a number of at least 0"),
        ({"expected_answer": "Paris", "tolerance": 1}, "tolerance means nothing for answer_type text"),
        ({"expected_answer": 1, "extract_patterns": []}, "extract_patterns must be a list"),
        ({"expected_answer": 1, "extract_patterns": ["("]}, r"extract_patterns holds '\('"),
        ({"extract_patterns": ["x"], "accept": ["y"]}, "accept means nothing without expected_answer"),
    ],
)
def test_a_wrong_block_is_refused_by_the_name_of_its_key(spec: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationSpecError, match=f"^reasoning: {message}"):
        validate({"type": "reasoning", **spec}, Completion("7"))


@pytest.mark.parametrize("kind", ["number", "text", "choice", "tuple", "set", "date", "time", "latex"])
@pytest.mark.parametrize(
    "piece",
    ["answer: ", "\\boxed{", "<answer>", '{"answer": ', "\\text{ {a", "so 3 is 3. ", "3,", "½", " ", "wait is ", "("],
)
def test_a_text_made_to_be_slow_is_still_judged(kind: str, piece: str) -> None:
    expected = {"date": "2024-03-05", "time": "15:30", "choice": "B"}.get(kind, "7")
    assert not grade(expected, piece * (200_000 // len(piece)), kind).passed


def test_a_pattern_that_backtracks_without_end_is_a_fault_of_the_task_and_holds_nobody_up() -> None:
    spec = {"type": "reasoning", "expected_answer": "5", "extract_patterns": ["(a+)+$"]}
    with pytest.raises(ValidationSpecError, match="took more than 2 s"):
        validate(spec, Completion("a" * 40 + "!"))
