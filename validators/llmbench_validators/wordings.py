"""Answers in words: does a sentence give the expected answer, in whole words, and not deny it?"""

from __future__ import annotations

import re
import unicodedata

from llmbench_validators.answers import MARKERS, Candidate, sentences
from llmbench_validators.numbers import whole_number, word_number
from llmbench_validators.outcome import Outcome, Wanted

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*[+#]*|[%+]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLER = _words(
    "the a an of in on at to from by with it is was be that this it's i think would will must should probably "
    "definitely clearly simply just indeed maybe perhaps so thus hence therefore called named city town country "
    "person option choice answer yes no mr mrs ms miss dr professor sir lady detective"
)
_COPULA = _words("is was are were be been equals as means called named ist est")
_DENIAL = _words(
    "not no never cannot neither nor without except excluding unlike instead rather nobody none hardly excludes "
    "eliminated"
)
_OTHERS = _words("or and oder und ou et versus vs nor")
_CLAUSE = re.compile(
    r"[,;:()\u2014]|\s-+\s|(?<!\w)(?:because|since|as|so|which|who|whereas|while|but|although|however|therefore)(?!\w)",
    re.IGNORECASE,
)
_POLAR = (frozenset(("yes", "true", "correct")), frozenset(("no", "false", "incorrect")))
_MAX_CORRECTION = 6
_MAX_NUMBER = 80


def judge_text(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Compare the words; a whole text without a cue is judged by its last sentence, then by its first."""
    text = candidate.text.replace("\u2019", "'")
    if candidate.rule == "conclusion" or not tokens(text):
        return None
    if candidate.rule == "correction" and len(tokens(text)) > _MAX_CORRECTION:
        return None
    if candidate.rule == "bare":
        return Outcome(right=True) if any(same_words(text, option) for option in wanted.answers) else None
    if candidate.rule == "whole":
        return _whole_text(text, wanted)
    return _stated(text, wanted, strict=candidate.rule in MARKERS)


def tokens(text: str) -> list[str]:
    """The words, case folded, without punctuation; hyphens separate."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def same_words(text: str, expected: str) -> bool:
    """Whether both say the same but for case, punctuation, articles at the front and the spelling of a number."""
    if _without_article(tokens(text)) == _without_article(tokens(expected)):
        return True
    number, other = _as_number(text), _as_number(expected)
    return number is not None and number == other


def _as_number(text: str) -> object:
    if len(text) > _MAX_NUMBER:
        return None
    word = word_number(text)
    if word is not None:
        return word
    number = whole_number(text)
    return number.value if number and not re.search(r"[^\W\d_]", text) else None


def _without_article(words: list[str]) -> list[str]:
    while words and words[0] in ("the", "a", "an"):
        words = words[1:]
    return words


def _stated(text: str, wanted: Wanted, *, strict: bool) -> Outcome:
    clauses = [part for part in _CLAUSE.split(text) if tokens(part)]
    first = clauses[0] if clauses else text
    for expected in wanted.answers:
        if same_words(text, expected) or same_words(first, expected):
            return Outcome(right=True)
    if strict:
        return Outcome(right=False)
    right = any(_asserts(first, expected) for expected in wanted.answers)
    return Outcome(right=right, exact=not right)


def _whole_text(text: str, wanted: Wanted) -> Outcome:
    parts = sentences(text)
    if not parts:
        return Outcome(right=False)
    last, first = parts[-1], parts[0]
    for expected in wanted.answers:
        if same_words(text, expected):
            return Outcome(right=True)
        if _gives(last, expected):
            return Outcome(right=True, exact=False)
    if any(_contradicts(last, expected) for expected in wanted.answers):
        return Outcome(right=False)
    return Outcome(right=any(_gives(first, expected) for expected in wanted.answers), exact=False)


def _gives(sentence: str, expected: str) -> bool:
    """Whether one of the sentence's clauses gives the answer, the last complement deciding."""
    clauses = [part for part in _CLAUSE.split(sentence) if tokens(part)]
    if not clauses:
        return False
    return _asserts(clauses[-1], expected) or (
        not _contradicts(clauses[-1], expected) and any(_asserts(clause, expected) for clause in clauses[:-1])
    )


def _contradicts(clause: str, expected: str) -> bool:
    """Whether the clause takes a stand of its own: a short complement after a copula, or the opposite of yes or no."""
    words = tokens(clause)
    mine = set(tokens(expected))
    for side, other in (_POLAR, _POLAR[::-1]):
        if mine <= side:
            return bool(words) and words[0] in other
    if mine & set(words):
        return True
    complement = _complement(words)
    return bool(complement) and len(complement) <= len(mine) + 1


def _complement(words: list[str]) -> list[str]:
    for index in range(len(words) - 1, -1, -1):
        if words[index] in _COPULA:
            return words[index + 1 :]
    return []


def _asserts(clause: str, expected: str) -> bool:
    """Whether the clause has the expected words at its start, its end or right after its verb, and affirms them."""
    words, wanted = tokens(clause), tokens(expected)
    if not wanted or _denies(words, wanted):
        return False
    for start in range(len(words) - len(wanted) + 1):
        if words[start : start + len(wanted)] != wanted:
            continue
        before, after = words[:start], words[start + len(wanted) :]
        if _beside_another(before, after) or _part_of_a_name(clause, expected):
            continue
        if not _core(before) or not _core(after) or (before[-1:] and before[-1] in _COPULA):
            return True
    return False


def _denies(words: list[str], wanted: list[str]) -> bool:
    return any(word in _DENIAL or word.endswith("n't") for word in words if word not in wanted)


def _beside_another(before: list[str], after: list[str]) -> bool:
    return bool((before and before[-1] in _OTHERS) or (after and after[0] in _OTHERS))


def _core(words: list[str]) -> list[str]:
    return [word for word in words if word not in _FILLER]


def _part_of_a_name(clause: str, expected: str) -> bool:
    """Whether the expected name stands in the clause only inside a longer capitalised one (York in New York)."""
    if not expected[:1].isupper():
        return False
    name = re.escape(expected.strip())
    longer = re.search(rf"(?<!\w)[A-Z][\w']*\s+{name}(?!\w)|(?<!\w){name}\s+[A-Z][\w']*", clause)
    return longer is not None and longer[0].split()[0].casefold() not in _FILLER
