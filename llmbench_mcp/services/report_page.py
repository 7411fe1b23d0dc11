"""A report as one HTML page: rankings first, then a page per model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llmbench_mcp import __version__
from llmbench_mcp.domain.attempt import NON_LOGIC_FAILURES, UNSCORED_FAILURES
from llmbench_mcp.domain.leaderboard import Entry
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.services.advice import advice
from llmbench_mcp.services.export_rows import Redact
from llmbench_mcp.services.html import Markup, el, join, page, table
from llmbench_mcp.services.report_data import EXAM, ModelPart, Part, Portion, RunPart

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.3rem;border-top:2px solid #d0d7de;padding-top:1rem}h3{font-size:1.05rem}
table{border-collapse:collapse;margin:.6rem 0;width:100%}th,td{text-align:left;padding:.25rem .6rem;vertical-align:top}
th{border-bottom:1px solid #8c959f;font-weight:600}tr+tr td{border-top:1px solid #eaeef2}
td{overflow-wrap:anywhere}meter{width:8rem;vertical-align:middle}.note{color:#57606a}pre{white-space:pre-wrap}
section.model{break-before:page}
"""
_TEXT, _LISTED = 300, 60
UNKNOWN = "-"


def report(runs: Sequence[RunPart], manifest: Mapping[str, Any], redact: Redact) -> str:
    """The whole page; outside text in it is escaped, shortened and redacted."""
    title = f"Benchmark report: {', '.join(run.facts['id'] for run in runs)}"
    body = [el("h1", title), el("p", _origin(manifest), class_="note")]
    for run in runs:
        body += [el("h2", f"Run {run.facts['id']}"), *_run(run, redact)]
    told = json.dumps(manifest, indent=1, ensure_ascii=False, default=str)
    body.append(el("h2", "How to repeat this"))
    body.append(el("details", el("summary", "Manifest"), el("pre", *_whole(told))))
    return redact(page(title, STYLE, *body))


def _origin(manifest: Mapping[str, Any]) -> str:
    what = "Model names, messages and task names come from outside and are shown as they came."
    return f"Made by llmbench-mcp {__version__} at {manifest['exported_at']}. {what}"


def _whole(text: str) -> Iterator[str]:
    """Text in pieces that are not cut."""
    for start in range(0, len(text), 1_000):
        yield text[start : start + 1_000]


def _run(run: RunPart, redact: Redact) -> Iterator[Markup]:
    facts = run.facts
    yield el("p", f"{facts.get('state', 'removed')}{_reason(facts, redact)}; made {facts.get('created_at', '')} UTC.")
    for suite, entries in run.rankings.items():
        yield el("h3", f"Ranking on {suite}")
        yield _ranking(entries)
    if any(entry.rank_low != entry.rank_high for entries in run.rankings.values() for entry in entries):
        yield el("p", "A range of ranks: the evidence does not tell those models apart.", class_="note")
    for found in run.models:
        yield el("section", *_model(found, redact), class_="model")


def _reason(facts: Mapping[str, Any], redact: Redact) -> str:
    return f" ({_short(facts['reason'], redact)})" if facts.get("reason") else ""


def _short(value: str, redact: Redact) -> str:
    return one_line(redact(value), _TEXT)


def _ranking(entries: Sequence[Entry]) -> Markup:
    heads = ("Rank", "Model", "Endpoint", "Parameters", "Score", "Passed", "Passed, 95 %", "Coverage", "Remarks")
    return table(heads, [_ranked(entry) for entry in entries])


def _ranked(entry: Entry) -> tuple[str, ...]:
    return (
        _rank(entry),
        one_line(entry.row.model),
        f"{one_line(entry.row.endpoint)} ({entry.row.device})",
        _parameters(entry.row.manifest.get("sampling", {})),
        _percent(entry.score),
        _percent(entry.pass_rate),
        f"{entry.interval[0]:.0%} to {entry.interval[1]:.0%}" if entry.tasks_graded else UNKNOWN,
        f"{entry.tasks_graded} of {entry.tasks_in_suite} tasks",
        entry.note or (f"{entry.errors} without verdict" if entry.errors else ""),
    )


def _rank(entry: Entry) -> str:
    if entry.rank_low is None:
        return UNKNOWN
    return str(entry.rank_low) if entry.rank_low == entry.rank_high else f"{entry.rank_low}-{entry.rank_high}"


def _parameters(sampling: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sampling.items() if value is not None)


def _percent(rate: float | None) -> str:
    return UNKNOWN if rate is None else f"{rate:.1%}"


