from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.bench import Era, open_bench
from tests.mcp.test_leaderboard_query import beta_wrong, compete


async def test_two_models_are_compared_task_by_task(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        found = await client.call("model_compare", a="alpha", b="beta", suite="sums")
    assert (found["a"], found["b"]) == ("alpha@fake", "beta@fake")
    assert (found["a_only"], found["b_only"], found["both"], found["neither"]) == (2, 0, 1, 0)
    assert (found["p"], found["test"], found["verdict"]) == (0.5, "exact McNemar", "tie")
    assert found["difference"] == pytest.approx(2 / 3, abs=1e-4)
    assert -1 <= found["interval_low"] < 0 < found["interval_high"] <= 1
    assert (found["tasks_shared"], found["tasks_in_suite"], found["total"]) == (3, 3, 2)
    assert found["items"] == [
        {"task": "sums/double_1", "a": 1.0, "b": 0.0},
        {"task": "sums/double_2", "a": 1.0, "b": 0.0},
    ]
    assert "remarks" not in found


async def test_what_differs_is_paged(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        first = await client.call("model_compare", a="beta", b="alpha", suite="sums", limit=1)
        rest = await client.call(
            "model_compare", a="beta", b="alpha", suite="sums", limit=1, cursor=first["next_cursor"]
        )
    assert [first["items"][0]["task"], rest["items"][0]["task"]] == ["sums/double_1", "sums/double_2"]
    assert "next_cursor" not in rest


async def test_what_cannot_be_compared_is_refused_with_the_field_and_the_remedy(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha", "beta")
        for model, temperature in (("alpha", 0.0), ("beta", 0.5)):
            run = await client.call("run_start", models=[model], suites=["sums"], temperature=temperature)
            await client.finish(run["run_id"])
        refused = await client.refused("model_compare", a="alpha", b="beta", suite="sums")
        same = await client.refused("model_compare", a="alpha", b="alpha", suite="sums")
        mixed = await client.refused("model_compare", a="alpha", b=run["run_id"], suite="sums")
        unknown = await client.refused("model_compare", a="alpha", b="gamma", suite="sums")
    assert "temperature is 0.0 for a and 0.5 for b" in refused
    assert "same parameters" in refused
    assert "same results" in same
    assert "two models or two run ids" in mixed
    assert "alpha" in unknown
