"""Speed over real HTTP: what is measured lies within what the server's own log says."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.services.speeds import SpeedRow
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import Reply, text_reply
from tests.support.rooms import assigned, opened_real
from tests.support.work import finished, working

AT_ONCE, REQUESTS, WARM_UPS, WORDS = 6, 18, 6, 40
TASK = f"""---
max_tokens: {WORDS}
load: {{concurrency: {AT_ONCE}, requests: {REQUESTS}, warm_up: {WARM_UPS}}}
---
VARIABLES:
```yaml
chronicle: {{generator: filler, tokens: 60}}
```

PROMPT:
{{{{chronicle.text}}}}

Go on.

VALIDATION:
```yaml
type: instructions
instructions: [{{id: "length_constraints:number_words", relation: at least, num_words: 30}}]
```
"""


@dataclass
class Log:
    """The server's own record: when each measured request came, and how long it was kept waiting."""

    came: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    together: int = 0
    asked: int = 0
    prefixes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._here = 0
        self._full = asyncio.Condition()

    async def answer(self, request: Received) -> Reply | None:
        if not request.prompt.rstrip().endswith("Go on."):
            return None
        came = time.monotonic()
        self.prefixes.add(request.prompt.partition("\n")[0])
        async with self._full:
            self.asked += 1
            batch = -(-self.asked // AT_ONCE) * AT_ONCE
            self.together = max(self.together, self.asked - self._here)
            self._full.notify_all()
            await self._full.wait_for(lambda: self.asked >= batch)
        self._here += 1
        self.came.append(came)
        self.kept.append(time.monotonic() - came)
        return text_reply(" ".join(["word"] * WORDS), model=request.model)


def write(folder: Path) -> None:
    root = folder / "tasks"
    (root / "own").mkdir(parents=True)
    (root / "own" / "flood.md").write_text(TASK, encoding="utf-8")
    head = "- name: flood\n  title: Flood\n  description: Own.\n  version: 1\n  tasks: [own/flood]\n"
    (root / "suites.yaml").write_text(head + "  limits: {ttft_s: 60, itl_s: 60}\n", encoding="utf-8")


async def measured(app: App, url: str) -> SpeedRow:
    await assigned(app, url)
    run_id = (await app.runs.start(RunRequest(("m",), ("flood",)))).run.id
    async with working(app):
        run = await finished(app, run_id)
    assert (run.planned, run.passed) == (REQUESTS, REQUESTS), run.failures
    (row,) = await app.speeds.of_run(run_id)
    return row


async def test_a_level_of_load_is_really_asked_at_once_and_its_figures_fit_the_servers_log(tmp_path: Path) -> None:
    write(tmp_path)
    log = Log()
    began = time.monotonic()
    async with (
        FakeServer(script=log.answer) as fake,
        opened_real(tmp_path, clock=SystemClock()) as app,
    ):
        row = await measured(app, fake.url)
    span_s = time.monotonic() - began
    found = row.figures
    assert log.together == AT_ONCE
    assert log.asked == REQUESTS + WARM_UPS
    assert len(log.prefixes) == log.asked  # no prompt could be answered from a cache of another
    assert (row.concurrency, found.requests, found.failed) == (AT_ONCE, REQUESTS, 0)
    assert found.ttft_s is not None
    assert found.e2e_s is not None
    counted = sorted(log.kept[WARM_UPS:])
    assert found.ttft_s.p99 <= found.e2e_s.p99 <= span_s
    assert found.ttft_s.p50 >= counted[len(counted) // 2 - 1]
    assert found.total_tps is not None
    assert found.total_tps >= REQUESTS * WORDS / span_s
    assert found.completion_tokens == WORDS
    assert found.good == 1.0
    assert found.goodput_rps == pytest.approx(found.total_tps / WORDS)
