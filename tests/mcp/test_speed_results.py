"""Speed under load and drawn suites, as an agent meets them."""

from __future__ import annotations

from pathlib import Path

from llmbench_mcp.testing.fake_server import Received
from tests.mcp.bench import open_bench

LOAD = """---
max_tokens: 20
load: {concurrency: 2, requests: 4, warm_up: 1}
---
VARIABLES:
```yaml
n: {from: 100, to: 999999}
```

PROMPT:
Tell {{n}} stories.

VALIDATION:
```yaml
type: keyword
expected: story
```
"""


def write(folder: Path) -> None:
    root = folder / "tasks"
    (root / "own").mkdir(parents=True)
    (root / "own" / "load.md").write_text(LOAD, encoding="utf-8")
    head = "- name: flood\n  title: Flood\n  description: Own.\n  version: 1\n  tasks: [own/load]\n"
    (root / "suites.yaml").write_text(head + "  limits: {ttft_s: 1000, itl_s: 1000}\n", encoding="utf-8")


def tell(request: Received) -> str:
    return "a story and one more story"


async def test_a_run_that_measures_speed_tells_it_by_level_of_load(tmp_path: Path) -> None:
    write(tmp_path)
    async with open_bench(tmp_path, script=tell) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["flood@12"])
        assert started["planned_attempts"] == 4
        run = await client.finish(started["run_id"])
        page = await client.call("run_results", run_id=run["run_id"], limit=1)
        board = await client.call("leaderboard_query", suite="flood@12", rank_by="speed")
        tasks = await client.call("suite_list", suite="flood@12", detail="detailed")
    (level,) = page["speed"]
    assert (level["task"], level["concurrency"], level["requests"], level["failed"]) == ("own/load", 2, 4, 0)
    assert set(level["ttft_ms"]) == {"p50", "p90", "p99"}
    assert level["total_tps"] > 0
    assert level["good"] == 1
    assert (level["limit_ttft_ms"], level["limit_itl_ms"]) == (1_000_000, 1_000_000)
    assert board["entries"][0]["model"] == "alpha"
    prompts = {prompt.partition("\n")[2] for prompt in bench.fake.prompts if prompt.startswith("[")}
    assert prompts == {tasks["tasks"][0]["prompt"]}


async def test_a_seed_that_is_none_is_refused_with_what_to_write(tmp_path: Path) -> None:
    write(tmp_path)
    async with open_bench(tmp_path, script=tell) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        refused = await client.refused("run_start", models=["alpha"], suites=["flood@x"])
    assert "NAME@SEED" in str(refused)
