"""LaTeX answers: the same formula but for layout or, with the extra ``math``, one of the same value."""

from __future__ import annotations

import re

from llmbench_validators import latex_equal
from llmbench_validators.answers import MARKERS, Candidate
from llmbench_validators.numbers import whole_number
from llmbench_validators.outcome import Outcome, Wanted
from llmbench_validators.plain_maths import plain

_LAYOUT = re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits)(?![a-zA-Z])|\\[,;:! ]|[\s$~]")
_BRACED_ONE = re.compile(r"\{([0-9A-Za-z])\}")
_UNKNOWN = re.compile(r"\s*([A-Za-z])\s*=")
_LEAD = re.compile(r"^(?:[A-Za-z](?:\([a-z]\))?|\\[a-z]+)\s*=(?!=)")


def judge_latex(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Equal spelling, or equal value where both are plain numbers or math-verify is installed."""
    if candidate.rule in ("whole", "conclusion", "correction"):
        return None
    text = candidate.text.strip()
    expected = [option for option in map(plain, wanted.answers) if not _other_unknown(text, option)]
    right = any(_same(text, option) for option in expected)
    if not right and candidate.rule not in MARKERS and not re.search(r"[\\0-9=^_]", text):
        return None
    return Outcome(right=right or any(latex_equal.equal(text, option) for option in expected))


def _other_unknown(text: str, expected: str) -> bool:
    """Whether both say which unknown they are about, and not the same: ``x = 3`` and ``y = 3``."""
    one, other = _UNKNOWN.match(text), _UNKNOWN.match(expected)
    return one is not None and other is not None and one[1] != other[1]


def _same(text: str, expected: str) -> bool:
    if spelling(text) == spelling(expected):
        return True
    number, other = whole_number(text), whole_number(expected)
    return number is not None and other is not None and number.value == other.value


def spelling(text: str) -> str:
    """The formula without layout, delimiters, a leading ``x =`` and needless braces."""
    text = text.strip().rstrip(".")
    text = re.sub(r"\\[dt]frac(?![a-zA-Z])", r"\\frac", text)
    text = _LAYOUT.sub("", text)
    text = _LEAD.sub("", text)
    return _BRACED_ONE.sub(r"\1", text)
