"""Where in a text the final answer stands.

Candidates come in the order in which they are believed: an explicit marker (``####``, ``\\boxed``,
``<answer>``, a JSON key), then the last sentence that announces an answer and the ones before it, then a text
that is nothing but an answer, then the conclusion (a sentence that begins with "so" or "therefore"), then
everything. A correction ("wait, …", "actually, …") after the chosen place outranks it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from llmbench_validators.plain_maths import plain

Rule = Literal["hash", "boxed", "tag", "json", "cue", "correction", "bare", "conclusion", "whole"]
MARKERS: frozenset[Rule] = frozenset({"hash", "boxed", "tag", "json"})
MAX_CHARACTERS = 40_000  # counted from the end; no answer stands further up
_BARE_CHARACTERS = 80
_MAX_SENTENCE = 1000
_MOST = 20  # of one kind of place, counted from the end


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece of plain text that may hold the answer, and the rule that found it.

    ``at_end`` says that nothing follows it: of a text that was cut off it may be only the beginning.
    """

    text: str
    rule: Rule
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    text: str
    rule: Rule


_HASH = re.compile(r"####[ \t]*([^\n#]+)")
_TAG = re.compile(r"<(final_?answer|answer|ans)>(.*?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_JSON_KEY = re.compile(r"\"(?:final[_ ]?answer|answer|result|solution)\"\s*:\s*(?=[\"\[{0-9tfn-])", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")

_FOREIGN = "antwort|antwoord|réponse|respuesta|resposta|risposta|svar|odpowiedź|ответ"
_LINK = r"\s(?:is|are|was|would be|should be|must be|will be|equals|lautet|ist|est|es|é|è|là|são|är|jest)(?![\w'])"
_CUE = re.compile(
    rf"(?<!\w)(?:the|my|our|final|correct|right|best)\s+(?:answer|option|choice|solution|(?<!as the )result)s?(?!\w)"
    rf"(?:[^.\n:=!?;]|\.(?=[0-9])){{0,60}}?{_LINK}\s*:?"
    rf"|(?<![\w-])(?:answers?|{_FOREIGN}|final result)(?!\w)(?:\s*\([^)\n]*\))?\s*(?::|=|->|→)"
    rf"|(?<!\w)(?:{_FOREIGN})(?!\w)[^.\n:=!?;]{{0,40}}?{_LINK}\s*:?"
    rf"|(?:答案|答え|答|정답)\s*(?:是|为|為|は|은|:)\s*:?"
    rf"|^[^\w\n]{{0,10}}(?:the )?(?:final |correct )?answers?[^\w\n]{{0,10}}$",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?](?=[\s)\"'*\]]|\Z)(?<!\b[A-Z]\.)|[。\uff01\uff1f\n;]")
_CORRECTION = re.compile(
    r"(?<!\w)(?:wait|actually|correction|oops|sorry|hold on|hmm|on second thought|let me (?:re|correct|fix)\w*"
    r"|i made (?:a|an) (?:\w+ )?(?:mistake|error)|that(?:'s| is| was) (?:wrong|incorrect|not right))(?!\w)",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"(?:should (?:\w+ )?be|(?<!\w)(?:is|it's|are|was|so|be|equals|gives|get|makes|to|therefore|recount|mean)\b|[=:])",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"(?:^|(?<=[.!?]\s))[^\w\n]{0,10}(?:so|therefore|thus|hence|in total|altogether|in the end|consequently|overall"
    r"|as a result|finally|in conclusion)\b",
    re.IGNORECASE | re.MULTILINE,
)
_DIGIT = re.compile(r"[0-9]")
_NEXT_QUESTION = re.compile(r"^[^\w\n]{0,10}(?:question|q|problem|exercise|input|human|user)\s*\d*\s*:", re.I | re.M)


def candidates(text: str, prompt: str = "") -> Iterator[Candidate]:
    """Every place where the answer may stand, most trusted first.

    ``text`` has its reasoning removed already; a literal copy of ``prompt`` in it is left out, and so is a
    further question that the model asks itself after it has answered.
    """
    text = text[-MAX_CHARACTERS:]
    if len(prompt.strip()) > 20:
        text = text.replace(prompt.strip(), "\n")
    text = _first_answer_only(text)
    flat = plain(text)
    marks = sorted([*_json_answers(text), *_markers(flat)], key=lambda place: place.end)[-_MOST:]
    cues = list(_cues(flat))[-_MOST:]
    yield from _corrections(flat, marks, cues)
    for mark in reversed(marks):
        yield Candidate(plain(mark.text), mark.rule)
    for cue in reversed(cues):
        yield _candidate(flat, cue)
    if len(flat.strip()) <= _BARE_CHARACTERS:
        yield Candidate(flat.strip(), "bare", at_end=True)
    for place in list(_conclusions(flat))[-1:]:
        if not _DIGIT.search(flat, place.end):  # a conclusion that is calculated further is none
            yield _candidate(flat, place)
    yield Candidate(flat, "whole", at_end=True)


def _candidate(flat: str, place: _Place) -> Candidate:
    return Candidate(place.text, place.rule, at_end=not flat[place.end :].strip(" \t\n*_$"))


def sentences(text: str) -> list[str]:
    """The text's sentences and lines, without empty ones; of a very long one only the end."""
    return [part.strip()[-_MAX_SENTENCE:] for part in _split_sentences(text) if part.strip()]


def _split_sentences(text: str) -> Iterator[str]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _first_answer_only(text: str) -> str:
    cue = _CUE.search(text)
    found = [cue.end()] if cue else []
    found += [place.end for place in itertools.islice(_markers(text), 1)]
    if text.lstrip()[:1].isdigit():
        found.append(1)
    match = _NEXT_QUESTION.search(text, min(found)) if found else None
    return text[: match.start()] if match else text


def _markers(flat: str) -> Iterator[_Place]:
    for match in _HASH.finditer(flat):
        if re.match(r"[\s(]*[-+]?[0-9.]|\s*\(?[A-Za-z]\)?[.)]?\s*$", match[1]):
            yield _Place(match.start(), match.end(), match[1], "hash")
    for match in _TAG.finditer(flat):
        yield _Place(match.start(), match.end(), match[2][:_MAX_SENTENCE], "tag")
    for match in list(_BOXED.finditer(flat))[-2 * _MOST :]:
        end = _closing_brace(flat, match.end())
        if end is not None:
            yield _Place(match.start(), end, flat[match.end() : end], "boxed")


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for index in range(start, min(len(text), start + 2000)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return None


def _json_answers(text: str) -> Iterator[_Place]:
    if "{" not in text:
        return
    decoder = json.JSONDecoder(parse_float=str, parse_int=str)
    for match in list(_JSON_KEY.finditer(text))[-_MOST:]:
        try:
            value, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        yield _Place(match.start(), end, _shown(value)[:_MAX_SENTENCE], "json")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(_shown(item) for item in value) + ")"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _cues(flat: str) -> Iterator[_Place]:
    for match in _CUE.finditer(flat):
        start = match.end()
        while start < len(flat) and flat[start] in " \t\r\n*_:#>":
            start += 1
        end = _sentence_end(flat, start)
        if flat[start:end].strip():
            yield _Place(match.start(), end, flat[start:end].strip(), "cue")


def _conclusions(flat: str) -> Iterator[_Place]:
    for match in _CONCLUSION.finditer(flat):
        end = _sentence_end(flat, match.end())
        yield _Place(match.start(), end, flat[match.end() : end].strip(), "conclusion")
    if len(sentences(flat[:_MAX_SENTENCE])) == 1:
        yield _Place(0, len(flat), flat[:_MAX_SENTENCE].strip(), "conclusion")


def _sentence_end(text: str, start: int) -> int:
    limit = min(len(text), start + _MAX_SENTENCE)
    match = _SENTENCE_END.search(text, start, limit)
    return match.start() if match else limit


def _corrections(flat: str, marks: list[_Place], cues: list[_Place]) -> Iterator[Candidate]:
    """What the text says after taking its announced answer back."""
    stated = [mark for mark in marks if mark.rule != "json"]
    if not stated and not cues:
        return
    last_mark = max((mark.end for mark in stated), default=len(flat))
    later = [cue for cue in cues if cue.start > last_mark]
    if later and _CORRECTION.search(flat, last_mark, later[-1].end):
        yield from (_candidate(flat, cue) for cue in reversed(later))
    last = max(place.end for place in [*stated, *cues])
    taken_back = _CORRECTION.search(flat, last)
    for match in reversed(list(_CORRECTED.finditer(flat, taken_back.end()))[-_MOST:]) if taken_back else ():
        end = _sentence_end(flat, match.end())
        text = flat[match.end() : end].strip()
        yield _candidate(flat, _Place(match.start(), end, text, "correction"))
