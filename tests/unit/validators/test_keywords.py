from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import keywords, mentions, registry
from llmbench_validators.types import Completion, ValidationSpecError, Verdict


def grade(expected: str, text: str) -> Verdict:
    return registry.grade({"type": "keyword", "expected": expected}, Completion(text))


def test_a_short_expected_answer_must_be_mentioned_as_it_is() -> None:
    assert grade("Lisbon\n", "It is Lisbon.").passed
    assert not grade("Lisbon", "It is Porto.").passed
    assert not grade("Lisbon", "It is not Lisbon.").passed
    assert grade("42", "It is 42.").passed
    assert not grade("42", "It is 42.5").passed


def test_of_alternatives_one_is_enough() -> None:
    assert grade("red, yellow or blue", "Blue.").passed
    assert not grade("red, yellow or blue", "Green.").passed


def test_every_line_is_a_point_of_its_own() -> None:
    expected = "- a queue\n- a backup\n"

    half = grade(expected, "Put a queue in front.")

    assert (half.passed, half.score, half.failure) == (False, 0.5, "wrong_answer")
    assert half.findings == ("Not mentioned: a backup",)
    assert half.stages["points"].total == 2
    assert half.confidence == "low"


def test_of_a_long_point_most_of_the_telling_words_suffice() -> None:
    expected = "Copper conducts heat much better than steel does."

    assert grade(expected, "Because heat travels better in copper than in steel.").passed
    assert not grade(expected, "Because it is shiny and better.").passed


def test_an_empty_answer_and_a_refusal_are_named() -> None:
    assert grade("Lisbon", "").failure == "empty"
    assert grade("Lisbon", "I'm sorry, but I can't help with that.").failure == "refusal"


@pytest.mark.parametrize("spec", [{}, {"expected": " "}, {"expected": "..."}, {"expected": "a", "words": 1}])
def test_a_wrong_block_is_refused(spec: dict[str, object]) -> None:
    with pytest.raises(ValidationSpecError, match="keyword: "):
        keywords.validate({"type": "keyword", **spec}, Completion("a"))


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("x\n" * 501, "501 lines"),
        ("x" * 2001, "2001 characters in a line"),
        ("\n".join(" ".join(f"w{n}" for n in range(200)) for _ in range(26)), "5200 words to look for"),
    ],
)
def test_an_expected_answer_without_measure_is_refused(expected: str, told: str) -> None:
    with pytest.raises(ValidationSpecError, match=f"keyword: expected has {told}"):
        grade(expected, "x")


def test_a_phrase_that_is_not_there_is_not_looked_for_in_every_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compiled = mentions.pattern

    def pattern(phrase: str) -> re.Pattern[str]:
        made.append(phrase)
        return compiled(phrase)

    monkeypatch.setattr(mentions, "pattern", pattern)
    text = "Nothing to see here. " * 5000 + "A queue."

    verdict = grade("a queue\n" + "\n".join(f"word{n} thing" for n in range(499)), text)

    assert (verdict.passed, set(made)) == (False, {"a queue"})


_WORDS = ["test", "tests", "tried", "try", "queue", "no", "c++", "re-use", "reuse", ",", ".", "not", "use"]
_MENTIONED = st.lists(st.sampled_from(_WORDS))


@given(
    st.sampled_from(["test", "try", "queue", "re-use", "a queue", "c", "c++", "use test", "test test", "no-no"]),
    _MENTIONED,
)
def test_looking_for_one_mention_agrees_with_counting_them(phrase: str, words: list[str]) -> None:
    text = " ".join(words)
    counted = mentions.count(phrase, mentions.sentences(text)).affirmed
    assert mentions.Text(text).affirms(phrase) == (counted > 0)


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    assert 0 <= grade("red or blue\nsomething longer that has to be said", text).score <= 1
