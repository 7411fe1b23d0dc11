from __future__ import annotations

from typing import Any

import pytest
from llmbench_validators import instructions
from llmbench_validators.types import Completion

AT_LEAST, LESS = "at least", "less than"


def follows(text: str, name: str, given: dict[str, Any]) -> bool:
    spec = {"type": "instructions", "instructions": [{"id": name, **given}]}
    return instructions.validate(spec, Completion(text)).passed


def times(count: int, relation: str = AT_LEAST) -> dict[str, Any]:
    return {"keyword": "story", "frequency": count, "relation": relation}


def letters(letter: str, count: int, relation: str = AT_LEAST) -> dict[str, Any]:
    return {"letter": letter, "let_frequency": count, "let_relation": relation}


def capitals(count: int, relation: str = AT_LEAST) -> dict[str, Any]:
    return {"capital_frequency": count, "capital_relation": relation}


def word_count(count: int, relation: str = AT_LEAST) -> dict[str, Any]:
    return {"num_words": count, "relation": relation}


def sentence_count(count: int, relation: str = AT_LEAST) -> dict[str, Any]:
    return {"num_sentences": count, "relation": relation}


def paragraph(total: int, number: int, word: str) -> dict[str, Any]:
    return {"num_paragraphs": total, "nth_paragraph": number, "first_word": word}


PS, PPS = {"postscript_marker": "P.S."}, {"postscript_marker": "P.P.S"}
PARTS = {"section_spliter": "Part", "num_sections": 2}
CAT = {"keywords": ["cat", "tea pot"]}
SAY = {"prompt_to_repeat": "Name a tree. Use no commas."}
END = {"end_phrase": "That is all."}

