"""What a run done again in part tells of itself."""

from __future__ import annotations

from pathlib import Path

from llmbench_mcp.testing.fake_server import Received
from tests.mcp.bench import Era, open_bench, right


def two_is_wrong(request: Received) -> str | None:
    return "no idea" if request.prompt.startswith("What is 2 +") else right(request)


async def test_second_tries_parameters_and_lifted_limits_are_told(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=two_is_wrong) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        asked = {"models": ["alpha"], "suites": ["sums"], "parameter_matrix": {"temperature": [0, 0.7]}}
        started = await client.call("run_start", **asked, limits={"attempts": 100})
        run_id = started["run_id"]
        await client.finish(run_id)
        again = await client.call("run_retry", run_id=run_id, what="failed")
        assert (again["attempts"], again["limits_lifted"]) == (2, {"attempts": 100})
        await client.finish(run_id)
        rows = (await client.call("run_results", run_id=run_id))["attempts"]
        assert [row.get("tries") for row in rows] == [None] * 6 + [2, 2]
        assert [row.get("counted", True) for row in rows] == [True] * 6 + [False] * 2
        assert [row.get("parameters") for row in rows[2:4]] == [None, "temperature 0.7"]
        once_more = await client.call("run_retry", run_id=run_id, what="regrade")
        assert "limits_lifted" not in once_more


async def test_a_failure_word_that_there_is_not_is_refused_with_the_nearest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        await client.finish(started["run_id"])
        told = await client.refused("run_results", run_id=started["run_id"], failure="wrong_anser")
        assert "wrong_answer" in told
