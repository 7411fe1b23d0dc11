from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.mcp.bench import Bench, BenchClient, Era, open_bench, right


def beta_wrong(request: Received) -> str | None:
    """Alpha knows everything, beta only task 3."""
    if request.model == "beta" and right(request) in ("2", "4"):
        return "1000"
    return right(request)


async def compete(bench: Bench, client: BenchClient) -> None:
    await client.set_up(bench.fake, "alpha", "beta")
    started = await client.call("run_start", models=["alpha", "beta"], suites=["sums"])
    await client.finish(started["run_id"])


async def test_models_are_ranked_with_their_uncertainty(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        board = await client.call("leaderboard_query", suite="sums")
        assert (board["suite"], board["suite_version"], board["tasks_in_suite"]) == ("sums", 1, 3)
        best, other = board["entries"]
        assert (best["model"], other["model"]) == ("alpha", "beta")
        assert (best["rank"], other["rank"]) == ("1-2", "1-2")
        assert (best["score"], other["score"]) == (1.0, 0.3333)
        # Wilson, 95 %: 3 of 3 is 0.4385..1, 1 of 3 is 0.0615..0.7923.
        assert (best["interval_low"], best["interval_high"]) == (0.4385, 1.0)
        assert (other["interval_low"], other["interval_high"]) == pytest.approx((0.06149, 0.7923))
        assert (best["coverage"], best["errors"], best["runs"]) == (1.0, 0, 1)
        assert (best["endpoint"], best["device"]) == ("fake", "nvidia:0")
        assert best["latency_p50_ms"] > 0
        assert "suites_with_results" not in board


async def test_a_ranking_is_filtered_paged_and_detailed(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        first = await client.call("leaderboard_query", suite="sums", rank_by="pass_rate", limit=1)
        rest = await client.call(
            "leaderboard_query", suite="sums", rank_by="pass_rate", limit=1, cursor=first["next_cursor"]
        )
        assert [first["entries"][0]["model"], rest["entries"][0]["model"]] == ["alpha", "beta"]
        only = await client.call("leaderboard_query", suite="sums", model="BET", detail="detailed")
        (row,) = only["entries"]
        assert row["rank"] == "1-2"
        assert row["details"]["backend"] == "openai"
        assert row["details"]["tasks_graded"] == 3
        assert row["details"]["temperature"] == 0.0
        by_speed = await client.call("leaderboard_query", suite="sums", rank_by="speed")
        assert by_speed["total"] == 2
        assert "basis" not in first  # two rows are tested once


async def test_a_row_with_too_little_coverage_has_no_rank_but_the_reason(tmp_path: Path, era: Era) -> None:
    def too_long(request: Received) -> Reply | str | None:
        if right(request) == "6":
            return error_reply(400, "This model's maximum context length is 8 tokens.", kind="invalid_request_error")
        return right(request)

    async with open_bench(tmp_path, script=too_long) as bench, bench.client(era) as client:
        await compete(bench, client)
        board = await client.call("leaderboard_query", suite="sums")
        for row in board["entries"]:
            assert (row["coverage"], row["errors"]) == (0.6667, 1)
            assert "rank" not in row
            note, _, speeds = row["note"].partition("; ")
            assert note == "not ranked: only 2 of 3 tasks graded"
            assert speeds in ("", "speeds may be this program's own, not the server's")  # by how busy the machine is


async def test_rows_of_one_model_are_told_apart_by_their_parameters(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=right) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        asked = {"parameter_matrix": {"temperature": [0, 0.7]}}
        started = await client.call("run_start", models=["alpha"], suites=["sums"], **asked)
        status = await client.finish(started["run_id"])
        board = await client.call("leaderboard_query", suite="sums")
    told = sorted(row.get("parameters", "") for row in board["entries"])
    assert told == ["", "temperature 0.7"] == sorted(job.get("parameters", "") for job in status["jobs"])


async def test_a_suite_without_results_tells_what_to_do(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        empty = await client.call("leaderboard_query", suite="sums")
        assert (empty["entries"], empty["total"], empty["suites_with_results"]) == ([], 0, [])
        assert "run_start" in empty["next"]
        await compete(bench, client)
        other = await client.call("leaderboard_query", suite="reasoning_smoke")
        assert other["suites_with_results"] == ["sums"]
        none = await client.call("leaderboard_query", suite="sums", model="gamma")
        assert "model left empty" in none["next"]


async def test_speeds_that_may_be_this_programs_own_are_told_beside_them(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        with closing(sqlite3.connect(tmp_path / "data" / "llmbench.db")) as plain, plain:
            plain.execute("update jobs set speed_bound = (model_name = 'beta')")
        board = await client.call("leaderboard_query", suite="sums")
        assert [row.get("note") for row in board["entries"]] == [
            None,
            "speeds may be this program's own, not the server's",
        ]
        with closing(sqlite3.connect(tmp_path / "data" / "llmbench.db")) as plain, plain:
            plain.execute("update jobs set speed_bound = 0")
        board = await client.call("leaderboard_query", suite="sums")
        assert not any("note" in row for row in board["entries"])


async def test_a_removed_suite_is_ranked_with_a_note(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, script=beta_wrong) as bench, bench.client(era) as client:
        await compete(bench, client)
        (tmp_path / "tasks" / "suites.yaml").write_text("[]", encoding="utf-8")
        (await bench.app()).suites.forget()
        board = await client.call("leaderboard_query", suite="sums")
        assert (board["suite_version"], board["tasks_in_suite"]) == (1, 3)
        assert [row["score"] for row in board["entries"]] == [1.0, 0.3333]
        assert all(
            row["note"].endswith("the suite is no longer here; tasks are taken as last asked, all of weight 1")
            for row in board["entries"]
        )
        none = await client.call("leaderboard_query", suite="sums", model="gamma")
        assert "this one is no longer here" in none["next"]


async def test_an_unknown_suite_is_told_with_the_nearest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert "sums" in await client.refused("leaderboard_query", suite="sum")
