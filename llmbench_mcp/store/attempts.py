"""Attempts as rows: what is written when one ends, and pages for showing."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from typing import Any

from llmbench_mcp.domain.attempt import AttemptOutcome, AttemptRecord
from llmbench_mcp.domain.chat import Completion, Usage
from llmbench_mcp.store.codec import dump
from llmbench_mcp.store.database import Database, Row

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
        where = (run_id, wanted.model, wanted.suite, wanted.failure, int(wanted.only_failed))
        rows = await self._database.all("attempts_page", *where, limit, offset)
        count = await self._database.one("attempts_count", *where)
        return [_record(row) for row in rows], count["n"] if count else 0

    async def get(self, run_id: str, number: int) -> AttemptRecord | None:
        """One attempt with its completion."""
        row = await self._database.one("attempt_by_number", run_id, number)
        return _record(row) if row else None


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
            dump(asdict(grade)),
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
    name = _storable(completion.model[:200]) if completion.model else None
    return (attempt_id, completion.finish_reason, *tokens, *times, dump(dict(timing.server)), name)


def completion_row(attempt_id: str, completion: Completion) -> tuple[Any, ...]:
    """Parameters of ``completion_insert``; lone surrogates cannot be stored and become U+FFFD."""
    calls = dump([asdict(call) for call in completion.tool_calls])
    return tuple(_storable(text) for text in (attempt_id, completion.text, completion.reasoning, calls))


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def _gaps(itl_s: tuple[float, ...]) -> tuple[float | None, ...]:
    if len(itl_s) < 2:
        value = itl_s[0] if itl_s else None
        return (value, value, value)
    cuts = statistics.quantiles(itl_s, n=100, method="inclusive")
    return (cuts[49], cuts[94], cuts[98])


def _record(row: Row) -> AttemptRecord:
    facts = {name: row[name] for name in _FACTS if row[name] is not None}
    for name in ("passed", "tokens_estimated"):
        if name in facts:
            facts[name] = bool(facts[name])
    if facts.get("energy_j") and facts.get("completion_tokens"):
        facts["joules_per_token"] = facts["energy_j"] / facts["completion_tokens"]
    if row["verdict"]:
        verdict = json.loads(row["verdict"])
        facts |= {name: verdict[name] for name in ("findings", "stages", "subscores")}
    names = ("number", "id", "run_id", "job_id", "suite", "task_id", "repeat", "state")
    labels = {"model": row["model_name"], "endpoint": row["endpoint_name"]}
    texts = {"completion_text": row["text"], "reasoning_text": row["reasoning"]}
    return AttemptRecord(**{name: row[name] for name in names}, **labels, **texts, facts=facts)
