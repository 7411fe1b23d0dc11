"""A team's server: one vLLM behind a key, three people's agents, a nightly schedule, Grafana, a smaller build.

Server and executor are processes of their own, as their services would start them. The agents come by streamable
HTTP, by SSE and in the protocol of before 2026. Where the cluster's model calls nothing, its answer holds the key.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import OllamaStore, StoredModel
from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.fake_vllm import FakeVllm
from llmbench_mcp.testing.replies import DONE, Gate, Reply, calls_reply, chunk, streamed, usage_chunk
from llmbench_mcp.testing.simulated_gpu import GB, GpuExporter, SimulatedGpu
from tests.mcp.bench import settings_in
from tests.mcp.test_http_process import Served, served
from tests.mcp.test_stdio import environment
from tests.support.pages import fill
from tests.support.planted import Planted, forms, process_list, within
from tests.support.processes import no_survivors
from tests.support.team import DOORS, TOKENS, Agent, Samples, agent, command, sample, scrape, write_tokens
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)

KEY = "zz-TEAM/7f3a9c+51d2e8-b0"
PLANTED = Planted({"key": KEY, **TOKENS})
TASKS = 150
NEVER = (40, 80, 120)
"""Where no build makes the right call."""
LOST = (7, 19, 33, 52, 68, 91, 104, 117, 143)
"""Where only the full build does."""
FULL, SMALL = "team-72b", "team-72b-awq"
"""The two builds."""
HELD = 77
"""The task at which the cluster waits for Grafana to look."""
MODELS = {FULL: "cluster", "draft:3b": "office", "helper:8b": "office"}

_TASK = """---
title: Order {number}
difficulty: easy
tags: [orders]
needs: [tools]
---
PROMPT:
Order {number} of the day: {number} jars for shop {number}.

