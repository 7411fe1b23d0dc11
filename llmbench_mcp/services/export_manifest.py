"""What somebody else needs to repeat what was exported."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp import __version__
from llmbench_mcp.domain.results import Selected
from llmbench_mcp.services.export_rows import FORMAT, Column, Redact
from llmbench_mcp.store.exports import AskedTask, ExportStore, SelectedJob

STATISTICS = {
    "pass_rate_interval": "95 %; Wilson's score interval, task-clustered where tasks were asked repeatedly",
    "ranks": "paired sign-flip test on shared tasks, Bonferroni over the rows; ranks not told apart are a range",
    "comparison": "exact McNemar test on shared tasks",
    "repeats": "unbiased pass@k and pass^k, the mean over tasks",
    "left_out": "attempts without a verdict are in no score; they show as missing coverage",
    "more": "docs/statistics.md of this program's version",
}


async def manifest_of(
    store: ExportStore,
    wanted: Selected,
    jobs: Sequence[SelectedJob],
    columns: Sequence[Column],
    now: str,
    redact: Redact,
) -> dict[str, Any]:
    """Versions, digests, parameters, seeds, devices, tasks and validators of the selected jobs.

    Args:
        store: where the rest is read.
        wanted: what was asked for.
        jobs: what was found of it.
        columns: of the rows beside the manifest.
        now: UTC.
        redact: takes keys out, wherever in it they stand.
    """
    asked: dict[str, dict[tuple[Any, ...], AskedTask]] = {}
    for job in jobs:
        for task in await store.tasks(job.id):
            key = (task.task_id, task.task_hash, task.validator or "", task.validator_version or "")
            asked.setdefault(job.suite, {})[key] = task
    names = {job.model_id: job.model for job in jobs} | {job.endpoint_id: job.endpoint for job in jobs}
    told = {
        "format": FORMAT,
        "program": f"llmbench-mcp {__version__}",
        "exported_at": now,
        "selection": wanted.told(),
        "columns": {column.name: f"{column.kind}: {column.told}" if column.told else column.kind for column in columns},
        "runs": [await _run(store, job, names) for job in {job.run_id: job for job in jobs}.values()],
        "jobs": [_job(job) for job in jobs],
        "tasks": {suite: [_task(found[key]) for key in sorted(found)] for suite, found in asked.items()},
        "statistics": STATISTICS,
    }
    clean: dict[str, Any] = json.loads(redact(json.dumps(told, default=str)))
    return clean


async def _run(store: ExportStore, job: SelectedJob, names: Mapping[str, str]) -> dict[str, Any]:
    """The run of a job. ``names`` of models and endpoints by id, as they were: ids mean nothing on another machine.

    The command to repeat it has the endpoint's present name, by which alone it can be found here.
    """
    row = await store.run(job.run_id)
    if row is None:  # removed meanwhile
        return {"id": job.run_id}
    request = dict(row["request"])
    request["models"] = [names.get(model, model) for model in request["models"]]
    again = request
    if request.get("endpoint"):  # then all jobs of the run are there
        request["endpoint"] = names.get(request["endpoint"], request["endpoint"])
        present = await store.endpoint_name(job.endpoint_id)
        again = {**request, "endpoint": present or request["endpoint"]}
    return {**row, "request": request, "repeat_with": repeat_with(again)}


def _job(job: SelectedJob) -> dict[str, Any]:
    names = ("id", "run_id", "model", "served_name", "endpoint", "device", "suite", "state", "load_s", "residency")
    more = ("planned", "done", "errors", "passed", "energy_j", "energy_note", "client_bound")
    return {name: getattr(job, name) for name in (*names, *more)} | {
        "sampling": job.sampling.as_dict(),
        "manifest": dict(job.manifest),
    }


def _task(task: AskedTask) -> dict[str, Any]:
    names = ("task_id", "task_hash", "validator", "validator_version")
    return {name: getattr(task, name) for name in names if getattr(task, name) is not None}


def repeat_with(request: Mapping[str, Any]) -> str | None:
    """The command that asks the same again; None where a request held tasks of its own, which are not in here."""
    if request.get("custom_tasks"):
        return None
    words = ["llmbench-mcp", "run", "start"]
    for option, values in (("--model", request["models"]), ("--suite", request["suites"])):
        for value in values:
            words += [option, value]
    words += _options(request)
    defaults = {name: [None] for name in ("temperature", "seed") if request["sampling"].get(name) is None}
    for name, values in (defaults | request.get("matrix", {})).items():
        words += ["--param", f"{name}={','.join('default' if value is None else str(value) for value in values)}"]
    return shlex.join(words)


def _options(request: Mapping[str, Any]) -> list[str]:
    sampling = request["sampling"]
    given: dict[str, Any] = {
        "--select": request.get("select"),
        "--endpoint": request.get("endpoint"),
        "--repeats": request.get("repeats"),
        **{f"--{name.replace('_', '-')}": sampling.get(name) for name in ("temperature", "top_p", "seed")},
        "--max-tokens": sampling.get("max_tokens"),
    }
    return [word for option, value in given.items() if value is not None for word in (option, str(value))]
