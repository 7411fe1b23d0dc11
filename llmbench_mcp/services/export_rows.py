"""The columns of an export: names, kinds and meanings; part of the format, so none is ever renamed or moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from llmbench_mcp.store.exports import SelectedJob

FORMAT = "llmbench-results/1"
Kind = Literal["text", "integer", "number", "yes_no"]


class Column(NamedTuple):
    """One column; ``told`` says what it holds and its unit."""

    name: str
    kind: Kind
    told: str = ""


_WHOSE = (
    Column("run_id", "text"),
    Column("job_id", "text", "one model, endpoint, suite and parameter set of the run"),
    Column("attempt_id", "text"),
    Column("number", "integer", "of the attempt in its run"),
    Column("model", "text", "untrusted: as the server names it"),
    Column("model_digest", "text"),
    Column("quantisation", "text"),
    Column("endpoint", "text"),
    Column("backend", "text"),
    Column("server_version", "text"),
    Column("device", "text"),
    Column("suite", "text"),
    Column("suite_version", "integer"),
    Column("task", "text"),
    Column("task_hash", "text", "hash of everything about the task that can change a verdict"),
    Column("repeat", "integer"),
    Column("try", "integer", "2 and more: asked again"),
    Column("counted", "yes_no", "whether the verdict is part of scores"),
    Column("temperature", "number", "empty: the server's default; so for the other parameters"),
    Column("top_p", "number"),
    Column("seed", "integer"),
    Column("max_tokens", "integer"),
    Column("context_length", "integer"),
    Column("reasoning", "text"),
)
_VERDICT = (
    Column("state", "text", "done: graded; error: no verdict; cancelled, pending: not asked"),
    Column("passed", "yes_no"),
    Column("score", "number", "0 to 1"),
    Column("confidence", "text"),
    Column("failure", "text", "one word"),
    Column("validator", "text"),
    Column("validator_version", "text"),
    Column("extractor", "text", "how the answer was found in the text"),
    Column("isolation", "text", "how well model-written code was confined"),
    Column("subscores", "text", "JSON object"),
    Column("stages", "text", "JSON object: [passed, tried]"),
    Column("untrusted_message", "text", "why there is no verdict; of a verdict, its first finding, only with answers"),
    Column("finish_reason", "text"),
)
_MEASURED = (
    Column("prompt_tokens", "integer"),
    Column("completion_tokens", "integer"),
    Column("reasoning_tokens", "integer"),
    Column("tokens_estimated", "yes_no"),
    Column("ttft_s", "number", "seconds to the first token"),
    Column("ttfat_s", "number", "seconds to the first token of the answer, after any reasoning"),
    Column("e2e_s", "number", "seconds in all"),
    Column("itl_p50_s", "number", "seconds between tokens"),
    Column("itl_p95_s", "number"),
    Column("itl_p99_s", "number"),
    Column("decode_tps", "number", "tokens per second"),
    Column("prefill_tps", "number", "tokens per second"),
    Column("energy_j", "number", "joules"),
    Column("energy_note", "text"),
    Column("retries", "integer", "requests repeated after an infrastructure error"),
    Column("interrupted", "integer"),
    Column("untrusted_answered_as", "text", "name under which the server answered, where it is another"),
    Column("started_at", "text", "UTC"),
    Column("finished_at", "text", "UTC"),
)
_ANSWERS = (
    Column("untrusted_completion", "text", "what the model answered"),
    Column("untrusted_reasoning", "text"),
    Column("untrusted_tool_calls", "text", "JSON list; of a task in turns an object: calls, turns"),
)
COLUMNS = (*_WHOSE, *_VERDICT, *_MEASURED)
_AS_STORED = frozenset({"task_hash", "repeat", "counted", *(column.name for column in (*_VERDICT, *_MEASURED))})

Row = dict[str, Any]
Redact = Callable[[str], str]
Redactor = Callable[[], Redact]
"""Gives what takes out every key known by then."""


def columns(*, with_answers: bool) -> tuple[Column, ...]:
    """In order; what models wrote only with answers."""
    return (*COLUMNS, *_ANSWERS) if with_answers else COLUMNS


def row_of(job: SelectedJob, stored: Mapping[str, Any], redact: Redact) -> Row:
    """One attempt by column; secrets in outside text become a placeholder."""
    verdict = json.loads(stored["verdict"] or "{}")
    row: Row = dict.fromkeys(column.name for column in COLUMNS) | _of_job(job)
    row |= {name: stored[name] for name in _AS_STORED & stored.keys()}
    row |= {
        "attempt_id": stored["id"],
        "number": stored["number"],
        "task": stored["task_id"],
        "try": stored["try"],
        "device": stored["device"] or job.device,
        "subscores": _json(verdict.get("subscores")),
        "stages": _json(verdict.get("stages")),
        "untrusted_message": redact(stored["message"]) if _may_tell(stored) else None,
        "untrusted_answered_as": stored["answered_as"] and redact(stored["answered_as"]),
        "finish_reason": stored["finish_reason"] and redact(stored["finish_reason"]),
        "model": redact(job.model),
        "energy_note": stored["energy_note"] and redact(stored["energy_note"]),
    }
    for name in ("counted", "passed", "tokens_estimated"):
        row[name] = None if row[name] is None else bool(row[name])
    if "texts" in stored:
        texts = stored["texts"] or (None, None, None)
        row |= {column.name: text and redact(text) for column, text in zip(_ANSWERS, texts, strict=True)}
    return row


def _may_tell(stored: Mapping[str, Any]) -> bool:
    """Of a verdict the message is its first finding, which may quote the answer: it goes where the answer goes."""
    return bool(stored["message"]) and (stored["passed"] is None or "texts" in stored)


def _of_job(job: SelectedJob) -> Row:
    names = ("model_digest", "quantisation", "backend", "server_version", "suite_version")
    asked = {name: getattr(job.sampling, name) for name in _SAMPLING}
    labels = {"run_id": job.run_id, "job_id": job.id, **{name: getattr(job, name) for name in _LABELS}}
    return {**labels, **{name: job.manifest.get(name) for name in names}, **asked}


_LABELS = ("model", "endpoint", "suite")
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "context_length", "reasoning")


def _json(value: Any) -> str | None:
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else None
