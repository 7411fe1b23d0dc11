"""The ``planning`` validator: which points of a rubric a plan mentions.

Keys: ``rubric``, a list of ``{criterion, keywords, weight, match}``. ``weight`` is 1 when absent. ``match: any``
(the default) is met by one keyword; ``match: all`` wants every one and earns the share that is there. The score is
the weighted mean, ``passed`` means every criterion is met. See ``mentions`` for what a mention is: one that is
affirmed suffices, repeats add nothing.

A sentence that only recounts the request ("You asked for …"), or that stands word for word in the prompt, mentions
nothing; it is flagged. An answer made of little but keywords is flagged and keeps its score: words alone cannot
tell a terse list from stuffing. Words are no understanding, so confidence is always low.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmbench_validators import final_text, mentions, show, spec_fields
from llmbench_validators.mentions import Sentence
from llmbench_validators.types import Completion, Stage, ValidationSpecError, Verdict

VERSION = "1"

KEYS = ("type", "rubric")
_CRITERION_KEYS = ("criterion", "keywords", "weight", "match")
_RECOUNTS = re.compile(
    r"\W*(?:you(?:'ve| have)? (?:asked|requested|wanted|said|mentioned|want me)\b|your (?:request|question|prompt) "
    r"|the (?:prompt|request|question|user|assignment) (?:asks|asked|says|said|wants|wanted|requires|mentions)\b"
    r"|(?:the task|my task) is to\b|i (?:was|am|have been) asked\b)"
)
_LEAST_COPIED = 5
_LEAST_STUFFED = 8
_DENSE = 0.4


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric; ``every``: all keywords are wanted, not just one."""

    name: str
    keywords: tuple[str, ...]
    weight: float
    every: bool


@dataclass(frozen=True, slots=True)
class _Met:
    share: float
    finding: str = ""


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Grade a plan against its rubric. Raises ValidationSpecError for a wrong block."""
    rubric = _rubric(spec)
    found = final_text.read(completion)
    if found.failure is not None:
        return _unread(rubric, found)
    text = mentions.sentences(found.text)
    own = _without_echo(text, completion.prompt)
    met = [_met(criterion, own) for criterion in rubric]
    flags = {"echo": 1 - len(own) / max(1, len(text)), "keyword_density": _density(rubric, text)}
    return _verdict(rubric, met, flags, (completion, found.text))


def _rubric(spec: Mapping[str, Any]) -> list[Criterion]:
    spec_fields.refuse_unknown(spec, KEYS, "planning")
    return [_criterion(item, f"planning: rubric {n}") for n, item in enumerate(_items(spec), 1)]


def _items(spec: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return spec_fields.mappings(spec, "rubric", "planning")


def _criterion(item: Mapping[str, Any], where: str) -> Criterion:
    spec_fields.refuse_unknown(item, _CRITERION_KEYS, where)
    keywords = spec_fields.texts(item, "keywords", where)
    for keyword in keywords:
        if not any(char.isalnum() for char in keyword):
            raise ValidationSpecError(f"{where}: keywords holds {show.value(keyword)}, without a letter or digit")
    return Criterion(
        name=spec_fields.text(item, "criterion", where),
        keywords=keywords,
        weight=spec_fields.positive(item, "weight", where, default=1.0),
        every=spec_fields.choice(item, "match", where, ("any", "all"), default="any") == "all",
    )


def _without_echo(text: Sequence[Sentence], prompt: str) -> list[Sentence]:
    copied = {_words(sentence) for sentence in mentions.sentences(prompt[: final_text.MAX_CHARACTERS])}
    return [sentence for sentence in text if not _is_echo(sentence, copied)]


def _is_echo(sentence: Sentence, prompt: set[tuple[str, ...]]) -> bool:
    if _RECOUNTS.match(sentence.text):
        return True
    words = _words(sentence)
    return len(words) >= _LEAST_COPIED and words in prompt


def _words(sentence: Sentence) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", sentence.text))


def _met(criterion: Criterion, text: Sequence[Sentence]) -> _Met:
    counts = {keyword: mentions.count(keyword, text) for keyword in criterion.keywords}
    missing = [keyword for keyword, found in counts.items() if not found.affirmed]
    share = 1 - len(missing) / len(counts) if criterion.every else float(len(missing) < len(counts))
    if share == 1:
        return _Met(1.0)
    denied = [keyword for keyword in missing if counts[keyword].denied]
    wanted = ", ".join(missing if criterion.every else criterion.keywords)
    note = f"; denied: {', '.join(denied)}" if denied else ""
    return _Met(share, show.cut(f"{criterion.name}: no mention of {wanted}{note}"))


def _density(rubric: Sequence[Criterion], text: Sequence[Sentence]) -> float:
    """Which share of the words are keywords; 0 for texts too short to tell."""
    total = sum(len(_words(sentence)) for sentence in text)
    if total < _LEAST_STUFFED:
        return 0.0
    keywords = {keyword for criterion in rubric for keyword in criterion.keywords}
    used = 0
    for keyword in keywords:
        found = mentions.count(keyword, text)
        used += (found.affirmed + found.denied) * len(keyword.split())
    return min(1.0, used / total)


def _verdict(
    rubric: Sequence[Criterion], met: Sequence[_Met], flags: Mapping[str, float], graded: tuple[Completion, str]
) -> Verdict:
    weights = [criterion.weight for criterion in rubric]
    score = sum(item.share * weight for item, weight in zip(met, weights, strict=True)) / sum(weights)
    passed = all(item.share == 1 for item in met)
    failure, note = ("missed_criteria", "") if score > 0 else final_text.why_short(*graded, usual="missed_criteria")
    findings = [note, *(item.finding for item in met), *_flagged(flags)]
    return Verdict(
        passed=passed,
        score=1.0 if passed else round(score, 6),
        confidence="low",
        validator="planning",
        version=VERSION,
        failure=None if passed else failure,
        findings=tuple(finding for finding in findings if finding),
        stages={"criteria": Stage(sum(item.share == 1 for item in met), len(met))},
        subscores={name: round(value, 6) for name, value in flags.items()},
        graded_text=graded[1],
        extractor="final text",
    )


def _flagged(flags: Mapping[str, float]) -> list[str]:
    findings = []
    if flags["echo"] > 0:
        findings.append("Sentences that only repeat the request were left out.")
    if flags["keyword_density"] >= _DENSE:
        findings.append("The answer is little more than keywords.")
    return findings


def _unread(rubric: Sequence[Criterion], found: final_text.FinalText) -> Verdict:
    return Verdict(
        passed=False,
        score=0.0,
        confidence="low",
        validator="planning",
        version=VERSION,
        failure=found.failure,
        findings=(found.finding,),
        stages={"criteria": Stage(0, len(rubric))},
        graded_text=found.text,
    )
