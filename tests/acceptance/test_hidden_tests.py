"""A crawl over all that an agent can call, read or be told: hidden tests and reference solutions are nowhere in it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextResourceContents

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.task import Task
from llmbench_mcp.server.prompts import EVERY_PROMPT
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import DONE, Reply, chunk, streamed, usage_chunk
from tests.mcp.bench import BenchClient, open_bench
from tests.mcp.test_prompts import GIVEN

pytestmark = pytest.mark.timeout(300)

SUITE = "coding_suite"
WRONG = Path(__file__).parents[1] / "suites" / "coding_wrong"
FORMATS = ("json", "csv", "parquet", "html")
SHORTEST = 20
"""Shorter texts, such as a small list of numbers, occur by chance."""


def tasks() -> dict[str, Task]:
    catalog = Catalog.load()
    return {task.prompt.strip(): task for task in catalog.tasks_of(catalog.suite(SUITE))}


def answer_of(task: Task) -> str:
    """Code that passes what can be seen and fails what cannot, or else another wrong answer."""
    folder = WRONG / task.id.removeprefix("coding/")
    path = next(iter(sorted(folder.glob("hardcoded.*"))), None) or min(folder.iterdir())
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else f"```python\n{text}\n```"


def secrets_of(task: Task) -> set[str]:
    """What nobody may be told of a task: lines of its reference solution, values of its hidden tests."""
    block = task.validation
    visible = {key: value for key, value in block.items() if key not in ("hidden_tests", "reference_solution")}
    known = "\n".join((task.prompt, task.system or "", answer_of(task), json.dumps(visible), repr(visible)))
    lines = (line.strip() for line in str(block.get("reference_solution", "")).splitlines())
    found = {*lines, *(form for value in values(block.get("hidden_tests", ())) for form in forms(value))}
    return {secret for secret in found if len(secret) >= SHORTEST and secret not in known}


def values(tests: Any) -> Iterator[Any]:
    """What each hidden test gives and wants, whole: parts of it occur in other tests by chance."""
    for test in tests if isinstance(tests, list | tuple) else [tests]:
        yield from test.values() if isinstance(test, Mapping) else [test]


def forms(value: Any) -> set[str]:
    """How a value may be spelled."""
    compact = json.dumps(value, separators=(",", ":"))
    return {repr(value), str(value), json.dumps(value), compact, json.dumps(compact)[1:-1]}


async def everything_told(client: BenchClient, run_id: str, model: str) -> list[str]:
    """The text of every answer the surface gives about the suite and the run, refusals included."""
    told: list[str] = []

    async def call(tool: str, **arguments: Any) -> CallToolResult:
        result = await client.result(tool, arguments)
        told.append(result.model_dump_json())
        return result

    numbers = range(1, 1 + len(tasks()))
    for detail in ("concise", "detailed"):
        for limit in (10, 50):
            await call("suite_list", suite=SUITE, detail=detail, limit=limit)
            await call("run_results", run_id=run_id, detail=detail, limit=limit)
            await call("run_results", run_id=run_id, detail=detail, limit=limit, only_failed=True)
        await call("suite_list", detail=detail, limit=50)
        await call("run_status", run_id=run_id, detail=detail)
        await call("leaderboard_query", suite=SUITE, detail=detail)
        await call("model_list", detail=detail)
    for number in numbers:
        await call("run_results", run_id=run_id, attempt=number, include_completion=True, detail="detailed")
    for tool in ("run_list", "gpu_stats", "endpoint_list", "model_residency"):
        await call(tool)
    await call("model_get", model=model)
    await call("run_start", models=[model], suites=[SUITE], dry_run=True)
    await call("run_retry", run_id=run_id, what="regrade")
    await call("results_clear", run_ids=[run_id])
    for form in FORMATS:
        result = await call("results_export", run_ids=[run_id], format=form, include_completions=form != "html")
        exported = Path((result.structured_content or {})["path"])
        told += [path.read_bytes().decode("utf-8", "replace") for path in exported.parent.iterdir()]
    told += [text async for text in _read(client.raw, run_id, numbers)]
    return told


async def _read(client: Client, run_id: str, numbers: range) -> AsyncIterator[str]:
    uris = [f"llmbench://suite/{SUITE}", f"llmbench://leaderboard/{SUITE}", f"llmbench://run/{run_id}"]
    uris += [f"llmbench://run/{run_id}/attempt/{number}" for number in numbers]
    uris += [f"llmbench://report/{run_id}.html"]
    for uri in uris:
        for contents in (await client.read_resource(uri)).contents:
            assert isinstance(contents, TextResourceContents)
            yield contents.text
    for spec in EVERY_PROMPT:
        given = {argument.name: GIVEN[argument.name] for argument in spec.arguments if argument.required}
        yield (await client.get_prompt(spec.name, given)).model_dump_json()


async def test_no_answer_resource_export_or_log_holds_a_hidden_test_or_a_reference_solution(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    by_prompt = tasks()

    def wrong(request: Received) -> Reply | None:
        task = by_prompt.get(request.prompt.strip())
        if task is None:
            return None
        tokens = len(request.prompt.split())
        return streamed([chunk(answer_of(task)), chunk(finish="stop"), usage_chunk(tokens, 200), DONE])

    async with open_bench(tmp_path, models=["m"], script=wrong) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "m")
        run_id = (await client.call("run_start", models=["m"], suites=[SUITE]))["run_id"]
        run = await client.finish(run_id)
        assert (run["done"], run["passed"]) == (30, 0), run["failures"]
        told = await everything_told(client, run_id, "m")
    told.append(caplog.text)
    told += [path.read_text(errors="replace") for path in (tmp_path / "data" / "logs").glob("*")]
    everything = "\n".join(told)
    assert len(everything) > 200_000
    secrets = {task.id: secrets_of(task) for task in by_prompt.values()}
    assert min(map(len, secrets.values())) > 3
    leaked = {task: [secret for secret in known if secret in everything] for task, known in secrets.items()}
    assert {task: found for task, found in leaked.items() if found} == {}
