"""Whether a text mentions a phrase, and whether it affirms or denies it: rules on words, no understanding.

* Both sides are compared without case (casefold) in NFC; ``*`` and backquotes are taken for emphasis and ignored.
* A phrase begins and ends at a boundary: no letter or digit touches it there. ``c`` is not found in ``c++`` or
  ``c#``, ``42`` not in ``42.5``. Scripts written without spaces have no boundaries.
* A space in a phrase stands for any white space or hyphens; a hyphen may also be absent.
* The last word may carry a regular English plural or verb ending: test, tests, testing, tested.
* Denied is a mention in whose clause an odd number of negations comes before it (no, not, without, avoid, instead
  of, …; "not without tests" is two), or of which it is said at once that it is not needed, out of scope and so on.
  "Not only" is no negation. A clause ends at ; : brackets and dashes, at commas that do not list alternatives, and
  before words such as but, so, because.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from llmbench_validators.composed import nfc

_SPACE = r"[\s\-\u2010-\u2014_/]+"
_HYPHEN = r"[\s\-\u2010-\u2014_/]*"
_SEPARATOR = re.compile(r"(?<=[^\s\-\u2010-\u2014])([\s\-\u2010-\u2014]+)(?=[^\s\-\u2010-\u2014])")
_IGNORED = dict.fromkeys(map(ord, "*`\u00ad\u200b\u200c\u200d\u2060\ufeff")) | {0x2019: "'", 0x02BC: "'"}
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

_SENTENCE_END = re.compile(
    r"\n[ \t]*\n\s*|\n[ \t]*(?=(?:[-*+\u2022>#|]|\d{1,3}[.)])[ \t])|(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f\u0964])"
)

_IMPERATIVES = "use|add|put|build|create|set|deploy|run|write|start|keep|make|choose|introduce|implement|just|go"
_SUBJECTS = "we|i|you|they|it|he|she|this|that|there|the team"
_OPENERS = rf"but|so|yet|then|instead|because|which|{_SUBJECTS}|{_IMPERATIVES}"
_PART = rf"\s*(?!(?:{_OPENERS})\b)[\w'/-]+(?:\s+[\w'/-]+){{0,2}}"
_ALTERNATIVES = rf"(?:(?:{_PART},){{0,5}}{_PART},?)?\s+n?or\b"
_CLAUSE_END = re.compile(
    rf"[;|()\[\]\u2014]|\s[-\u2013]+\s|,(?!{_ALTERNATIVES})"
    r"|(?<!scope)(?<!goals)(?<!needed)(?<!included)(?<!required)(?<!excluded)(?<!skipped):"
    r"|\b(?:but|because|although|though|whereas|while|so|then|instead(?! of)|however|therefore|since|until|unless"
    rf"|if|when|which|(?:and|or)(?= (?:no|not|without|never|then|{_SUBJECTS}|{_IMPERATIVES})\b)|(?=nor\b))\b"
)
_NEGATION = re.compile(
    r"\b(?:no(?![-\w]| (?:doubt|matter|wonder|(?:later|more|less|fewer|longer) than)\b)"
    r"|not(?! (?:only|just|merely|simply|least)\b)|cannot|never|neither|nor|none|without|unable to|instead of"
    r"|rather than|avoid(?:s|ed|ing)?|skip(?:s|ped|ping)?|omit(?:s|ted|ting)?|exclud(?:e|es|ed|ing)|lack(?:s|ed|ing)?"
    r"|out of scope:|non-?goals:|excluded:|skipped:)(?!\w)|n't\b"
)
_UNWANTED = (
    r"(?:needed|necessary|required|used|included|planned|worth\w*|warranted|in scope|part of|added|considered"
    r"|applicable)\b"
)
_DENIAL = re.compile(
    rf"(?:\s+[\w-]+)?(?:\s+(?:(?:is|are|was|were|will|would|should|need)(?: not|n't)|won't|cannot|can't|never|not|"
    rf"(?:is|are) no longer)(?: be)?(?: really| strictly| even)? {_UNWANTED}"
    r"|\s+(?:is|are|was|were) (?:unnecessary|unneeded|out of scope|skipped|omitted|avoided|excluded|overkill|missing)\b"
    rf"|\s*[:\u2013\u2014-]\s*(?:none|no|n/a|skipped|out of scope|not {_UNWANTED})\W*$)"
)

_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class Mentions:
    """How often a text affirms and denies a phrase."""

    affirmed: int
    denied: int


def fold(text: str) -> str:
    """``text`` as it is compared."""
    return nfc(nfc(text).casefold()).translate(_IGNORED)


class Sentence:
    """A folded sentence, list item or table row on one line; where its clauses begin and its negations stand."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _clauses(self) -> list[int]:
        return [0, *(end.end() for end in _CLAUSE_END.finditer(self.text))]

    @cached_property
    def _negations(self) -> list[int]:
        return [negation.start() for negation in _NEGATION.finditer(self.text)]

    def denies(self, mention: re.Match[str]) -> bool:
        """Whether the clause of ``mention`` negates it."""
        begin = self._clauses[bisect_right(self._clauses, mention.start()) - 1]
        before = bisect_left(self._negations, mention.start()) - bisect_left(self._negations, begin)
        return before % 2 == 1 or _DENIAL.match(self.text, mention.end()) is not None


