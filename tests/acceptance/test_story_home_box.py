"""An evening and a morning with an agent: fourteen models, two cards, one run that goes on by itself.

Told through MCP calls alone, over a stdio server that is closed in between; the executor is a process of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.simulated_gpu import GB, GpuExporter, SimulatedGpu
from tests.support.front_ends import FrontEnd
from tests.support.processes import no_survivors
from tests.support.rooms import write_suite
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(240)

TASKS = 33
KNOWS = {
    "amber:14b": {*range(1, 28)},
    "birch:8b": {*range(1, 21), *range(28, 34)},
    "cedar:8b": {*range(1, 13)},
    "dune:14b": {*range(1, 34)},
    "stuck:7b": {*range(1, 34)},
    "after:7b": {*range(1, 34)},
}
"""By model, the questions it answers rightly."""
CUT_OFF = range(1, 7)
"""Where ``dune`` thinks aloud for longer than it may."""
SIZES = {"amber:14b": 15, "birch:8b": 9, "cedar:8b": 9, "dune:14b": 14, "stuck:7b": 12, "after:7b": 12}
OTHERS = {f"other{n}:{n}b": n for n in (1, 2, 3, 4, 5, 6)} | {"huge:70b": 40, "large:40b": 25}
AMBER_S = 0.2
"""So much longer than the others' ``amber`` takes for each answer."""
CARDS = ("remote:127.0.0.1:0", "remote:127.0.0.1:1")


async def answer(request: Received) -> str | None:
    """What the model of that request says; None leaves a warm-up to the simulator. ``amber`` takes its time."""
    prompt = request.prompt.strip()
    if not prompt.startswith("Question "):
        return None
    number, model = int(prompt.rpartition(" ")[2]), request.model
    if model == "dune:14b" and number in CUT_OFF:
        return " ".join(f"step{n}" for n in range(2000))
    if model == "amber:14b":
        await anyio.sleep(AMBER_S)
    return f"Result: it's {number if number in KNOWS[model] else number + 1000}"


