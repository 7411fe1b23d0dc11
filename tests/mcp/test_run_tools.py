from __future__ import annotations

from pathlib import Path

from tests.mcp.bench import Era, open_bench


async def test_a_run_goes_from_discovery_to_the_leaderboard(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        assert started["created"] is True
        assert started["planned_attempts"] == 3
        assert started["run_id"] in started["next"]
        status = await client.finish(started["run_id"])
        assert (status["state"], status["done"], status["passed"]) == ("completed", 3, 3)
        board = await client.call("leaderboard_query", suite="sums")
        assert board["entries"][0]["rank"] == "1"
        assert board["entries"][0]["score"] == 1.0
