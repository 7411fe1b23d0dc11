"""LaTeX answers compared as text: the same formula in the same spelling, but for layout. No algebra."""

from __future__ import annotations

import re

from llmbench_validators.answers import MARKERS, Candidate
from llmbench_validators.numbers import whole_number
from llmbench_validators.outcome import Outcome, Wanted
from llmbench_validators.plain_maths import plain

_LAYOUT = re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits)(?![a-zA-Z])|\\[,;:! ]|[\s$~]")
_BRACED_ONE = re.compile(r"\{([0-9A-Za-z])\}")
_LEAD = re.compile(r"^(?:[A-Za-z](?:\([a-z]\))?|\\[a-z]+)\s*=(?!=)")


def judge_latex(candidate: Candidate, wanted: Wanted) -> Outcome | None:
    """Equal spelling, or equal value where both are plain numbers."""
    if candidate.rule in ("whole", "conclusion", "correction"):
        return None
    text = candidate.text.strip()
    right = any(_same(text, plain(option)) for option in wanted.answers)
    if not right and candidate.rule not in MARKERS and not re.search(r"[\\0-9=^_]", text):
        return None
    return Outcome(right=right)


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