class Box:
    """The machine: two cards, a server on each, one store of models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cards = [SimulatedGpu(24 * GB), SimulatedGpu(16 * GB, device_id="amd:0")]
        models = OllamaStore([StoredModel(name, size * GB) for name, size in (SIZES | OTHERS).items()])
        self.servers = [FakeOllama(models, answer, gpu=card) for card in self.cards]
        self.exporter = GpuExporter(self.cards)

    async def agent(self) -> FrontEnd:
        """A client that has just connected."""
        settings = {
            "LLMBENCH_TASKS_DIR": str(self.folder / "tasks"),
            "LLMBENCH_GPU_EXPORTERS": self.exporter.url,
            "LLMBENCH_RELEASE_WAIT_S": "2",
            "LLMBENCH_DISCOVER_PORTS": "none",
        }
        return await FrontEnd.start(self.folder / "data", self.folder / "server.log", **settings)


@asynccontextmanager
async def home_box(folder: Path) -> AsyncIterator[Box]:
    write_suite(folder, TASKS, "numbers")
    box = Box(folder)
    async with box.servers[0], box.servers[1], box.exporter, no_survivors(folder / "data"):
        yield box


async def test_an_agent_finds_compares_and_explains_the_models_of_a_box_with_two_cards(tmp_path: Path) -> None:
    async with home_box(tmp_path) as box:
        evening = await box.agent()
        run_id = await set_going(evening, box)
        await evening.hang_up()
        await evening.ended()
        morning = await box.agent()
        await until(lambda: over(morning, run_id), 120)
        await one_card_stood_still(morning, run_id)
        await the_ranking_is_honest(morning)
        await the_cut_answers_are_explained(morning, run_id)
        await morning.hang_up()
        await morning.ended()
        assert [card.together(GB) for card in box.cards] == [[], []]
        assert [count_of_loads(server) for server in box.servers] == [
            Counter({"amber:14b": 1, "birch:8b": 1, "cedar:8b": 1, "dune:14b": 1}),
            Counter({"stuck:7b": 1}),
        ]


async def set_going(agent: FrontEnd, box: Box) -> str:
    """What the agent does in the evening; returns the run."""
    cards = (await agent.call("gpu_stats"))["devices"]
    free = {card["id"]: card["vram_total_gib"] for card in cards}
    assert [round(free[card] * 2**30 / GB) for card in CARDS] == [24, 16]
    for server, name, card in zip(box.servers, ("first", "second"), CARDS, strict=True):
        assert (await agent.call("endpoint_add", url=server.url, name=name, device=card))["backend"] == "ollama"
    found = await agent.call("models_discover")
    assert [report["changes"]["added"]["count"] for report in found["reports"]] == [14, 14]
    models = (await agent.call("model_list", status="new", limit=50))["models"]
    assert len(models) == 14
    fit = {row["name"] for row in models if row["size_gib"] < free[CARDS[0]]}
    assert fit == {*SIZES, *OTHERS} - {"huge:70b", "large:40b"}
    homes = dict.fromkeys(SIZES, "first") | {"stuck:7b": "second", "after:7b": "second"}
    for model, home in homes.items():
        await agent.call("model_assign", model=model, endpoint=home)
    box.servers[1].faults.never_unloads = True
    request = {"models": list(homes), "suites": ["numbers"], "max_tokens": 400}
    plan = await agent.call("run_start", **request, dry_run=True)
    assert (plan["planned_attempts"], plan["loads"]) == (6 * TASKS, 6)
    started = await agent.call("run_start", **request, idempotency_key="the evening of the test")
    again = await agent.call("run_start", **request, idempotency_key="the evening of the test")
    assert again["run_id"] == started["run_id"]
    return str(started["run_id"])


async def over(agent: FrontEnd, run_id: str) -> bool:
    return (await agent.call("run_status", run_id=run_id))["state"] not in ("queued", "running", "paused")


async def one_card_stood_still(agent: FrontEnd, run_id: str) -> None:
    """A model that does not leave blocks the next on its card, by name, and nothing on the other."""
    status = await agent.call("run_status", run_id=run_id)
    jobs = {job["model"]: job for job in status["jobs"]}
    blocked = [model for model, job in jobs.items() if job["state"] == "blocked"]
    assert blocked == ["after:7b"]
    assert "'stuck:7b'" in jobs["after:7b"]["untrusted_reason"]
    assert all(job["done"] == TASKS for model, job in jobs.items() if model != "after:7b")


async def the_ranking_is_honest(agent: FrontEnd) -> None:
    """Two that the evidence does not tell apart share their ranks; one clearly behind does not."""
    board = (await agent.call("leaderboard_query", suite="numbers"))["entries"]
    rows = {row["model"]: row for row in board}
    amber, birch, cedar = (rows[name] for name in ("amber:14b", "birch:8b", "cedar:8b"))
    assert [row["pass_rate"] for row in (amber, birch)] == [pytest.approx(27 / 33, 1e-3), pytest.approx(26 / 33, 1e-3)]
    assert ranks(amber) & ranks(birch)
    assert not ranks(cedar) & (ranks(amber) | ranks(birch))
    assert birch["latency_p50_ms"] < amber["latency_p50_ms"]
    pair = await agent.call("model_compare", a="amber:14b", b="birch:8b", suite="numbers")
    assert (pair["a_only"], pair["b_only"]) == (7, 6)
    assert pair["p"] > 0.05
    pair = await agent.call("model_compare", a="amber:14b", b="cedar:8b", suite="numbers")
    assert pair["p"] < 0.001


def ranks(row: dict[str, Any]) -> set[int]:
    low, _, high = str(row["rank"]).partition("-")
    return {*range(int(low), int(high or low) + 1)}


async def the_cut_answers_are_explained(agent: FrontEnd, run_id: str) -> None:
    """The budget was too small: the word says so, the text of the answer comes on request, marked as untrusted."""
    page = await agent.call("run_results", run_id=run_id, model="dune:14b", only_failed=True)
    assert {row["failure"] for row in page["attempts"]} == {"budget_exhausted"}
    assert page["total"] == len(CUT_OFF)
    number = page["attempts"][0]["number"]
    one = await agent.call("run_results", run_id=run_id, attempt=number, include_completion=True)
    assert "step0 step1" in one["untrusted_completion"]["text"]


def count_of_loads(server: FakeOllama) -> Counter[str]:
    """How often each model came into memory: runs of requests of one model."""
    asked = [entry.model for entry in server.log if entry.path == "/api/chat"]
    return Counter(model for at, model in enumerate(asked) if at == 0 or asked[at - 1] != model)
