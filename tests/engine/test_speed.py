"""Tasks that measure speed: how they are asked, and what becomes of their timings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion, Timing, Usage
from llmbench_mcp.domain.errors import ServerFault
from llmbench_mcp.domain.run import Run, RunLimits, RunRequest
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

BLOCK = "VALIDATION:\n```yaml\ntype: keyword\nexpected: fish\n```\n"


def write_load(folder: Path, **tasks: str) -> None:
    """The suite ``load`` of one task per name, with that load."""
    root = folder / "tasks"
    (root / "load").mkdir(parents=True, exist_ok=True)
    for name, load in tasks.items():
        text = f"---\nmax_tokens: 50\nload: {{{load}}}\n---\nPROMPT:\nTell of {name}.\n\n{BLOCK}"
        (root / "load" / f"{name}.md").write_text(text, encoding="utf-8")
    listed = "".join(f"    - load/{name}\n" for name in tasks)
    head = "- name: load\n  title: Load\n  description: Own.\n  version: 1\n  limits: {ttft_s: 0.35, itl_s: 0.05}\n"
    with (root / "suites.yaml").open("a", encoding="utf-8") as file:
        file.write(head + "  tasks:\n" + listed)


@dataclass
class Crowd:
    """A server that answers only when as many are there as are awaited, and remembers who was there together."""

    awaited: dict[str, int]
    seen: list[set[str]] = field(default_factory=list)
    most: Counter[str] = field(default_factory=Counter)
    prompts: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._here: Counter[str] = Counter()
        self._change = anyio.Event()

    async def answer(self, request: ChatRequest, times: int) -> Completion:
        name = request.prompt.strip().rsplit(" ", 1)[1].strip(".")
        self.prompts.append(request.prompt)
        self.order.append(name)
        self._here[name] += 1
        self.most[name] = max(self.most[name], self._here[name])
        self.seen.append({name for name, count in self._here.items() if count})
        self._tell()
        with anyio.move_on_after(20):
            while self.most[name] < self.awaited.get(name, 1):
                await self._change.wait()
        await anyio.lowlevel.checkpoint()
        self._here[name] -= 1
        return completion("fish")

    def _tell(self) -> None:
        self._change.set()
        self._change = anyio.Event()


async def done(app: App, request: RunRequest) -> Run:
    """The run at its end; the executor comes when there is work, and so does not leave before."""
    run_id = (await app.runs.start(request)).run.id
    async with working(app):
        return await finished(app, run_id)


async def test_each_task_is_asked_at_its_own_concurrency_and_beside_nothing_else(tmp_path: Path) -> None:
    crowd = Crowd({"two": 2, "five": 5})
    write_load(
        tmp_path,
        one="concurrency: 1, requests: 3, warm_up: 1",
        two="concurrency: 2, requests: 6, warm_up: 2",
        five="concurrency: 5, requests: 10, warm_up: 5",
    )
    async with opened(tmp_path, {URL: server("m", answer=crowd.answer)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("load",)))
    assert (run.state, run.planned, run.passed) == ("completed", 19, 19)
    assert crowd.most == {"one": 1, "two": 2, "five": 5}
    assert all(len(together) == 1 for together in crowd.seen)
    assert Counter(crowd.order) == {"one": 4, "two": 8, "five": 15}


async def test_no_prompt_begins_like_another_and_repeats_ask_as_often_again(tmp_path: Path) -> None:
    crowd = Crowd({})
    write_load(tmp_path, one="concurrency: 2, requests: 4, warm_up: 3")
    async with opened(tmp_path, {URL: server("m", answer=crowd.answer)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("load",), repeats=2))
    assert run.planned == 8
    assert len({prompt.partition("\n")[0] for prompt in crowd.prompts}) == len(crowd.prompts) == 11
    assert all(prompt.startswith("[") and prompt.endswith("]\nTell of one.") for prompt in crowd.prompts)


async def test_ordinary_tasks_come_first_at_the_endpoints_concurrency(tmp_path: Path) -> None:
    crowd = Crowd({})
    write_load(tmp_path, one="concurrency: 3, requests: 3, warm_up: 1")
    own = tmp_path / "tasks" / "load" / "plain.md"
    own.write_text(f"PROMPT:\nTell of plain.\n\n{BLOCK}", encoding="utf-8")
    with (tmp_path / "tasks" / "suites.yaml").open("a", encoding="utf-8") as file:
        file.write("    - load/plain\n")
    async with opened(tmp_path, {URL: server("m", answer=crowd.answer)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("load",), repeats=2))
        (row,) = await app.speeds.of_run(run.id)
    assert crowd.order[:2] == ["plain", "plain"]
    assert set(crowd.order[2:]) == {"one"}
    assert (row.task_id, row.figures.requests) == ("load/one", 6)


async def test_a_limit_on_attempts_is_kept_and_warming_up_is_no_attempt(tmp_path: Path) -> None:
    crowd = Crowd({})
    write_load(tmp_path, one="concurrency: 3, requests: 9, warm_up: 2")
    async with opened(tmp_path, {URL: server("m", answer=crowd.answer)}) as app:
        await assigned(app, URL)
        limited = RunRequest(("m",), ("load",), limits=RunLimits(attempts=4))
        run = await done(app, limited)
    assert (run.state, run.done) == ("cancelled", 4)
    assert len(crowd.order) == 6


async def test_a_server_that_fails_while_it_is_warmed_up_is_measured_all_the_same(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: ChatRequest, times: int) -> Completion:
        asked.append(request.prompt)
        if len(asked) <= 2:
            raise ServerFault("not yet")
        return completion("fish")

    write_load(tmp_path, one="concurrency: 1, requests: 2, warm_up: 2")
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("load",)))
    assert (run.passed, len(asked)) == (2, 4)


async def test_the_figures_are_those_of_the_known_timings(tmp_path: Path) -> None:
    given = [(0.1, 40.0), (0.2, 40.0), (0.3, 10.0), (0.4, 40.0)]

    def answer(request: ChatRequest, times: int) -> Completion:
        ttft_s, tps = given[len(asked) % 4]
        asked.append(request.prompt)
        timing = Timing(ttft_s=ttft_s, ttfat_s=ttft_s, e2e_s=2.0, itl_s=(1 / tps,) * 9, decode_tps=tps)
        return completion("fish", timing=timing, usage=Usage(prompt_tokens=300, completion_tokens=10))

    asked: list[str] = [""] * 3  # the one that warms up is the last of a round
    write_load(tmp_path, one="concurrency: 1, requests: 4, warm_up: 1")
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("load",)))
        (row,) = await app.speeds.of_run(run.id)
        (entry,) = (await app.leaderboards.query("load", "speed")).entries
    found = row.figures
    assert (row.model, row.concurrency, found.requests, found.failed) == ("m", 1, 4, 0)
    assert found.ttft_s is not None
    assert found.itl_s is not None
    assert [found.ttft_s.p50, found.ttft_s.p90] == pytest.approx([0.25, 0.37])
    assert [found.itl_s.p50, found.itl_s.p99] == pytest.approx(
        [
            0.025,
            0.0978,
        ],
        abs=1e-3,
    )
    assert (found.prompt_tokens, found.completion_tokens, found.stream_tps) == (300, 10, 40.0)
    assert found.good == pytest.approx(2 / 4)  # one too slow to begin, one from token to token
    assert entry.decode_tps == pytest.approx(32.5)


async def test_a_run_that_measures_no_speed_has_no_figures_of_load(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        run = await done(app, RunRequest(("m",), ("sums",)))
        assert await app.speeds.of_run(run.id) == []
