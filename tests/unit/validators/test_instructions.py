from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import instructions
from llmbench_validators.instructions_kinds import KINDS
from llmbench_validators.types import Completion, ValidationSpecError, Verdict

from tests.support.collected import COLLECTED, NOTICE

DATA = COLLECTED / "data" / "ifeval" / "input_data.jsonl"
NO_COMMA = {"id": "punctuation:no_comma"}
NO_BIRDS = {"id": "keywords:forbidden_words", "forbidden_words": ["bird"]}


def grade(text: str, *wanted: dict[str, Any], finish: str | None = "stop", **more: Any) -> Verdict:
    spec = {"type": "instructions", "instructions": list(wanted), **more}
    return instructions.validate(spec, Completion(text, finish_reason=finish))


def test_the_score_is_the_share_followed_and_all_must_be_for_a_pass() -> None:
    both = grade("No such thing here.", NO_COMMA, NO_BIRDS)
    one = grade("A bird.", NO_COMMA, NO_BIRDS)

    assert (both.passed, both.score, both.failure, both.confidence) == (True, 1.0, None, "high")
    assert (one.passed, one.score, one.failure) == (False, 0.5, "missed_criteria")
    assert one.findings == ("keywords:forbidden_words: with bird",)
    assert (one.stages["instructions"].passed, one.stages["instructions"].total) == (1, 2)


def test_the_same_instruction_may_come_twice_and_each_counts() -> None:
    other = {"id": "keywords:forbidden_words", "forbidden_words": ["fish"]}

    assert grade("A fish.", NO_BIRDS, other).score == 0.5


def test_loose_mode_forgives_a_first_line_a_last_line_and_asterisks() -> None:
    quoted = {"id": "startend:quotation"}
    for text in ('Sure:\n"So it is."', '"So it is."\nGlad to help.', 'Sure:\n"So it is."\nBye', '**"So it is."**'):
        assert not grade(text, quoted).passed
        assert grade(text, quoted, mode="loose").passed
        assert grade(text, quoted).subscores == {"strict": 0.0, "loose": 1.0}
    assert not grade('a\nb\n"So it is."', quoted, mode="loose").passed


def test_loose_mode_never_takes_an_empty_rest_for_an_answer() -> None:
    assert not grade("One, two.", NO_COMMA, mode="loose").passed
    assert not grade("One, two.\n\n", NO_COMMA, mode="loose").passed


def test_no_answer_follows_no_instruction() -> None:
    assert grade("", NO_COMMA).failure == "empty"
    assert grade("", NO_COMMA).score == 0
    assert grade("<think>\nNo comma", NO_COMMA, finish="length").failure == "budget_exhausted"
    assert grade("<think>a, b</think>\nNone.", NO_COMMA).passed


UNUSABLE = [
    ({"id": "keywords:existance", "keywords": ["a"]}, "'keywords:existance' is no instruction; valid are "),
    ({"id": "keywords:existence"}, "keywords is missing"),
    ({"id": "keywords:existence", "keywords": []}, "at least one text"),
    ({"id": "keywords:existence", "keywords": ["a"], "relation": "at least"}, "unknown key 'relation'"),
    ({"id": "keywords:existence", "keywords": ["!"]}, "without a letter or digit"),
    ({"id": "punctuation:no_comma", "num": 1}, "unknown key 'num'; valid are none"),
    ({"id": "length_constraints:number_words", "num_words": 5, "relation": "at most"}, "valid are less than, at least"),
    ({"id": "length_constraints:number_words", "num_words": 5}, "relation is missing"),
    ({"id": "length_constraints:number_words", "num_words": -1, "relation": "at least"}, "at least 0"),
    ({"id": "length_constraints:number_words", "num_words": 0, "relation": "less than"}, "nothing can be less"),
    ({"id": "detectable_format:number_bullet_lists", "num_bullets": True}, "must be a whole number"),
    ({"id": "language:response_language", "language": "tlh"}, "language is 'tlh'; valid are "),
    ({"id": "keywords:letter_frequency", "letter": "ab", "let_frequency": 1, "let_relation": "at least"}, "one char"),
    (
        {
            "id": "length_constraints:nth_paragraph_first_word",
            "num_paragraphs": 2,
            "nth_paragraph": 3,
            "first_word": "a",
        },
        "nth_paragraph 3 is more",
    ),
    ({"keywords": ["a"]}, "id is missing"),
]


