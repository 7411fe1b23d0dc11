"""The ``exact`` validator: the whole answer is the expected text.

Keys: ``expected`` (text, or a list of texts any of which is right), ``ignore_case`` (false), ``whitespace`` (``trim``
leaves out what surrounds the answer, the default; ``collapse`` also takes any run of white space for one blank;
``exact`` compares it too), ``nfc`` (true: spellings that Unicode calls equal are equal).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llmbench_validators import final_text, show, spec_fields
from llmbench_validators.composed import nfc
from llmbench_validators.types import Completion, Stage, Verdict

VERSION = "1"

KEYS = ("type", "expected", "ignore_case", "whitespace", "nfc")
_EXCERPT = 30


@dataclass(frozen=True, slots=True)
class Rules:
    """How texts are compared."""

    ignore_case: bool = False
    whitespace: str = "trim"
    nfc: bool = True

    def apply(self, text: str) -> str:
        """``text`` as it is compared."""
        text = final_text.plain(text)
        if self.nfc:
            text = nfc(text)
        if self.ignore_case:
            text = nfc(text.casefold()) if self.nfc else text.casefold()
        if self.whitespace == "collapse":
            return " ".join(text.split())
        return text.strip() if self.whitespace == "trim" else text


_LOOSEST = Rules(ignore_case=True, whitespace="collapse")


def validate(spec: Mapping[str, Any], completion: Completion) -> Verdict:
    """Compare the answer with the expected text. Raises ValidationSpecError for a wrong block."""
    expected, rules = _read(spec)
    found = final_text.read(completion)
    if found.failure is not None:
        return _verdict(found.text, found.failure, found.finding)
    answer = rules.apply(found.text)
    if any(answer == rules.apply(option) for option in expected):
        return _verdict(found.text, None, "")
    failure, note = final_text.why_short(completion, found.text, "wrong_answer")
    return _verdict(found.text, failure, note or _difference(found.text, answer, expected, rules))


def _read(spec: Mapping[str, Any]) -> tuple[tuple[str, ...], Rules]:
    spec_fields.refuse_unknown(spec, KEYS, "exact")
    several = isinstance(spec.get("expected"), list | tuple)
    expected = spec_fields.texts(spec, "expected", "exact") if several else (_single(spec),)
    rules = Rules(
        ignore_case=spec_fields.flag(spec, "ignore_case", "exact", default=False),
        whitespace=spec_fields.choice(spec, "whitespace", "exact", ("trim", "collapse", "exact"), default="trim"),
        nfc=spec_fields.flag(spec, "nfc", "exact", default=True),
    )
    return expected, rules


def _single(spec: Mapping[str, Any]) -> str:
    return spec_fields.text(spec, "expected", "exact")


def _difference(raw: str, answer: str, expected: tuple[str, ...], rules: Rules) -> str:
    if any(_LOOSEST.apply(raw) == _LOOSEST.apply(option) for option in expected):
        return "The answer differs from the expected text only in case, white space or Unicode form."
    at = max(_common(answer, rules.apply(option)) for option in expected)
    rest = show.value(answer[at : at + _EXCERPT]) if at < len(answer) else "its end"
    return f"The answer differs from the expected text at character {at + 1}, {rest}."


def _common(one: str, other: str) -> int:
    """The length of what both begin with."""
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))


def _verdict(text: str, failure: str | None, finding: str) -> Verdict:
    passed = failure is None
    return Verdict(
        passed=passed,
        score=float(passed),
        confidence="high",
        validator="exact",
        version=VERSION,
        failure=failure,
        findings=(finding,) if finding else (),
        stages={"answer": Stage(int(passed), 1)},
        graded_text=text,
        extractor="final text" if text else None,
    )
