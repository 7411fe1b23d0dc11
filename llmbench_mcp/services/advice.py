"""What a model's results recommend, as sentences: by fixed rules from figures, never by taste."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from llmbench_mcp.domain.attempt import UNSCORED_FAILURES
from llmbench_mcp.domain.leaderboard import MIN_COVERAGE
from llmbench_mcp.services.report_data import Area, ModelPart

GOOD, WEAK = 0.6, 0.5
"""Good at something: the interval begins above; weak: it ends below."""
_NOTICED = 0.1
_CONVERSATION = (15.0, 2.0)
"""Tokens per second at least, and seconds to the first token at most."""

WORDS = {
    "budget_exhausted": "answers were cut off at their token budget: give it a larger one before judging it",
    "loop": "answers went in circles: do not leave it unattended with these parameters",
    "call_in_text": "tool calls came as text: look at the server's tool-call parser first, the model may be better",
    "malformed_call": "tool calls could not be read",
    "no_call": "times a tool was not called where one was needed",
    "refusal": "tasks were refused",
    "empty": "answers were empty: look at the server's chat template and the budget for thinking",
    "no_code": "answers held no code where code was asked for",
    "format": "answers were not in the form that was asked for",
    "syntax_error": "answers were not valid code",
    "hardcoded": "answers were made for the tests instead of the task",
    "cheating": "answers tried to get round the tests",
    "timeout": "answers ran too long",
}
"""What a failure that is noticed means for whoever uses the model, after its count."""


def advice(found: ModelPart) -> tuple[str, ...]:
    """Recommended use, from the strongest statement to remarks."""
    return (*_uses(found), *_speed(found), *_failures(found))


def _uses(found: ModelPart) -> Iterator[str]:
    entries = [portion.entry for portion in found.portions if portion.entry]
    if not entries or max(entry.coverage for entry in entries) < MIN_COVERAGE:
        yield "Too little was graded to recommend it for anything, or against it."
        return
    areas = [(area, portion.job.sampling.told()) for portion in found.portions for area in portion.areas]
    for area, asked in sorted(areas, key=lambda one: -one[0].rate):
        yield f"{_judged(area)} {area.name}{f' with {asked}' if asked else ''}: {_told(area)}."


def _judged(area: Area) -> str:
    low, high = area.interval
    if low >= GOOD:
        return "Recommended for"
    return "Not recommended for" if high < WEAK else "Open whether to use it for"


def _told(area: Area) -> str:
    low, high = area.interval
    return f"{area.rate:.0%} of {area.tasks} tasks passed, 95 % interval {low:.0%} to {high:.0%}"


def _speed(found: ModelPart) -> Iterator[str]:
    for portion in found.portions:
        entry = portion.entry
        if entry is None or entry.decode_tps is None or entry.ttft_p50_s is None:
            continue
        quick = entry.decode_tps >= _CONVERSATION[0] and entry.ttft_p50_s <= _CONVERSATION[1]
        use = "Quick enough to talk with" if quick else "Better for work that nobody waits for"
        yield f"{use}: {entry.decode_tps:.3g} tokens/s, first token after {entry.ttft_p50_s:.3g} s (medians)."
        return


def _failures(found: ModelPart) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for portion in found.portions:
        counts.update(portion.findings.failures)
    asked = sum(portion.job.done + portion.job.errors for portion in found.portions)
    for word, count in counts.most_common():
        if word in WORDS and count >= _NOTICED * asked:
            yield f"{count} of {asked} {WORDS[word]}."
    lost = sum(count for word, count in counts.items() if word in UNSCORED_FAILURES)
    if lost:
        yield f"{lost} of {asked} attempts have no verdict and are in no score: run_retry (run retry) asks them again."