@pytest.mark.parametrize(("item", "message"), UNUSABLE)
def test_what_is_not_known_is_an_error_of_the_task_and_never_a_pass(item: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationSpecError) as caught:
        grade("", item)

    assert message in str(caught.value)


def test_a_wrong_block_is_refused() -> None:
    with pytest.raises(ValidationSpecError, match="valid are strict, loose"):
        grade("a", NO_COMMA, mode="lax")
    with pytest.raises(ValidationSpecError, match="instructions must be a list"):
        grade("a")
    with pytest.raises(ValidationSpecError, match="unknown key 'kwargs'"):
        grade("a", NO_COMMA, kwargs=[{}])


def test_arguments_that_are_null_are_taken_for_absent() -> None:
    assert grade("None.", {**NO_COMMA, "keywords": None, "num_words": None}).passed


EXAMPLES: dict[str, dict[str, Any]] = {
    "change_case:capital_word_frequency": {"capital_frequency": 2, "capital_relation": "less than"},
    "combination:repeat_prompt": {"prompt_to_repeat": "Say it."},
    "detectable_content:number_placeholders": {"num_placeholders": 1},
    "detectable_content:postscript": {"postscript_marker": "P.P.S"},
    "detectable_format:multiple_sections": {"section_spliter": "Part", "num_sections": 2},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 1},
    "keywords:existence": {"keywords": ["a"]},
    "keywords:forbidden_words": {"forbidden_words": ["a"]},
    "keywords:frequency": {"keyword": "a", "frequency": 2, "relation": "at least"},
    "keywords:letter_frequency": {"letter": "a", "let_frequency": 2, "let_relation": "less than"},
    "language:response_language": {"language": "de"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "a"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_sentences": {"num_sentences": 2, "relation": "at least"},
    "length_constraints:number_words": {"num_words": 2, "relation": "at least"},
    "startend:end_checker": {"end_phrase": "The end."},
}
ALL_KINDS = [{"id": name, **EXAMPLES.get(name, {})} for name in KINDS]


def test_there_are_the_25_kinds_of_the_paper() -> None:
    assert len(KINDS) == 25


marks = st.sampled_from(
    ["*", "***", "******", "\n", "\n\n", "[a]", "<<t>>", "- x\n", "P.P.S a", '"', "```json\n", ". "]
)


@given(st.text() | st.lists(marks | st.text(max_size=5)).map("".join))
def test_no_text_makes_it_fail_and_loose_is_never_stricter(text: str) -> None:
    verdict = grade(text, *ALL_KINDS)

    assert 0 <= verdict.subscores["strict"] <= verdict.subscores["loose"] <= 1


@pytest.mark.parametrize("unit", [".", "[", "<<", "```\n", "*a", "p.s.-", '.")', "\u0f73", "\u0e01", "\n ", "a, "])
def test_a_degenerate_answer_of_great_length_is_graded_in_time_that_grows_with_it(unit: str) -> None:
    assert not grade(unit * (100_000 // len(unit)) + "x", *ALL_KINDS).passed


def rows() -> Iterator[dict[str, Any]]:
    for line in DATA.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@pytest.mark.skipif(not DATA.exists(), reason=NOTICE)
def test_every_instruction_of_the_published_set_is_known() -> None:
    seen = set()
    for row in rows():
        pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
        spec = {"type": "instructions", "instructions": [{"id": name, **given} for name, given in pairs]}
        read, _ = instructions.read_spec(spec)
        seen |= {instruction.id for instruction in read}

    assert seen == set(KINDS)