def sentences(text: str) -> list[Sentence]:
    """The sentences of ``text`` in order."""
    folded = (" ".join(fold(piece).split()) for piece in _SENTENCE_END.split(text))
    return [Sentence(sentence) for sentence in folded if sentence]


def _words(phrase: str) -> list[str]:
    """The folded words of a phrase, with what separates them at the odd places."""
    return _SEPARATOR.split(" ".join(fold(phrase).split()))


@lru_cache(maxsize=1024)
def pattern(phrase: str) -> re.Pattern[str]:
    """What finds ``phrase`` in folded text. Takes time linear in the text; the phrase needs a letter or digit."""
    words = _words(phrase)
    parts = [re.escape(word) if number % 2 == 0 else _separator(word) for number, word in enumerate(words[:-1])]
    return re.compile(_before(words[0]) + "".join(parts) + _inflected(words[-1]) + _after(words[-1]))


def count(phrase: str, text: Sequence[Sentence]) -> Mentions:
    """The mentions of ``phrase`` in the sentences of a text."""
    finder = pattern(phrase)
    denied = [sentence.denies(match) for sentence in text for match in finder.finditer(sentence.text)]
    return Mentions(affirmed=denied.count(False), denied=denied.count(True))


class Text:
    """The sentences of a text, in which many phrases are looked for: each takes time by how often its words occur."""

    def __init__(self, text: str) -> None:
        self._sentences = sentences(text)
        self._joined = "\n".join(sentence.text for sentence in self._sentences)
        self._starts = list(accumulate((len(sentence.text) + 1 for sentence in self._sentences), initial=0))

    def affirms(self, phrase: str) -> bool:
        """Whether ``count`` would find an affirmed mention."""
        words = _words(phrase)
        literal = [*words[:-1:2], _stem(words[-1])]
        if not all(word in self._joined for word in literal):
            return False
        return any(not sentence.denies(match) for sentence, match in self._matches(pattern(phrase), literal[0]))

    def _matches(self, finder: re.Pattern[str], first: str) -> Iterator[tuple[Sentence, re.Match[str]]]:
        """What ``finder`` finds from left to right; all of it begins with ``first``."""
        at = self._joined.find(first)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            match = finder.match(self._sentences[number].text, at - self._starts[number])
            if match is not None:
                yield self._sentences[number], match
            at = self._joined.find(first, at + (len(match[0]) if match is not None else 1))


def _separator(text: str) -> str:
    return _SPACE if " " in text else _HYPHEN


def _before(word: str) -> str:
    if _UNSPACED.match(word):
        return ""
    return r"(?<![^\W_])(?<!\d[.,])" if word[0].isdigit() else r"(?<![^\W_])"


def _after(word: str) -> str:
    last = word[-1]
    if _UNSPACED.match(last):
        return ""
    if last.isdigit():
        return r"(?![^\W_]|[.,]\d)"
    return r"(?![^\W_]|\+\+|#)" if last.isalnum() else r"(?![^\W_])"


def _inflects(word: str) -> bool:
    return re.search(r"[a-z]{2}$", word) is not None


def _stem(word: str) -> str:
    """What all forms of the last word begin with."""
    return word[:-1] if _inflects(word) else word


def _inflected(word: str) -> str:
    """The last word with its regular endings."""
    if not _inflects(word):
        return re.escape(word)
    forms = [re.escape(word), re.escape(word) + "s"]
    if len(word) > 2:
        forms += [re.escape(form) for form in _forms(word)]
    return f"(?:{'|'.join(forms)})"


def _forms(word: str) -> list[str]:
    stem = word[:-1]
    if word.endswith("e"):
        return [stem + "ed", stem + "ing"]
    if word.endswith("y") and word[-2] not in _VOWELS:
        return [stem + "ies", stem + "ied", word + "ing"]
    plural = [word + "es"] if re.search(r"(?:[sxzo]|[cs]h)$", word) else []
    doubled = [word + word[-1] + "ed", word + word[-1] + "ing"]
    plain = [word + "ed", word + "ing"]
    closed = word[-1] not in _VOWELS | set("wxy") and word[-2] in _VOWELS and word[-3] not in _VOWELS
    if not closed:
        return plural + plain
    return plural + doubled + (plain if len(word) > 3 else [])