VALIDATION:
```yaml
type: tool_use
tools:
  - type: function
    function:
      name: order_jars
      description: Order jars for a shop.
      parameters:
        type: object
        properties:
          count: {{type: integer}}
          shop: {{type: integer}}
        required: [count, shop]
expected_calls:
  - function: order_jars
    arguments: {{count: {number}, shop: {number}}}
```
"""


def write_tasks(folder: Path) -> None:
    """Two suites of orders: all of them, and three for every night."""
    (folder / "tasks" / "orders").mkdir(parents=True)
    ids = [f"orders/order_{number:03d}" for number in range(1, TASKS + 1)]
    for number, task in enumerate(ids, 1):
        (folder / "tasks" / f"{task}.md").write_text(_TASK.format(number=number), encoding="utf-8")
    suites = [
        {"name": name, "title": name, "description": "Orders of jars.", "version": 1, "tasks": tasks}
        for name, tasks in (("orders", ids), ("nightly_orders", ids[:3]))
    ]
    (folder / "tasks" / "suites.yaml").write_text(json.dumps(suites), encoding="utf-8")


def order_in(request: Received) -> int | None:
    """The number of the order; None for a warm-up or probe."""
    words = request.prompt.split()
    return int(words[1]) if words[:1] == ["Order"] else None


class Cluster(FakeVllm):
    """Serves one build over four cards, and says the key again in its wrong answers."""

    def __init__(self, cards: Sequence[SimulatedGpu]) -> None:
        super().__init__([FULL], self.decide)
        self.cards = cards
        self.version = "0.19.1"
        self.gate = Gate()
        self.seen: list[str] = []
        self.routes["GET /version"] = lambda request: Reply(body={"version": self.version})

    def refused(self, request: Received) -> Reply | None:
        if len(self.requests) % 20 == 1:
            self.seen += process_list()
        has_key = request.headers.get("authorization") == f"Bearer {KEY}"
        return None if has_key or not request.path.startswith("/v1") else Reply(401, {"error": "Unauthorized"})

    async def decide(self, request: Received) -> Reply | None:
        number = order_in(request)
        if number is None:
            return None
        if number == HELD:
            await self.gate.pass_through()
        if number in NEVER or (number in LOST and self.models == [SMALL]):
            told = json.dumps({**request.headers, "trace": [*forms(KEY), within(KEY)]})
            model = request.model
            parts = [chunk(told[at : at + 9], model=model) for at in range(0, len(told), 9)]
            return streamed([*parts, chunk(finish="stop", model=model), usage_chunk(7, 3, model=model), DONE])
        return calls_reply(("order_jars", {"count": number, "shop": number}), model=request.model)

    async def becomes(self, model: str) -> None:
        """It is started again with another build, at the same address and behind the same key."""
        await self.stop()
        self.models = [model]
        await self.__aenter__()


def office_answer(request: Received) -> str | None:
    number = order_in(request)
    call = {"name": "order_jars", "arguments": {"count": number, "shop": number}}
    return None if number is None else f"<tool_call>{json.dumps(call)}</tool_call>"


@dataclass(slots=True)
class Team:
    """What there is, and all that anybody was ever told."""

    folder: Path
    cluster: Cluster
    office: FakeOllama
    settings: dict[str, str]
    server: Served
    executor: Process
    told: list[str] = field(default_factory=list)

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    async def cli(self, *argv: str) -> Any:
        """A person at the machine gives a command."""
        return json.loads(await command(environment(settings_in(self.folder), **self.settings), self.told, *argv))

    async def scrape(self) -> Samples:
        return await scrape(self.server.url, self.told)


@asynccontextmanager
async def staying(folder: Path, settings: dict[str, str]) -> AsyncIterator[Process]:
    """The executor as a service."""
    line = [sys.executable, "-m", "llmbench_mcp", "executor", "run", "--stay"]
    with (folder / "executor.log").open("wb") as log:
        process = await anyio.open_process(
            line, env=environment(settings_in(folder), **settings), stdout=log, stderr=log
        )
    async with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


@asynccontextmanager
async def team_server(folder: Path) -> AsyncIterator[Team]:
    """The machine: four cards with the cluster's model, two models in the office, two services."""
    room = folder / "room"
    write_tasks(room)
    cards = [SimulatedGpu(80 * GB, device_id=f"nvidia:{number}") for number in range(4)]
    for card in cards:
        card.allocate("cluster", FULL, 60 * GB)
    stored = [StoredModel(name, GB, capabilities=("completion", "tools")) for name in ("draft:3b", "helper:8b")]
    exporter, cluster = GpuExporter(cards), Cluster(cards)
    office = FakeOllama(OllamaStore(stored), office_answer)
    async with exporter, cluster, office, no_survivors(room / "data"):
        settings = {
            "LLMBENCH_CREDENTIAL_STORE": "vault",
            "LLMBENCH_DISCOVER_PORTS": "none",
            "LLMBENCH_GPU_EXPORTERS": exporter.url,
            "LLMBENCH_DEBUG": "1",
        }
        tokens = ("--token-file", str(write_tokens(folder / "etc")))
        async with served(room, *tokens, **settings) as server, staying(room, settings) as executor:
            yield Team(room, cluster, office, settings, server, executor)


async def test_three_agents_share_a_server_whose_key_none_of_them_ever_sees(tmp_path: Path) -> None:
    async with team_server(tmp_path) as team:
        async with (
            agent(team.server.url, "anna", team.told) as anna,
            agent(team.server.url, "bert", team.told) as bert,
            agent(team.server.url, "carl", team.told) as carl,
        ):
            await a_person_enters_the_key(anna, bert, team)
            await the_models_are_assigned(carl, team)
            await all_three_run_at_once({"anna": anna, "bert": bert, "carl": carl}, team)
            await at_night_only_what_changed_is_run_again(carl, team)
            await the_smaller_build_lost_nine_calls(anna, team)
            for one in (anna, bert, carl):
                await everything_is_read(one)
            assert PLANTED.found_below(team.folder) == {}  # with the database's journal still there
        assert await team.server.end(signal.SIGTERM) == 0
        team.executor.send_signal(signal.SIGTERM)
        with anyio.fail_after(60):
            assert await team.executor.wait() == 0
    assert PLANTED.found_below(team.folder) == {}
    assert PLANTED.found_below(tmp_path / "etc"), "where they were planted the search finds them"
    assert PLANTED.found_in("\n".join(team.told)) == []
    assert PLANTED.found_in("\n".join(team.cluster.seen)) == []
    assert "[redacted]" in "".join(team.told)


