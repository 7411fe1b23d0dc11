"""Which language a text is in, told by its script and its commonest words.

A language with a script of its own is told by the script: at least 60 % of the letters must belong to it, which
leaves room for names and terms but not for a translation beside the text. Languages that share a script are told
apart by a short table of words that each uses all the time, and by letters only one of them has: at least one such
word must occur, and at least twice as many as of every other language of that script (words both have left out).

What this cannot do: languages outside the table are taken for none of it (a Czech text is "not German", but a
Scots text may pass as English); Assamese passes as Bengali, Konkani as Marathi; a text of a few words without any
of the common ones is not recognised; a sentence in another language among many goes unnoticed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from llmbench_validators.composed import nfc
from llmbench_validators.instructions_stopwords import LETTERS, WORDS

_LEAST_SHARE = 0.6
_DOMINANCE = 2
_AGAINST_ENGLISH = 2

_RANGES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "Latin": ((0x41, 0x24F), (0x1E00, 0x1EFF), (0xFF21, 0xFF5A)),
    "Greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "Cyrillic": ((0x400, 0x52F),),
    "Hebrew": ((0x590, 0x5FF),),
    "Arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFE)),
    "Devanagari": ((0x900, 0x97F),),
    "Bengali": ((0x980, 0x9FF),),
    "Gurmukhi": ((0xA00, 0xA7F),),
    "Gujarati": ((0xA80, 0xAFF),),
    "Tamil": ((0xB80, 0xBFF),),
    "Telugu": ((0xC00, 0xC7F),),
    "Kannada": ((0xC80, 0xCFF),),
    "Malayalam": ((0xD00, 0xD7F),),
    "Thai": ((0xE00, 0xE7F),),
    "Kana": ((0x3041, 0x30FF),),
    "Hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "Han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)),
}
_WRITTEN_IN = {
    "Latin": "en de fr es it pt nl pl fi sw vi",
    "Cyrillic": "ru bg uk",
    "Arabic": "ar fa ur",
    "Greek": "el",
    "Devanagari": "hi mr ne",
    "Bengali": "bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Thai": "th",
    "Hebrew": "he",
    "Hangul": "ko",
    "Han": "zh",
}
_SCRIPTS = {code: (script,) for script, codes in _WRITTEN_IN.items() for code in codes.split()} | {
    "ja": ("Kana", "Han")
}
LANGUAGES = tuple(sorted(_SCRIPTS))
"""The codes (ISO 639-1) that can be asked for."""

_GAP = re.compile(r"[\s'\u2019/\u2013\u2014-]+")


def why_not(text: str, code: str) -> str | None:
    """Why ``text`` is not in the language; None when it is."""
    letters = _letters(text)
    total = sum(letters.values())
    own = sum(letters[script] for script in _SCRIPTS[code])
    if own == 0 or own < _LEAST_SHARE * total:
        return f"{own} of {total} letters belong to the script of {code}"
    if code == "ja" and letters["Kana"] == 0:
        return "there is no kana, which Japanese has"
    rivals = [other for other in WORDS if other != code and _SCRIPTS[other] == _SCRIPTS[code]]
    return _told_apart(_words(text), code, rivals) if rivals else None


def not_english_capitals(text: str) -> str | None:
    """Whether a text is not all in capitals or plainly not English."""
    return _not_english(text) if text.isupper() else "not all in capitals"


def not_english_lower_case(text: str) -> str | None:
    """Whether a text has capitals or is plainly not English."""
    return _not_english(text) if text.islower() else "not all in lower case"


def _not_english(text: str) -> str | None:
    """Case is the point of these instructions: a text too short to tell its language counts as English."""
    letters = _letters(text)
    if letters["Latin"] < _LEAST_SHARE * sum(letters.values()):
        return "most letters are not Latin"
    words = _words(text)
    for other in WORDS:
        theirs, own = _hits(words, other, "en"), _hits(words, "en", other)
        if _SCRIPTS[other] == ("Latin",) and theirs >= _AGAINST_ENGLISH and theirs >= _DOMINANCE * own:
            return f"the words are rather of the language {other}"
    return None


def _told_apart(words: Counter[str], code: str, rivals: list[str]) -> str | None:
    if not any(word in WORDS[code] or not LETTERS.get(code, frozenset()).isdisjoint(word) for word in words):
        return f"none of the common words of {code} occurs"
    for other in rivals:
        own, theirs = _hits(words, code, other), _hits(words, other, code)
        if theirs and own < _DOMINANCE * theirs:
            return f"{own} words are rather of {code}, {theirs} rather of {other}"
    return None


def _hits(words: Counter[str], code: str, other: str) -> int:
    """How many words speak for ``code`` and not for ``other``."""
    common = WORDS[code] - WORDS[other]
    letters = LETTERS.get(code, frozenset()) - LETTERS.get(other, frozenset())
    return sum(count for word, count in words.items() if word in common or not letters.isdisjoint(word))


def _words(text: str) -> Counter[str]:
    return Counter(filter(None, map(_bare, _GAP.split(nfc(nfc(text).casefold())))))


def _bare(word: str) -> str:
    """``word`` without punctuation around it; a vowel sign at its end is part of it."""
    begin, end = 0, len(word)
    while begin < end and not _is_part(word[begin]):
        begin += 1
    while end > begin and not _is_part(word[end - 1]):
        end -= 1
    return word[begin:end]


def _is_part(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


def _letters(text: str) -> Counter[str]:
    """How many letters belong to each script; those of no known script to "other"."""
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha():
            found[_script(ord(char))] += count
    return found


def _script(code_point: int) -> str:
    for script, ranges in _RANGES.items():
        if any(first <= code_point <= last for first, last in ranges):
            return script
    return "other"
