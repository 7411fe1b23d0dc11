"""What ``--json`` prints: plain dicts made from domain objects. Times in seconds, sizes in bytes, raw figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmbench_mcp.domain.attempt import AttemptRecord
    from llmbench_mcp.domain.chat import Completion, Usage
    from llmbench_mcp.domain.endpoint import Endpoint
    from llmbench_mcp.domain.leaderboard import Entry
    from llmbench_mcp.domain.model import Model
    from llmbench_mcp.domain.run import ListedRun, Run
    from llmbench_mcp.services.devices import DeviceView
    from llmbench_mcp.services.endpoints import EndpointView
    from llmbench_mcp.services.health import ProbeReport
    from llmbench_mcp.services.leaderboard import Leaderboard
    from llmbench_mcp.services.suites import SuiteView


def plain(value: Any) -> Any:
    """``value`` as strict JSON can hold it: what has named fields as dicts, NaN and infinity as null, whole text."""
    fields = _fields(value)
    if fields is not None:
        return {str(plain(key)): plain(item) for key, item in fields.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(value) if isinstance(value, PurePath) else value


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """What it holds by name; None where its parts have no names."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return value if isinstance(value, Mapping) else None


def endpoint(found: Endpoint) -> dict[str, Any]:
    """An endpoint; of its credential only the reference's name."""
    return asdict(found) | {"state": found.state}


def endpoint_view(view: EndpointView) -> dict[str, Any]:
    """An endpoint with what a look at it found; ``residents`` null when unknown."""
    residents = None if view.residents is None else [asdict(resident) for resident in view.residents]
    return endpoint(view.endpoint) | {"credential_state": view.credential, "residents": residents, "error": view.error}


def model(found: Model) -> dict[str, Any]:
    """A model with its homes; ``capabilities`` are those it has, ``known_capabilities`` say also who says so."""
    return asdict(found) | {"capabilities": list(found.capabilities)}


def probe(report: ProbeReport) -> dict[str, Any]:
    """A probe's checks and what is recorded after it."""
    names = ("name", "outcome", "message", "retries", "seconds", "tools")
    checks = [{name: getattr(check, name) for name in names} for check in report.checks]
    head = {"endpoint": report.endpoint.name, "status_before": report.before, "is_well": report.is_well}
    return {"model": model(report.model), **head, "checks": checks}


def completion(done: Completion) -> dict[str, Any]:
    """A probe's answer; these keys are a contract with scripts and change for nobody."""
    return {
        "text": done.text,
        "reasoning": done.reasoning,
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in done.tool_calls],
        "finish_reason": done.finish_reason,
        "usage": None if done.usage is None else _usage(done.usage),
        "ttft_s": done.timing.ttft_s,
        "ttfat_s": done.timing.ttfat_s,
        "e2e_s": done.timing.e2e_s,
        "decode_tps": done.timing.decode_tps,
        "model": done.model,
        "error": done.error,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def suite(view: SuiteView) -> dict[str, Any]:
    """A suite and what its tasks ask; never how they are graded."""
    head = {name: getattr(view.suite, name) for name in ("name", "title", "description", "version", "licence")}
    if not view.tasks:
        return head | {"imported_tasks": len(view.suite.items)}
    return head | {
        "tasks": [
            {
                "id": task.id,
                "title": task.title,
                "difficulty": task.difficulty,
                "tags": task.tags,
                "weight": view.weights[task.id],
                "prompt": task.prompt,
            }
            for task in view.tasks
        ]
    }


def run(found: Run) -> dict[str, Any]:
    """A run with its jobs and totals; ``tokens`` is ``total_tokens`` with 0 for unknown."""
    return asdict(found) | {"is_over": found.is_over, "total_tokens": found.total_tokens}


def listed_run(listed: ListedRun) -> dict[str, Any]:
    """A run as it stands in a list, with the models and suites it is about."""
    return run(listed.run) | {"models": listed.models, "suites": listed.suites}


def attempt(record: AttemptRecord, with_text: bool = False) -> dict[str, Any]:
    """An attempt, its facts beside its names; the answer only when asked for."""
    names = ("number", "id", "job_id", "model", "endpoint", "suite", "task_id", "repeat", "state")
    shape = {name: getattr(record, name) for name in names} | dict(record.facts)
    if with_text:
        shape |= {"completion_text": record.completion_text, "reasoning_text": record.reasoning_text}
    return shape


def leaderboard(board: Leaderboard) -> dict[str, Any]:
    """A ranked suite; ``basis`` and ``remark`` only where there is one."""
    shape = {
        "suite": board.suite.suite.name,
        "suite_version": board.suite.suite.version,
        "rank_by": board.rank_by,
        "entries": [entry(row) for row in board.entries],
    }
    told = {"basis": board.basis, "remark": board.remark}
    return shape | {name: words for name, words in told.items() if words}


def entry(ranked: Entry) -> dict[str, Any]:
    """One row of a leaderboard with its tasks and manifest; its tokens are those of answers."""
    shape = asdict(ranked)
    row = shape.pop("row")
    for counted in (shape, *row["tasks"]):
        counted["completion_tokens"] = counted["tokens"]
    head = {name: row.pop(name) for name in ("model", "endpoint", "device", "runs")}
    return {**head, **shape, **row}


def device(view: DeviceView) -> dict[str, Any]:
    """A device reading, who loads into it, and whose server each process is."""
    shape = asdict(view.device) | {"endpoints": view.endpoints}
    for process in shape["processes"]:
        process["endpoint"] = view.owners.get(process["pid"])
    return shape
