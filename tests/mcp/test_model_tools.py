from __future__ import annotations

from pathlib import Path

from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import Era, open_bench


async def test_discovery_tells_what_is_new_and_what_is_gone(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.call("endpoint_add", url=bench.fake.url, name="fake")
        (report,) = (await client.call("models_discover"))["reports"]
        assert report["seen"] == 2
        assert report["changes"]["added"] == {"count": 2, "names": ["alpha", "beta"]}
        bench.fake.models.remove("beta")
        found = await client.call("models_discover", endpoints="fake")
        assert found["reports"][0]["changes"]["removed"]["names"] == ["beta"]
        assert "model_list" in found["next"]


async def test_a_server_that_fails_does_not_stop_the_others(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, FakeServer(["gamma"]) as other, bench.client(era) as client:
        await client.call("endpoint_add", url=bench.fake.url, name="fake")
        await client.call("endpoint_add", url=other.url, name="other")
        await bench.fake.stop()
        reports = {report["endpoint"]: report for report in (await client.call("models_discover"))["reports"]}
        assert reports["fake"]["untrusted_error"]
        assert reports["other"]["changes"]["added"]["names"] == ["gamma"]


async def test_discovery_without_endpoints_says_how_to_add_one(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert "endpoint_add" in await client.refused("models_discover")
        assert "There is no endpoint 'fak'" in await client.refused("models_discover", endpoints=["fak"])


async def test_models_are_filtered_and_paged(tmp_path: Path, era: Era) -> None:
    names = [f"model-{number:02}" for number in range(12)]
    async with open_bench(tmp_path, models=names) as bench, bench.client(era) as client:
        assert (await client.call("model_list"))["next"] == "models_discover"
        await client.set_up(bench.fake)
        first = await client.call("model_list")
        assert (first["total"], len(first["models"])) == (12, 10)
        rest = await client.call("model_list", cursor=first["next_cursor"])
        assert [row["name"] for row in first["models"] + rest["models"]] == names
        assert (await client.call("model_list", text="-03", endpoint="fake", status="new"))["total"] == 1
        assert (await client.call("model_list", status="failed"))["total"] == 0
        told = await client.refused("model_list", text="other", cursor=first["next_cursor"])
        assert "cursor" in told


async def test_what_a_card_cannot_hold_is_filtered_out_by_size(tmp_path: Path, era: Era) -> None:
    stored = [StoredModel("small:3b", 2 * 2**30), StoredModel("large:70b", 40 * 2**30)]
    async with open_bench(tmp_path) as bench, FakeOllama(stored) as box, bench.client(era) as client:
        await client.call("endpoint_add", url=box.url, name="box")
        await client.call("models_discover")
        fit = await client.call("model_list", max_gib=24)
        assert [row["name"] for row in fit["models"]] == ["small:3b"]


async def test_a_model_shows_what_was_last_found_of_it(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        assert "recent_runs" not in await client.call("model_get", model="alpha")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        await client.finish(run_id)
        (row,) = (await client.call("model_list", text="alpha", detail="detailed"))["models"]
        assert row["details"]["last_pass_rates"] == {"sums": 1.0}
        (past,) = (await client.call("model_get", model="alpha"))["recent_runs"]
        assert (past["run_id"], past["suite"], past["pass_rate"], past["graded"]) == (run_id, "sums", 1.0, 3)


async def test_a_filter_that_names_nothing_real_is_refused_with_what_is(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        assert "fake" in await client.refused("model_list", endpoint="fke")
        assert "active" in await client.refused("model_list", status="activ")


async def test_a_model_is_assigned_to_its_only_home_and_back(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        assigned = await client.call("model_assign", model="alpha")
        assert assigned["assigned_to"] == "fake"
        assert "run_start" in assigned["next"]
        listed = await client.call("model_list", text="alpha", detail="detailed")
        (row,) = listed["models"]
        assert (row["assigned_to"], row["offered_at"]) == ("fake", ["fake"])
        assert row["details"]["served_names"] == ["alpha@fake"]
        freed = await client.call("model_assign", model="alpha", action="unassign")
        assert "assigned_to" not in freed


async def test_a_model_with_two_homes_needs_the_endpoint_named(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, FakeServer(["alpha"]) as other, bench.client(era) as client:
        await client.set_up(bench.fake)
        await client.call("endpoint_add", url=other.url, name="other")
        await client.call("models_discover")
        told = await client.refused("model_assign", model="alpha")
        assert "alpha@fake" in told
        assigned = await client.call("model_assign", model="alpha@other", endpoint="other")
        assert assigned["assigned_to"] == "other"
        told = await client.refused("model_assign", model="beta", endpoint="other")
        assert "fake" in told


async def test_an_unknown_model_is_told_with_the_nearest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        assert "models_discover" in await client.refused("model_assign", model="alpha")
        await client.set_up(bench.fake)
        assert "alpha" in await client.refused("model_assign", model="alpa")


async def test_servers_of_this_machine_are_found_without_being_named(tmp_path: Path, era: Era) -> None:
    async with (
        FakeServer(["gamma"]) as other,
        open_bench(tmp_path, discover_ports=str(other.port)) as bench,
        bench.client(era) as client,
    ):
        (report,) = (await client.call("models_discover"))["reports"]
        assert (report["endpoint"], report["added_on"]) == (f"openai-{other.port}", "nvidia:0")
        assert report["changes"]["added"]["names"] == ["gamma"]
        again = await client.call("models_discover", look_around=True)
        assert "added_on" not in again["reports"][0]
        (row,) = (await client.call("endpoint_list", detail="detailed"))["endpoints"]
        assert row["details"]["added_by"] == "agent"


async def test_a_refused_key_is_told_with_the_endpoint(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        bench.fake.api_key = "another-secret"
        (row,) = (await client.call("endpoint_list"))["endpoints"]
        assert (row["credential"], row["reachable"]) == ("none (refused)", False)


async def test_one_model_is_told_in_full(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path, models=["qwen-vl"]) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        fresh = await client.call("model_get", model="qwen-vl@fake")
        assert (fresh["status"], fresh["capabilities"]) == ("new", {"chat": "yes (name)", "vision": "yes (name)"})
        home = {"endpoint": "fake", "served_name": "qwen-vl", "offered_now": True, "tools": "unknown"}
        assert fresh["homes"] == [home]
        assert "model_assign" in fresh["next"]
        await client.call("model_assign", model="qwen-vl")
        await (await bench.app()).health.probe("qwen-vl")
        told = await client.call("model_get", model="qwen-vl")
        assert (told["status"], told["homes"][0]["assigned"], told["homes"][0]["tools"]) == ("active", True, "none")
        assert told["capabilities"]["chat"] == "yes (probe)"
        assert "tools: none at fake" in " ".join(told["history"])
        assert "run_start" in told["next"]
        assert "qwen-vl" in await client.refused("model_get", model="qwen-v")


async def test_a_disabled_model_is_kept_out_of_runs_until_it_is_enabled(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        disabled = await client.call("model_assign", model="alpha", action="disable")
        assert (disabled["status"], disabled["assigned_to"]) == ("disabled", "fake")
        assert "is disabled" in await client.refused("run_start", models=["alpha"], suites=["sums"])
        enabled = await client.call("model_assign", model="alpha", action="enable")
        assert enabled["status"] == "active"
        assert "run_start" in enabled["next"]


async def test_a_run_takes_models_by_status_and_tells_whom_it_left_out(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        plan = await client.call("run_start", models=[], select="all", suites=["sums"], dry_run=True)
        assert plan["jobs"] == ["alpha on fake"]
        assert plan["remarks"] == ["left out, not assigned to an endpoint (model_assign, or name one): beta"]
        run = await client.call("run_start", models=[], select="new", suites=["sums"], endpoint="fake")
        assert (await client.finish(run["run_id"]))["jobs"][0]["model"] == "beta"
        told = await client.refused("run_start", models=[], select="unstable_failed", suites=["sums"])
        assert "no model has that status" in told
