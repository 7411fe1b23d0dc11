from __future__ import annotations

from pathlib import Path

from tests.mcp.bench import Bench, BenchClient, Era, open_bench


async def three_runs(bench: Bench, client: BenchClient) -> list[str]:
    """Of alpha, of beta, of both; the last asked with own tasks."""
    await client.set_up(bench.fake, "alpha", "beta")
    ids = []
    own = [{"prompt": "Say yes", "expected": "yes"}]
    for models, more in (
        (["alpha"], {"suites": ["sums"]}),
        (["beta"], {"suites": ["sums"]}),
        (["alpha", "beta"], {"custom_tasks": own}),
    ):
        started = await client.call("run_start", models=models, **more)
        ids.append(str(started["run_id"]))
        await client.finish(ids[-1])
    return ids


async def test_runs_are_listed_newest_first_with_what_they_are_about(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        ids = await three_runs(bench, client)
        listed = await client.call("run_list")
    assert ([row["run_id"] for row in listed["runs"]], listed["total"]) == (ids[::-1], 3)
    newest, _, oldest = listed["runs"]
    assert (newest["models"], newest["suites"]) == (["alpha", "beta"], ["custom"])
    assert (oldest["state"], oldest["planned"], oldest["done"], oldest["passed"]) == ("completed", 3, 3, 3)
    assert "details" not in oldest


async def test_runs_are_filtered_by_state_model_suite_and_text(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        first, second, third = await three_runs(bench, client)

        async def found(**filters: str) -> list[str]:
            return [row["run_id"] for row in (await client.call("run_list", **filters))["runs"]]

        assert await found(model="alpha") == [third, first]
        assert await found(model="alpha", suite="sums") == [first]
        assert await found(state="completed") == [third, second, first]
        assert await found(state="open") == []
        assert await found(text="BET") == [third, second]
        assert await found(text=second) == [second]
        assert await found(text="_%") == []
        assert "filters" in (await client.call("run_list", suite="none"))["next"]


async def test_runs_come_in_pages_with_details_on_request(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert (await client.call("run_list"))["next"] == "run_start"
        ids = await three_runs(bench, client)
        first = await client.call("run_list", limit=2, detail="detailed")
        rest = await client.call("run_list", limit=2, cursor=first["next_cursor"])
        assert [row["run_id"] for row in (*first["runs"], *rest["runs"])] == ids[::-1]
        assert first["runs"][0]["details"]["finished_at"]
        assert "filters" in await client.refused("run_list", model="alpha", cursor=first["next_cursor"])