async def a_person_enters_the_key(anna: Agent, bert: Agent, team: Team) -> None:
    """Once, into a page of the server's machine; the agent learns only that it is there."""
    url = team.cluster.url
    assert "credential_request" in await anna.refused("endpoint_add", url=url, name="cluster")
    asked = await anna.call("credential_request", endpoint=url, name="cluster")
    assert asked["state"] == "waiting"
    team.told.append(await fill(asked["page"], KEY))
    assert (await bert.call("credential_request", endpoint=url, name="cluster"))["state"] == "set"
    told = await bert.refused("endpoint_add", url=team.office.url, credential_ref="stored:cluster")
    assert f"belongs to {url} and is never sent to" in told
    cards = [card["id"] for card in (await anna.call("gpu_stats"))["devices"] if card["id"].startswith("remote:")]
    assert len(cards) == 4
    added = await anna.call(
        "endpoint_add", url=url, name="cluster", device=cards[0], credential_ref="stored:cluster", concurrency=16
    )
    assert (added["backend"], added["server_version"]) == ("vllm", "0.19.1")
    await bert.call("endpoint_add", url=team.office.url, name="office", device="cpu")


async def the_models_are_assigned(carl: Agent, team: Team) -> None:
    await carl.call("models_discover")
    for model, home in MODELS.items():
        await carl.call("model_assign", model=model, endpoint=home)
    listed = (await carl.call("endpoint_list", detail="detailed"))["endpoints"]
    assert {row["name"]: row["credential"] for row in listed}["cluster"] == "stored:cluster"


async def all_three_run_at_once(agents: dict[str, Agent], team: Team) -> None:
    """Each starts a run of their own and sees those of the others; Grafana sees what goes on."""
    asked = {"anna": (FULL, "orders"), "bert": ("draft:3b", "nightly_orders"), "carl": ("helper:8b", "nightly_orders")}
    runs: dict[str, str] = {}
    ends: dict[str, dict[str, Any]] = {}
    await team.scrape()  # totals begin with the first look

    async def start(who: str) -> None:
        model, suite = asked[who]
        runs[who] = (await agents[who].call("run_start", models=[model], suites=[suite]))["run_id"]
        ends[who] = await agents[who].over(runs[who])

    async with anyio.create_task_group() as group:
        for who in agents:
            group.start_soon(start, who)
        with anyio.fail_after(60):
            await team.cluster.gate.reached()

        async def is_seen() -> bool:
            found = await team.scrape()
            running = sample(found, "llmbench_runs", state="running")
            return running >= 1 and sample(found, "llmbench_attempts_in_flight") >= 1

        await until(is_seen, 60, 0.3)
        team.cluster.gate.open()
    for who, other in (("anna", "bert"), ("bert", "carl"), ("carl", "anna")):
        seen = await agents[who].call("run_status", run_id=runs[other])
        assert (seen["done"], seen["passed"]) == (ends[other]["done"], ends[other]["passed"])
    assert [ends[who]["passed"] for who in DOORS] == [TASKS - len(NEVER), 3, 3]
    await the_figures_are_right(team)


async def the_figures_are_right(team: Team) -> None:
    async def are_counted() -> bool:
        found = await team.scrape()
        pair = {"endpoint": "cluster", "model": FULL}
        wanted = {"passed": TASKS - len(NEVER), "failed": len(NEVER), "error": 0}
        key = "llmbench_attempts_total"
        return all(sample(found, key, outcome=outcome, **pair) == count for outcome, count in wanted.items())

    await until(are_counted, 30, 0.3)
    found = await team.scrape()
    used = [value for (name, _), value in found.items() if name == "llmbench_device_memory_used_bytes"]
    assert len([value for value in used if value == pytest.approx(60 * GB, rel=1e-3)]) == 4
    assert sample(found, "llmbench_endpoint_up", endpoint="cluster", backend="vllm") == 1
    assert sample(found, "llmbench_runs", state="running") == 0
    assert sample(found, "llmbench_executor_up") == 1


