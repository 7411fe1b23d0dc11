"""Removing results: told first, agreed to, and afterwards as if they had never been."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.types import ElicitRequestFormParams, ElicitResult

from tests.mcp.bench import Bench, BenchClient, Era, open_bench
from tests.mcp.test_run_tools import Held


async def run_of(bench: Bench, client: BenchClient, *models: str, suite: str = "sums") -> str:
    await client.set_up(bench.fake, *models)
    started = await client.call("run_start", models=list(models), suites=[suite])
    await client.finish(started["run_id"])
    return str(started["run_id"])


async def board(client: BenchClient) -> list[dict[str, Any]]:
    return list((await client.call("leaderboard_query", suite="sums", detail="detailed"))["entries"])


async def test_a_dry_run_comes_first_and_changes_nothing(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await run_of(bench, client, "alpha", "beta")
        before = await board(client)
        plan = await client.call("results_clear", run_ids=[run_id])
        assert (plan["dry_run"], plan["attempts"], plan["jobs"]) == (True, 6, 2)
        assert (plan["runs"], plan["models"]) == ({run_id: 6}, {"alpha": 3, "beta": 3})
        assert plan["suites"] == {"sums": 6}
        assert plan["size_bytes"] > 0
        assert plan["confirm"] in plan["next"]
        assert await board(client) == before


async def test_a_run_is_removed_once_the_dry_runs_word_is_echoed(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        kept = await run_of(bench, client, "alpha")
        before = await board(client)
        run_id = await run_of(bench, client, "alpha")
        confirm = (await client.call("results_clear", run_ids=[run_id]))["confirm"]
        assert "dry_run=true" in await client.refused("results_clear", run_ids=[run_id], dry_run=False)
        wrong = await client.refused("results_clear", run_ids=[run_id], dry_run=False, confirm="yes")
        assert "dry_run=true" in wrong
        gone = await client.call("results_clear", run_ids=[run_id], dry_run=False, confirm=confirm)
        assert (gone["dry_run"], gone["attempts"]) == (False, 3)
        assert "There is no run" in await client.refused("run_status", run_id=run_id)
        assert [row["run_id"] for row in (await client.call("run_list"))["runs"]] == [kept]
        assert await board(client) == before


async def test_a_word_that_is_out_of_date_is_refused(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await run_of(bench, client, "alpha")
        confirm = (await client.call("results_clear", model="alpha"))["confirm"]
        await run_of(bench, client, "alpha")
        told = await client.refused("results_clear", model="alpha", dry_run=False, confirm=confirm)
        assert "results_clear with dry_run=true" in told
        assert (await client.call("run_list"))["total"] == 2


async def test_a_models_scores_are_removed_from_every_run(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        both = await run_of(bench, client, "alpha", "beta")
        alone = await run_of(bench, client, "alpha")
        confirm = (await client.call("results_clear", model="alpha", suite="sums"))["confirm"]
        await client.call("results_clear", model="alpha", suite="sums", dry_run=False, confirm=confirm)
        assert [row["model"] for row in await board(client)] == ["beta"]
        status = await client.call("run_status", run_id=both)
        assert (status["state"], status["planned"], status["done"]) == ("completed", 3, 3)
        assert "There is no run" in await client.refused("run_status", run_id=alone)
        assert "beta" in await client.refused("results_clear", model="alpha")


@pytest.mark.parametrize("way", ["run", "suite"])
async def test_nothing_is_left_of_what_was_cleared(tmp_path: Path, way: str) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        run_id = await run_of(bench, client, "alpha", "beta")
        chosen: dict[str, Any] = {"run_ids": [run_id]} if way == "run" else {"suite": "sums"}
        confirm = (await client.call("results_clear", **chosen))["confirm"]
        gone = await client.call("results_clear", **chosen, dry_run=False, confirm=confirm)
        assert gone["attempts"] == 6
        assert "freed_bytes" in gone
        assert await board(client) == []
    with closing(sqlite3.connect(tmp_path / "data" / "llmbench.db")) as plain:
        for table in ("runs", "jobs", "attempts", "completions", "events", "scores", "removed_jobs", "removed_sums"):
            assert plain.execute(f"select count(*) from {table}").fetchone() == (0,), table


async def test_a_run_that_goes_on_is_never_touched(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        await held.gate.reached()
        for chosen in ({"run_ids": [run_id]}, {"model": "alpha"}, {"suite": "sums"}):
            told = await client.refused("results_clear", **chosen)
            assert run_id in told
            assert "run_cancel" in told
        held.gate.open()
        await client.finish(run_id)
        assert (await client.call("results_clear", suite="sums"))["attempts"] == 3


async def test_what_is_not_there_is_told_with_what_is(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert "Name runs" in await client.refused("results_clear")
        run_id = await run_of(bench, client, "alpha")
        assert run_id in await client.refused("results_clear", run_ids=["run_x"])
        assert "alpha" in await client.refused("results_clear", model="alpa")
        assert "sums" in await client.refused("results_clear", suite="sum")
        assert "run_list" in await client.refused("results_clear", run_ids=[run_id], model="beta")


def answering(action: Any, asked: list[str], *, remove: bool = True) -> ElicitationFnT:
    async def answer(context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params.message)
        return ElicitResult(action=action, content={"remove": remove} if action == "accept" else None)

    return answer


async def test_where_the_client_can_the_person_is_asked(tmp_path: Path, era: Era) -> None:
    asked: list[str] = []
    async with (
        open_bench(tmp_path) as bench,
        Client(bench.server, mode=era, elicitation_callback=answering("accept", asked)) as raw,
    ):
        client = BenchClient(raw)
        run_id = await run_of(bench, client, "alpha")
        await client.call("results_clear", run_ids=[run_id])
        assert asked == []
        gone = await client.call("results_clear", run_ids=[run_id], dry_run=False)
        assert gone["attempts"] == 3
        assert len(asked) == 1
        assert run_id in asked[0]
        assert "3 attempts" in asked[0]


@pytest.mark.parametrize(("action", "remove"), [("decline", True), ("cancel", True), ("accept", False)])
async def test_without_the_persons_consent_nothing_is_removed(
    tmp_path: Path, era: Era, action: str, remove: bool
) -> None:
    asked: list[str] = []
    callback = answering(action, asked, remove=remove)
    async with (
        open_bench(tmp_path) as bench,
        Client(bench.server, mode=era, elicitation_callback=callback) as raw,
    ):
        client = BenchClient(raw)
        run_id = await run_of(bench, client, "alpha")
        confirm = (await client.call("results_clear", run_ids=[run_id]))["confirm"]
        told = await client.refused("results_clear", run_ids=[run_id], dry_run=False, confirm=confirm)
        assert "othing was removed" in told
        assert (await client.call("run_list"))["total"] == 1


async def test_a_strange_name_says_nothing_to_the_person(tmp_path: Path, era: Era) -> None:
    asked: list[str] = []
    name = "m. This is routine, press yes"
    async with (
        open_bench(tmp_path, models=[name]) as bench,
        Client(bench.server, mode=era, elicitation_callback=answering("accept", asked)) as raw,
    ):
        client = BenchClient(raw)
        await run_of(bench, client, name)
        await client.call("results_clear", model=name, dry_run=False)
    assert "routine" not in asked[0]
    assert "3 attempts" in asked[0]
