"""Words, sentences and letters as instructions count them.

* A word is a run of characters between white space (or dashes longer than a hyphen) with a letter or digit in it:
  "don't" and "well-known" are one word each, where the published program counts two. Chinese characters and kana
  are a word each; of scripts that are written without spaces otherwise (Thai, Lao, Khmer) words cannot be counted.
* A sentence ends at . ! ? … or their counterparts in other scripts, before white space or the end, but not after
  an abbreviation (Dr., e.g.), an initial, a list number or an ellipsis that a small letter follows; and at a blank
  line, before a list item and at a heading. Headings are no sentences. The published program asks a trained model.
* A keyword is found as ``mentions`` says: whole words with regular endings, where the published program takes any
  substring ("cat" in "education"). A forbidden word is found only as the very word.
* A word in capitals has at least two letters: "I" and "A" are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmbench_validators import mentions, show

_GAP = re.compile(r"[\s\u2013\u2014]+|-{2,}")
_CHARACTER_WORD = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_COMMAS = ",\u060c\u3001\uff0c\ufe50\ufe51\uff64"
_BLOCK_END = re.compile(r"\n[ \t]*\n\s*|\n[ \t]*(?=(?:[-*+\u2022]|\d{1,3}[.)])[ \t])")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t].*$", re.MULTILINE)
_LIST_NUMBER = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+")
_STOP = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026\u061f\u06d4\u0964\u0965]+[\"'\u201d\u2019)\]*_]*(?=\s|$)|[\u3002\uff01\uff1f]+"
)
_ABBREVIATION = re.compile(
    r"(?i:(?<![^\W_])(?:mr|mrs|ms|dr|prof|st|vs|no|fig|jr|sr|inc|ltd|approx|dept|gen|col|e\.g|i\.e|cf|a\.m|p\.m)\.$)"
    r"|(?:^|(?<=[\s.(\"']))[A-HJ-Z]\.$"  # an initial; "I." ends a sentence
)
_QUOTES = "\"'\u201c\u201d\u2018\u2019*_#>([ \t\n"


def words(text: str) -> int:
    """The number of words."""
    return sum(_count_of(piece) for piece in _GAP.split(text))


def sentences(text: str) -> int:
    """The number of sentences."""
    blocks = _BLOCK_END.split(_HEADING.sub("\n\n", text))
    return sum(_sentences_of(_LIST_NUMBER.sub("", block)) for block in blocks)


def capital_words(text: str) -> int:
    """The number of words all in capitals."""
    return sum(piece.isupper() and sum(map(str.isalpha, piece)) > 1 for piece in _GAP.split(text))


def occurrences(text: str, phrase: str) -> int:
    """How often a keyword occurs."""
    finder = mentions.pattern(phrase)
    return sum(1 for _ in finder.finditer(mentions.fold(text)))


def lacks(text: str, phrases: Sequence[str]) -> str | None:
    """Which of the keywords do not occur."""
    folded = mentions.fold(text)
    missing = [phrase for phrase in phrases if mentions.pattern(phrase).search(folded) is None]
    return show.cut(f"without {', '.join(missing)}") if missing else None


def holds(text: str, phrases: Sequence[str]) -> str | None:
    """Which of the forbidden words occur."""
    folded = mentions.fold(text)
    used = [phrase for phrase in phrases if _has_word(folded, mentions.fold(phrase).strip())]
    return show.cut(f"with {', '.join(used)}") if used else None


def begins(paragraph: str, word: str) -> str | None:
    """Whether a paragraph begins with ``word``, quotes and Markdown aside."""
    first = re.match(r"[^\s.,?!:;\"\u201d*_)]*", mentions.fold(paragraph.lstrip(_QUOTES)))
    found = first[0] if first else ""
    wanted = mentions.fold(word)
    return None if found in (wanted, wanted + "'s") else f"the paragraph begins with {show.value(found)}"


def has_comma(text: str) -> str | None:
    """Whether there is a comma, of whatever script."""
    found = sum(text.count(comma) for comma in _COMMAS)
    return f"{found} commas" if found else None


def _count_of(piece: str) -> int:
    alone = len(_CHARACTER_WORD.findall(piece))
    rest = _CHARACTER_WORD.sub("", piece) if alone else piece
    return alone + any(char.isalnum() for char in rest)


def _sentences_of(block: str) -> int:
    found, begin = 0, 0
    for stop in _STOP.finditer(block):
        if not _goes_on(block, begin, stop):
            found += _has_words(block[begin : stop.start()])
            begin = stop.end()
    return found + _has_words(block[begin:])


def _goes_on(block: str, begin: int, stop: re.Match[str]) -> bool:
    if _ABBREVIATION.search(block[max(begin, stop.start() - 8) : stop.end()]):
        return True
    paused = ".." in stop[0] or "\u2026" in stop[0]
    return paused and block[stop.end() : stop.end() + 3].lstrip()[:1].islower()


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