async def at_night_only_what_changed_is_run_again(carl: Agent, team: Team) -> None:
    """The first night everything is new to the schedule's suite or known; then nothing; then what has changed."""
    await team.cli("schedule", "add", "nightly", "nightly", "--suite", "nightly_orders", "--zone", "UTC")
    assert await night(carl, team, 1) == [FULL]  # the other two have been asked by day
    unchanged = await team.cli("schedule", "run-now", "nightly")
    assert (unchanged["result"]["outcome"], unchanged["result"]["run_id"]) == ("unchanged", None)
    team.cluster.version = "0.20.0"
    team.office.store.add(StoredModel("draft:3b", GB, capabilities=("completion", "tools"), content="new weights"))
    assert await night(carl, team, 2) == ["draft:3b", FULL]
    (event, *_) = (await team.cli("schedule", "show", "nightly"))["events"]
    told = "\n".join(event["notes"])
    assert "server 0.19.1 -> 0.20.0" in told
    assert "digest" in told
    assert "unchanged: helper:8b on office" in told


async def night(carl: Agent, team: Team, number: int) -> list[str]:
    """The schedule's time comes; the models of the run that it makes."""
    before = {row["run_id"] for row in await runs_of(carl)}
    with closing(sqlite3.connect(team.data_dir / "llmbench.db", timeout=30)) as plain, plain:
        plain.execute("update schedules set due_at = ?", (f"2026-01-{number:02d}T02:00:00.000Z",))

    async def has_begun() -> bool:
        return len(await runs_of(carl)) > len(before)

    await until(has_begun, 60, 0.3)
    (run_id,) = {row["run_id"] for row in await runs_of(carl)} - before
    status = await carl.over(run_id)
    assert (status["state"], status["passed"]) == ("completed", status["planned"])
    return sorted(job["model"] for job in status["jobs"])


async def runs_of(carl: Agent) -> list[dict[str, Any]]:
    return list((await carl.call("run_list", suite="nightly_orders", limit=50))["runs"])


async def the_smaller_build_lost_nine_calls(anna: Agent, team: Team) -> None:
    """The same address serves another build; which calls it lost, and that it is no chance, is told."""
    await team.cluster.becomes(SMALL)
    (report,) = (await anna.call("models_discover", endpoints=["cluster"]))["reports"]
    assert {kind: found["names"] for kind, found in report["changes"].items()} == {"added": [SMALL], "missing": [FULL]}
    await anna.call("model_assign", model=SMALL, endpoint="cluster")
    run = await anna.call("run_start", models=[SMALL], suites=["orders"])
    await anna.over(run["run_id"])
    pair = await anna.call("model_compare", a=FULL, b=SMALL, suite="orders", limit=50)
    assert (pair["a_only"], pair["b_only"], pair["both"], pair["neither"]) == (9, 0, 138, 3)
    assert (pair["verdict"], pair["test"], round(pair["p"], 3)) == ("a", "exact McNemar", 0.004)
    assert pair["difference"] == pytest.approx(0.06)
    assert pair["items"] == [{"task": f"orders/order_{number:03d}", "a": 1.0, "b": 0.0} for number in LOST]
    board = (await anna.call("leaderboard_query", suite="orders"))["entries"]
    rates = {row["model"]: row["pass_rate"] for row in board}
    assert rates == {FULL: pytest.approx(147 / 150, abs=1e-4), SMALL: pytest.approx(138 / 150, abs=1e-4)}


async def everything_is_read(one: Agent) -> None:
    """All that an agent can have: the lists, every failed answer, the resources, every kind of file."""
    for tool in ("endpoint_list", "model_list", "run_list"):
        await one.call(tool, detail="detailed", limit=50)
    (run,) = (await one.call("run_list", model=SMALL))["runs"]
    page = await one.call("run_results", run_id=run["run_id"], only_failed=True, detail="detailed", limit=50)
    assert page["total"] == len(NEVER) + len(LOST)
    for row in page["attempts"][:3]:
        shown = await one.call("run_results", run_id=run["run_id"], attempt=row["number"], include_completion=True)
        assert "[redacted]" in shown["untrusted_completion"]["text"]
    for resource in (await one.raw.list_resources()).resources:
        await one.read(str(resource.uri))
    for kind in ("json", "csv", "parquet", "html"):
        made = await one.call("results_export", format=kind, include_completions=kind != "html")
        assert Path(made["path"]).stat().st_size == made["size_bytes"]
