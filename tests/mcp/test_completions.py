"""Names offered while a person fills in a prompt or an address."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import Completion, PromptReference, ResourceTemplateReference

from llmbench_mcp.server.build import build_server
from llmbench_mcp.server.completions import matching
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, Era, open_bench, settings_in


async def offered(client: Client, of: str, argument: str, typed: str = "") -> Completion:
    ref: PromptReference | ResourceTemplateReference = PromptReference(type="ref/prompt", name=of)
    if "://" in of:
        ref = ResourceTemplateReference(type="ref/resource", uri=of)
    return (await client.complete(ref, {"name": argument, "value": typed})).completion


async def names(client: Client, of: str, argument: str, typed: str = "") -> list[str]:
    return (await offered(client, of, argument, typed)).values


async def test_models_places_suites_and_runs_are_offered(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, models=("alpha", "beta", "al\x1bp")) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        assert await names(client.raw, "compare_models", "a", "AL") == ["alpha"]
        assert await names(client.raw, "compare_models", "b", "a") == ["alpha", "beta"]
        assert "fake" in await names(client.raw, "find_best_model", "device")
        assert await names(client.raw, "find_best_model", "role", "c") == []
        assert await names(client.raw, "llmbench://leaderboard/{suite}", "suite", "sum") == ["sums"]
        assert await names(client.raw, "llmbench://suite/{name}", "name", "sum") == ["sums"]
        assert await names(client.raw, "investigate_failures", "run_id", "run_") == [run_id]
        for uri in (
            "llmbench://run/{run_id}",
            "llmbench://run/{run_id}/attempt/{n}",
            "llmbench://report/{run_id}.html",
        ):
            assert await names(client.raw, uri, "run_id", run_id[:6]) == [run_id]


async def test_a_name_that_two_models_share_is_offered_with_its_place(tmp_path: Path, era: Era) -> None:
    models = ({"id": "alpha", "digest": "a"}, {"id": "beta", "digest": "b"})
    async with FakeServer(models) as second, open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        await client.call("endpoint_add", url=second.url, name="second")
        await client.call("models_discover")
        shown = await names(client.raw, "compare_models", "a", "alpha")
        assert shown
        for form in shown:
            await client.call("model_get", model=form)


async def test_at_most_a_hundred_are_offered_with_the_number_of_all(tmp_path: Path, era: Era) -> None:
    models = tuple(f"m{number:03}" for number in range(130))
    async with open_bench(tmp_path, models=models) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        found = await offered(client.raw, "compare_models", "a")
        assert (len(found.values), found.total, found.has_more) == (100, 130, True)
        found = await offered(client.raw, "compare_models", "a", "m12")
        assert (len(found.values), found.total, found.has_more) == (10, 10, False)


async def test_what_nothing_is_known_of_offers_nothing(tmp_path: Path, era: Era) -> None:
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as client:
        assert await names(client, "no_such_prompt", "a") == []
        assert await names(client, "compare_models", "no_such_argument") == []
        assert await names(client, "other://{x}", "x") == []


async def test_what_goes_wrong_offers_nothing_and_the_session_goes_on(tmp_path: Path, era: Era) -> None:
    settings = settings_in(tmp_path)
    settings.data_dir.write_text("in the way", encoding="utf-8")
    holder = AppHolder(settings)
    async with Client(build_server(holder), mode=era) as client:
        assert await names(client, "compare_models", "a") == []
        settings.data_dir.unlink()
        assert await names(client, "llmbench://suite/{name}", "name", "sum") == ["sums"]
        assert (await BenchClient(client).call("suite_list", suite="sums"))["total"] == 3
    await holder.aclose()


async def test_nothing_is_offered_when_it_takes_too_long(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: AppHolder) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(AppHolder, "get", never)
    monkeypatch.setattr("llmbench_mcp.server.completions.PATIENCE_S", 0.01)
    async with Client(build_server(AppHolder(settings_in(tmp_path))), mode=era) as client:
        assert await names(client, "compare_models", "a") == []


def test_what_begins_with_the_typed_text_comes_first() -> None:
    assert matching("b", ["abc", "Bcd", "xyz", "b\x00", "", "b" * 300]) == ["Bcd", "abc"]