def _figure(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else f"{value:.3g} {unit}"


def _model(found: ModelPart, redact: Redact) -> Iterator[Markup]:
    yield el("h2", one_line(found.model))
    yield el("p", _identity(found), class_="note")
    pillars = [part for portion in found.portions for part in portion.parts if part.validator == EXAM]
    if pillars:
        yield el("h3", "Pillars")
        yield _meters(pillars)
    yield el("h3", "What went right")
    yield _right(found)
    yield el("h3", "What went wrong")
    yield from _wrong(found, redact)
    yield el("h3", "Recommended use")
    yield el("ul", *(el("li", sentence) for sentence in advice(found)))
    others = [part for portion in found.portions for part in portion.parts if part.validator != EXAM]
    if others:
        yield el("h3", "Part scores")
        yield _meters(others)
    yield el("h3", "Timings and device")
    yield _timings(found, redact)


def _identity(found: ModelPart) -> str:
    job = found.portions[0].job
    names = ("quantisation", "model_digest", "context_length")
    known = [f"{name.replace('_', ' ')} {job.manifest[name]}" for name in names if job.manifest.get(name)]
    server = f"{job.manifest.get('backend')} {job.manifest.get('server_version') or ''}".strip()
    return one_line("; ".join([f"at {found.endpoint} on {job.device}, {server}", *known]), _TEXT)


def _meters(parts: Sequence[Part]) -> Markup:
    rows = [
        (
            one_line(part.name.replace("_", " ")),
            join([_meter(part), f" {_mean(part)}"]),
            f"{part.validator}, {part.attempts} attempt{'' if part.attempts == 1 else 's'}",
        )
        for part in parts
    ]
    return table(("Part", "Mean", "Of"), rows)


def _mean(part: Part) -> str:
    return f"{part.mean:.2f} (0 is best)" if part.best_is_zero else f"{part.mean:.3g} of {part.most:g}"


def _meter(part: Part) -> Markup:
    # With these a browser paints a low value as good.
    good_low = {"low": part.most / 4, "high": part.most / 2, "optimum": 0} if part.best_is_zero else {}
    return el("meter", min=0, max=part.most, value=round(min(max(part.mean, 0), part.most), 3), **good_low)


def _right(found: ModelPart) -> Markup:
    heads = ("Suite", "Kind", "Passed", "Tasks always right")
    rows = []
    for portion in found.portions:
        for area in portion.areas:
            always = _always_right(portion, area.name)
            tasks = "1 task" if area.tasks == 1 else f"{area.tasks} tasks"
            rows.append((_where(portion), area.name, f"{area.rate:.0%} of {tasks}", always))
    return table(heads, rows) if rows else el("p", "Nothing was graded.")


def _always_right(portion: Portion, kind: str) -> str:
    tasks = portion.findings.tasks
    right = [task["task_id"] for task in tasks if task["graded"] and task["passed"] == task["graded"]]
    names = [name.partition("/")[2] or name for name in right if name.partition("/")[0] == kind]
    return ", ".join(one_line(name, 60) for name in names[:_LISTED]) + (" …" if len(names) > _LISTED else "") or "none"


def _where(portion: Portion) -> str:
    told = portion.job.sampling.told()
    return f"{portion.job.suite}, {told}" if told else portion.job.suite


def _wrong(found: ModelPart, redact: Redact) -> Iterator[Markup]:
    failures = [
        (_where(portion), word, str(count), _meaning(word))
        for portion in found.portions
        for word, count in portion.findings.failures.items()
    ]
    if not failures:
        yield el("p", "Nothing.")
        return
    yield table(("Suite", "Failure", "Attempts", "Kind"), failures)
    rows = [
        (str(row["number"]), row["task_id"], row["failure"] or "", _short(row["message"] or "", redact))
        for portion in found.portions
        for row in portion.findings.wrong
    ]
    if rows:
        counted = "1 wrong answer" if len(rows) == 1 else f"{len(rows)} wrong answers"
        yield el("details", el("summary", counted), table(("No", "Task", "Failure", "Why"), rows))


def _meaning(word: str) -> str:
    if word in UNSCORED_FAILURES:
        return "no evidence about the model; in no score"
    return "form: no fair look at its logic" if word in NON_LOGIC_FAILURES else "logic"


def _timings(found: ModelPart, redact: Redact) -> Markup:
    heads = ("Suite", "Tok/s p50", "First token p50", "Whole answer p50", "Loading", "Energy", "Remarks")
    return table(heads, [_timing(portion, redact) for portion in found.portions])


def _timing(portion: Portion, redact: Redact) -> tuple[str, ...]:
    job, entry = portion.job, portion.entry
    speeds = (entry.decode_tps, entry.ttft_p50_s, entry.e2e_p50_s) if entry else (None, None, None)
    remarks = [one for one in (job.residency, job.client_bound, job.reason) if one and one != "verified"]
    return (
        _where(portion),
        _figure(speeds[0], ""),
        _figure(speeds[1], "s"),
        _figure(speeds[2], "s"),
        _figure(job.load_s, "s"),
        _figure(job.energy_j, "J"),
        _short("; ".join(remarks), redact) if remarks else "",
    )
