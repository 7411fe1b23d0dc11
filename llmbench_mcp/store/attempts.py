"""Attempts as rows: what is written when one ends, and pages for showing."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import Any

from llmbench_mcp.domain.attempt import AttemptOutcome, AttemptRecord, Grade
from llmbench_mcp.domain.chat import Completion, Usage
from llmbench_mcp.store.answers import texts_of_answer
from llmbench_mcp.store.codec import dump, load_sampling
from llmbench_mcp.store.database import Database, Row, Statement
from llmbench_mcp.store.energy import energy_of
from llmbench_mcp.store.packing import Texts, pack, storable, texts_of
from llmbench_mcp.store.tally import tally_outcome

_VERDICT: dict[str, Any] = {"findings": [], "stages": {}, "subscores": {}}
"""Of a verdict, what has no column of its own, and what it is where nothing was said."""

_FACTS = (
    "passed",
    "score",
    "confidence",
    "failure",
    "message",
    "validator",
    "validator_version",
    "extractor",
    "isolation",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "tokens_estimated",
    "ttft_s",
    "ttfat_s",
    "e2e_s",
    "itl_p50_s",
    "itl_p95_s",
    "itl_p99_s",
    "decode_tps",
    "prefill_tps",
    "retries",
    "interrupted",
    "answered_as",
    "device",
    "energy_j",
    "energy_note",
    "started_at",
    "finished_at",
)


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts of a run to show; None means any. ``model`` is a name or id."""

    model: str | None = None
    suite: str | None = None
    failure: str | None = None
    only_failed: bool = False


class AttemptStore:
    """Reading attempts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, run_id: str, wanted: AttemptFilter, limit: int, offset: int
    ) -> tuple[list[AttemptRecord], int]:
        """A page in planned order, without completions, and the total that match."""
        which, where = _which(run_id, wanted)
        page = (f"attempts_page{which}", *where, limit, offset)
        rows, counts = await self._database.look(page, (f"attempts_count{which}", *where))
        return [_record(row) for row in rows], counts[0]["n"]

    async def get(self, run_id: str, number: int) -> AttemptRecord | None:
        """One attempt with its completion."""
        row = await self._database.one("attempt_by_number", run_id, number)
        return _record(row, texts_of(row)) if row else None

    async def numbers(self, run_id: str) -> tuple[int, int, int]:
        """The lowest and the highest number of a run's attempts, and how many there are; zeros for none."""
        row = await self._database.one("attempt_numbers", run_id)
        return (row["least"], row["most"], row["n"]) if row and row["n"] else (0, 0, 0)


def _which(run_id: str, wanted: AttemptFilter) -> tuple[str, tuple[Any, ...]]:
    """Name of the query that finds them by an index, and its parameters."""
    if wanted.model or wanted.suite:
        return "_of_jobs", (run_id, wanted.model, wanted.suite, wanted.failure, int(wanted.only_failed))
    if wanted.only_failed or wanted.failure:
        return "_failed", (run_id, wanted.failure)
    return "", (run_id,)


def finished(outcome: AttemptOutcome, now: str) -> list[Statement]:
    """All that is written when an attempt ends; the first changes no row when it was over already."""
    attempt, completion = outcome.attempt, outcome.completion
    statements: list[Statement] = [("attempt_finish", *finish_row(outcome, now))]
    if completion is not None:
        statements.append(("attempt_measured", *measured_row(attempt.id, completion)))
        statements.append(("completion_insert", attempt.id, pack(texts_of_answer(completion))))
    passed = outcome.grade.passed if outcome.grade else None
    data = dump({"task": attempt.task_id, "passed": passed, "failure": outcome.failure})
    event = ("event_insert", now, attempt.run_id, "attempt", data)
    return [*statements, *energy_of(outcome), *tally_outcome(outcome), event]


def finish_row(outcome: AttemptOutcome, now: str) -> tuple[Any, ...]:
    """Parameters of ``attempt_finish``."""
    grade, where = outcome.grade, outcome.where
    head: tuple[Any, ...] = (outcome.attempt.id, "error", None, None, None, outcome.failure, outcome.message)
    verdict: tuple[Any, ...] = (None, None, None, None, None)
    if grade is not None:
        message = grade.findings[0] if grade.findings else None
        head = (
            outcome.attempt.id,
            "done",
            int(grade.passed),
            grade.score,
            grade.confidence,
            grade.failure,
            message,
        )
        verdict = (
            grade.validator,
            grade.validator_version,
            grade.extractor,
            grade.isolation,
            _verdict(grade),
        )
    return (*head, *verdict, outcome.retries, where.host, where.boot_id, where.device, where.worker, now)


def measured_row(attempt_id: str, completion: Completion) -> tuple[Any, ...]:
    """Parameters of ``attempt_measured``."""
    usage, timing = completion.usage or Usage(), completion.timing
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens, int(usage.estimated))
    times = (
        timing.ttft_s,
        timing.ttfat_s,
        timing.e2e_s,
        *_gaps(timing.itl_s),
        timing.decode_tps,
        timing.prefill_tps,
    )
    name = storable(completion.model[:200]) if completion.model else None
    return (attempt_id, completion.finish_reason, *tokens, *times, dump(dict(timing.server)), name)


def _verdict(grade: Grade) -> str | None:
    told = {name: getattr(grade, name) for name in _VERDICT if getattr(grade, name)}
    return dump(told) if told else None


def _gaps(itl_s: tuple[float, ...]) -> tuple[float | None, ...]:
    if len(itl_s) < 2:
        value = itl_s[0] if itl_s else None
        return (value, value, value)
    cuts = statistics.quantiles(itl_s, n=100, method="inclusive")
    return (cuts[49], cuts[94], cuts[98])


def _record(row: Row, texts: Texts | None = None) -> AttemptRecord:
    facts = {name: row[name] for name in _FACTS if row[name] is not None}
    for name in ("passed", "tokens_estimated"):
        if name in facts:
            facts[name] = bool(facts[name])
    if facts.get("energy_j") and facts.get("completion_tokens"):
        facts["joules_per_token"] = facts["energy_j"] / facts["completion_tokens"]
    if row["try"] > 1:
        facts["try"] = row["try"]
    if not row["counted"]:
        facts["counted"] = False
    if parameters := load_sampling(row["sampling"]).told():
        facts["parameters"] = parameters
    if row["passed"] is not None:
        verdict = json.loads(row["verdict"] or "{}")
        facts |= {name: verdict.get(name, empty) for name, empty in _VERDICT.items()}
    names = ("number", "id", "run_id", "job_id", "suite", "task_id", "repeat", "state")
    labels = {"model": row["model_name"], "endpoint": row["endpoint_name"]}
    answer: dict[str, Any] = {"completion_text": texts[0], "reasoning_text": texts[1]} if texts else {}
    return AttemptRecord(**{name: row[name] for name in names}, **labels, **answer, facts=facts)
