"""The 25 kinds of instruction: the arguments each takes and the check they make.

A check gives None for a text that follows the instruction, else a short sentence on what is missing. ``relation``
is "less than" or "at least", as in the paper; numbers of paragraphs, bullets and responses are meant exactly, those
of highlights, placeholders and sections as the least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_validators import instructions_language as language
from llmbench_validators import instructions_layout as layout
from llmbench_validators import instructions_words as words
from llmbench_validators import show, spec_fields
from llmbench_validators.types import ValidationSpecError

Check = Callable[[str], str | None]
Arguments = Mapping[str, Any]

_RELATIONS = ("less than", "at least")


@dataclass(frozen=True, slots=True)
class Kind:
    """``read`` checks the arguments (raising ValidationSpecError that begins with the place) and gives the check."""

    arguments: tuple[str, ...]
    read: Callable[[Arguments, str], Check]


def _plain(check: Check) -> Kind:
    return Kind((), lambda given, where: check)


def _counted(key: str, count: Callable[[str], int], noun: str, *, exactly: bool = False) -> Kind:
    """At least, or exactly, so many of something."""

    def read(given: Arguments, where: str) -> Check:
        wanted = spec_fields.whole(given, key, where, least=0)
        bounds = (wanted, wanted) if exactly else (wanted, None)
        return lambda text: _within(count(text), bounds, noun)

    return Kind((key,), read)


def _related(number: str, relation: str, count: Callable[[str], int], noun: str) -> Kind:
    """So many of something, by a relation."""

    def read(given: Arguments, where: str) -> Check:
        bounds = _bounds(given, number, relation, where)
        return lambda text: _within(count(text), bounds, noun)

    return Kind((number, relation), read)


def _bounds(given: Arguments, number: str, relation: str, where: str) -> tuple[int, int | None]:
    wanted = spec_fields.whole(given, number, where, least=0)
    if spec_fields.choice(given, relation, where, _RELATIONS) == "at least":
        return wanted, None
    if wanted == 0:
        raise ValidationSpecError(f"{where}: nothing can be less than {number} 0")
    return 0, wanted - 1


def _within(count: int, bounds: tuple[int, int | None], noun: str) -> str | None:
    least, most = bounds
    if count < least:
        return f"{count} {noun}, at least {least} wanted" if most is None else f"{count} {noun}, {least} wanted"
    if most is not None and count > most:
        return f"{count} {noun}, at most {most} wanted"
    return None


def _existence(given: Arguments, where: str) -> Check:
    phrases = [_phrase(phrase, "keywords", where) for phrase in spec_fields.texts(given, "keywords", where)]
    return lambda text: words.lacks(text, phrases)


def _forbidden(given: Arguments, where: str) -> Check:
    phrases = spec_fields.texts(given, "forbidden_words", where)
    return lambda text: words.holds(text, phrases)


def _frequency(given: Arguments, where: str) -> Check:
    phrase = _phrase(spec_fields.text(given, "keyword", where), "keyword", where)
    bounds = _bounds(given, "frequency", "relation", where)
    return lambda text: _within(words.occurrences(text, phrase), bounds, f"times {show.value(phrase)}")


def _phrase(phrase: str, key: str, where: str) -> str:
    if not any(char.isalnum() for char in phrase):
        raise ValidationSpecError(f"{where}: {key} holds {show.value(phrase)}, without a letter or digit")
    return phrase


def _letters(given: Arguments, where: str) -> Check:
    letter = spec_fields.text(given, "letter", where).strip()
    if len(letter) != 1:
        raise ValidationSpecError(f"{where}: letter must be one character, not {show.value(letter)}")
    bounds = _bounds(given, "let_frequency", "let_relation", where)
    return lambda text: _within(text.lower().count(letter.lower()), bounds, f"times the letter {letter}")


def _language(given: Arguments, where: str) -> Check:
    code = spec_fields.choice(given, "language", where, language.LANGUAGES)
    return lambda text: language.why_not(text, code)


def _first_word(given: Arguments, where: str) -> Check:
    total = spec_fields.whole(given, "num_paragraphs", where)
    number = spec_fields.whole(given, "nth_paragraph", where)
    word = spec_fields.text(given, "first_word", where).strip()
    if number > total:
        raise ValidationSpecError(f"{where}: nth_paragraph {number} is more than num_paragraphs {total}")

    def check(text: str) -> str | None:
        paragraphs = layout.blank_line_paragraphs(text)
        return _within(len(paragraphs), (total, total), "paragraphs") or words.begins(paragraphs[number - 1], word)

    return check


def _divided(given: Arguments, where: str) -> Check:
    wanted = spec_fields.whole(given, "num_paragraphs", where)

    def check(text: str) -> str | None:
        parts = layout.divided_paragraphs(text)
        return "an empty paragraph" if parts is None else _within(len(parts), (wanted, wanted), "paragraphs")

    return check


def _sections(given: Arguments, where: str) -> Check:
    label = spec_fields.text(given, "section_spliter", where).strip()
    wanted = spec_fields.whole(given, "num_sections", where, least=0)
    return lambda text: _within(layout.sections(text, label), (wanted, None), f"sections marked {label}")


def _text_argument(key: str, check: Callable[[str, str], str | None]) -> Kind:
    def read(given: Arguments, where: str) -> Check:
        wanted = spec_fields.text(given, key, where).strip()
        return lambda text: check(text, wanted)

    return Kind((key,), read)


KINDS: Mapping[str, Kind] = {
    "change_case:capital_word_frequency": _related(
        "capital_frequency", "capital_relation", words.capital_words, "words in capitals"
    ),
    "change_case:english_capital": _plain(language.not_english_capitals),
    "change_case:english_lowercase": _plain(language.not_english_lower_case),
    "combination:repeat_prompt": _text_argument("prompt_to_repeat", layout.not_repeated),
    "combination:two_responses": _plain(layout.not_two_responses),
    "detectable_content:number_placeholders": _counted("num_placeholders", layout.placeholders, "placeholders"),
    "detectable_content:postscript": _text_argument("postscript_marker", layout.no_postscript),
    "detectable_format:constrained_response": _plain(layout.no_single_option),
    "detectable_format:json_format": _plain(layout.not_json),
    "detectable_format:multiple_sections": Kind(("section_spliter", "num_sections"), _sections),
    "detectable_format:number_bullet_lists": _counted("num_bullets", layout.bullets, "bullet points", exactly=True),
    "detectable_format:number_highlighted_sections": _counted(
        "num_highlights", layout.highlights, "highlighted passages"
    ),
    "detectable_format:title": _plain(layout.no_title),
    "keywords:existence": Kind(("keywords",), _existence),
    "keywords:forbidden_words": Kind(("forbidden_words",), _forbidden),
    "keywords:frequency": Kind(("keyword", "frequency", "relation"), _frequency),
    "keywords:letter_frequency": Kind(("letter", "let_frequency", "let_relation"), _letters),
    "language:response_language": Kind(("language",), _language),
    "length_constraints:nth_paragraph_first_word": Kind(("num_paragraphs", "nth_paragraph", "first_word"), _first_word),
    "length_constraints:number_paragraphs": Kind(("num_paragraphs",), _divided),
    "length_constraints:number_sentences": _related("num_sentences", "relation", words.sentences, "sentences"),
    "length_constraints:number_words": _related("num_words", "relation", words.words, "words"),
    "punctuation:no_comma": _plain(words.has_comma),
    "startend:end_checker": _text_argument("end_phrase", layout.not_ended),
    "startend:quotation": _plain(layout.not_quoted),
}