FOLLOWED: list[tuple[str, dict[str, Any], str]] = [
    ("change_case:capital_word_frequency", capitals(2), "Buy NOW and PAY later."),
    ("change_case:capital_word_frequency", capitals(2, LESS), "I think A is GOOD."),
    ("change_case:english_capital", {}, "THIS IS THE WAY TO DO IT."),
    ("change_case:english_capital", {}, "YES!"),
    ("change_case:english_lowercase", {}, "this is the way to do it."),
    ("combination:repeat_prompt", SAY, "Name a tree.  Use no commas.\n\nOak."),
    ("combination:two_responses", {}, "Oak.\n******\nElm."),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "Dear [name], see [place]."),
    ("detectable_content:postscript", PS, "Bye.\n\nP.S. Write soon."),
    ("detectable_content:postscript", PS, "Bye. p. s. write soon."),
    ("detectable_content:postscript", PS, "Bye (for now) P.S. write soon."),
    ("detectable_content:postscript", PPS, "Bye.\n**P.P.S.** Write soon."),
    ("detectable_format:constrained_response", {}, "My answer is maybe."),
    ("detectable_format:json_format", {}, '{"a": [1]}'),
    ("detectable_format:json_format", {}, '```json\n{"a": "```"}\n```'),
    ("detectable_format:multiple_sections", PARTS, "**Part 1**\na\n\n## Part 2: More\nb"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n\n---\n\n  - two\n*not one*"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}, "*one\n-two\n\u2022 three\n*four* and -5"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 3}, "*a* and **b c**\n* item ***d***"),
    ("detectable_format:title", {}, "<<On Trees>>\nOak."),
    ("keywords:existence", CAT, "Cats sit on a *tea*-pot."),
    ("keywords:forbidden_words", {"forbidden_words": ["run"]}, "Running is fine, a rerun too."),
    ("keywords:frequency", times(2), "A story of stories."),
    ("keywords:frequency", times(2, LESS), "A story of history."),
    ("keywords:letter_frequency", letters("e", 2), "Eve."),
    ("keywords:letter_frequency", letters("#", 1), "#tree"),
    ("keywords:letter_frequency", letters("t", 1, LESS), "no such sound"),
    ("language:response_language", {"language": "de"}, "Das ist nicht der Baum, den ich meine."),
    ("length_constraints:nth_paragraph_first_word", paragraph(2, 2, "elm"), "Oak.\n\n\n**Elm**, then."),
    ("length_constraints:nth_paragraph_first_word", paragraph(1, 1, "President"), "\"President's day"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***\nOak is ***hard***.\n\n***\n\nElm."),
    ("length_constraints:number_sentences", sentence_count(2), "Dr. Oak spoke, e.g. of 3.5 trees. Who heard?"),
    ("length_constraints:number_sentences", sentence_count(4), "So do I. Use and/or! Add b&c. Then (x)?"),
    ("length_constraints:number_sentences", sentence_count(3, LESS), "# The Trees. All\n1. Oak.\n2. Elm"),
    ("length_constraints:number_words", word_count(4), "Don't be well-known \u2014 here."),
    ("length_constraints:number_words", word_count(5, LESS), "Don't be well-known \u2014 here."),
    ("length_constraints:number_words", word_count(3), "\u6a61\u6811\u9ad8"),
    ("punctuation:no_comma", {}, "No such mark; none."),
    ("startend:end_checker", END, '"Oak. that is  all."\n'),
    ("startend:quotation", {}, ' "Oak." '),
    ("startend:quotation", {}, "\u201cOak.\u201d"),
]

BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("change_case:capital_word_frequency", capitals(2), "I like A and NASA."),
    ("change_case:english_capital", {}, "THIS IS THE WAY to do it."),
    ("change_case:english_capital", {}, "DAS IST NICHT DER BAUM, DEN ICH MEINE."),
    ("change_case:english_lowercase", {}, "das ist nicht der baum, den ich meine."),
    ("change_case:english_lowercase", {}, "This is the way."),
    ("change_case:english_lowercase", {}, "\u044d\u0442\u043e \u0434\u0435\u0440\u0435\u0432\u043e"),
    ("combination:repeat_prompt", SAY, "Sure! Name a tree. Use no commas.\n\nOak."),
    ("combination:two_responses", {}, "Oak.\n******\nOak."),
    ("combination:two_responses", {}, "Oak.\n******\nElm.\n******\nAsh."),
    ("combination:two_responses", {}, "Oak.\n***\nElm."),
    ("combination:two_responses", {}, "Oak.\n******\n\n******\nElm."),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}, "[ ] done, see [this](http://example.org)"),
    ("detectable_content:postscript", PS, "Bye.\n\nP.P.S. Write soon."),
    ("detectable_content:postscript", PS, "Bye.\n\nP.S."),
    ("detectable_content:postscript", PS, "I add a postscript that begins with P.S. as asked."),
    ("detectable_content:postscript", PPS, "Bye.\n\nP.S. Write soon."),
    ("detectable_format:constrained_response", {}, "My answer is yes. Or rather: My answer is no."),
    ("detectable_format:constrained_response", {}, "My answer: yes."),
    ("detectable_format:json_format", {}, 'Here: {"a": 1}'),
    ("detectable_format:json_format", {}, '"just text"'),
    ("detectable_format:json_format", {}, "[NaN]"),
    ("detectable_format:multiple_sections", PARTS, "Part 1\na\nas Part 2 will say"),
    ("detectable_format:multiple_sections", PARTS, "PART 1\na\nPART 2\nb"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n* two\n* three"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "- - -\n-5 degrees"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "* one\n* two * three\n2*3*4"),
    ("detectable_format:title", {}, "<< >>\n<On Trees>"),
    ("keywords:existence", CAT, "Education by tea pot."),
    ("keywords:forbidden_words", {"forbidden_words": ["run"]}, "RUN!"),
    ("keywords:forbidden_words", {"forbidden_words": ["run"]}, "A long-run view."),
    ("keywords:frequency", times(2), "A story of history."),
    ("keywords:frequency", times(1, LESS), "Stories."),
    ("keywords:letter_frequency", letters("e", 1, LESS), "EVEN"),
    ("language:response_language", {"language": "de"}, "That is not the tree I mean."),
    ("length_constraints:nth_paragraph_first_word", paragraph(2, 2, "elm"), "Oak.\n\nElms are tall."),
    ("length_constraints:nth_paragraph_first_word", paragraph(2, 2, "elm"), "Oak.\n\nElm.\n\nAsh."),
    ("length_constraints:nth_paragraph_first_word", paragraph(2, 2, "elm"), "Oak."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "Oak.\n\nElm."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "Oak.\n***\n***\nElm."),
    ("length_constraints:number_sentences", sentence_count(3), "Mr. A. Oak spoke... of trees. Who heard?"),
    ("length_constraints:number_words", word_count(5), "Don't be well-known \u2014 here."),
    ("punctuation:no_comma", {}, "One, two."),
    ("punctuation:no_comma", {}, "\u4e00\uff0c\u4e8c"),
    ("startend:end_checker", END, "That is all. Bye."),
    ("startend:quotation", {}, '"Oak," he said.'),
    ("startend:quotation", {}, '""'),
]


@pytest.mark.parametrize(("name", "given", "text"), FOLLOWED)
def test_an_instruction_is_followed(name: str, given: dict[str, Any], text: str) -> None:
    assert follows(text, name, given)


@pytest.mark.parametrize(("name", "given", "text"), BROKEN)
def test_an_instruction_is_not_followed(name: str, given: dict[str, Any], text: str) -> None:
    assert not follows(text, name, given)


def test_every_kind_has_an_example_of_both() -> None:
    from llmbench_validators.instructions_kinds import KINDS

    assert {name for name, _, _ in FOLLOWED} == {name for name, _, _ in BROKEN} == set(KINDS)


def test_a_broken_count_says_what_was_counted_and_what_is_wanted() -> None:
    spec = {
        "type": "instructions",
        "instructions": [
            {"id": "length_constraints:number_words", **word_count(5)},
            {"id": "detectable_format:number_bullet_lists", "num_bullets": 2},
            {"id": "keywords:letter_frequency", **letters("e", 2, LESS)},
        ],
    }

    assert instructions.validate(spec, Completion("We see.")).findings == (
        "length_constraints:number_words: 2 words, at least 5 wanted",
        "detectable_format:number_bullet_lists: 0 bullet points, 2 wanted",
        "keywords:letter_frequency: 3 times the letter e, at most 1 wanted",
    )
