"""The tool use suite on a simulated server: a model that calls rightly gets everything, one that errs gets nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from llmbench_mcp.app import App
from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, calls_reply
from tests.support.rooms import opened_real
from tests.support.work import finished, working

ANSWERS = Path(__file__).parent / "answers"
SUITE = "tool_use_suite"


def answers(kind: str) -> dict[str, list[Any]]:
    """By prompt, the model's side of the conversation: the first of that kind that is kept."""
    catalog = Catalog.load(())
    found = {}
    for item in catalog.suite(SUITE).items:
        kept = yaml.safe_load((ANSWERS / f"{item.task_id}.yaml").read_text(encoding="utf-8"))[kind][0]
        found[catalog.task(item.task_id).prompt] = (
            kept["turns"] if isinstance(kept, dict) and "turns" in kept else [kept]
        )
    return found


def script(kept: dict[str, list[Any]]) -> Any:
    def answer(request: Received) -> Reply | str:
        messages = request.body["messages"]
        prompt = next(message["content"] for message in messages if message["role"] == "user")
        turn = sum(message["role"] == "assistant" for message in messages)
        said = kept[prompt][turn] if prompt in kept else "Hello"
        return said if isinstance(said, str) else calls_reply(*_pairs(said))

    return answer


def _pairs(said: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], call["arguments"]) for call in said["tool_calls"]]


async def result(app: App, url: str) -> Run:
    await app.endpoints.add(NewEndpoint(url, "box"))
    await app.models.discover()
    return await finished(app, (await app.runs.start(RunRequest(("m",), (SUITE,), "box"))).run.id)


@pytest.mark.parametrize(("kind", "passed"), [("right", 30), ("wrong", 0)])
async def test_right_calls_pass_every_task_and_tempting_ones_none(tmp_path: Path, kind: str, passed: int) -> None:
    (tmp_path / "tasks").mkdir()
    async with FakeServer(["m"], script(answers(kind))) as box, opened_real(tmp_path) as app, working(app):
        run = await result(app, box.url)
    assert (run.done, run.errors, run.passed) == (30, 0, passed)


def test_the_suite_has_its_shares_of_kinds_and_levels() -> None:
    catalog = Catalog.load(())
    tasks = [catalog.task(item.task_id) for item in catalog.suite(SUITE).items]
    levels = {level: sum(task.difficulty == level for task in tasks) for level in ("easy", "medium", "hard")}
    kinds = {kind: sum(kind in task.tags for task in tasks) for kind in ("single", "parallel", "steps", "irrelevance")}
    assert levels == {"easy": 8, "medium": 12, "hard": 10}
    assert kinds == {"single": 10, "parallel": 6, "steps": 8, "irrelevance": 6}
    assert all("steps" in task.tags for task in tasks if task.in_turns)
