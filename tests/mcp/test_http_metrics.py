"""/metrics as Prometheus reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from llmbench_mcp.services import metrics as counting
from llmbench_mcp.testing.fake_server import Received
from tests.mcp.bench import right
from tests.mcp.sites import Site, open_site

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scrape(site: Site, accept: str = "text/plain") -> Samples:
    """Every sample by name and labels; what is not the format, or is said twice, fails."""
    # Each look counts: nothing is remembered between two scrapes of a test.
    (await site.bench.app()).metrics._last = None
    async with site.web() as web:
        answer = await web.get("/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(accept)
    parse = openmetrics if accept.startswith("application/openmetrics") else plain
    found: Samples = {}
    for family in parse(answer.text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, /, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def wrong_once(request: Received) -> str | None:
    return "7" if right(request) == "4" else right(request)


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text"])
async def test_a_run_is_seen_in_the_figures(tmp_path: Path, accept: str) -> None:
    async with open_site(tmp_path, script=wrong_once) as site, site.client() as client:
        before = await scrape(site, accept)
        assert value(before, "llmbench_runs", state="running") == 0
        await client.set_up(site.bench.fake, "alpha")
        await client.finish((await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"])
        after = await scrape(site, accept)
    pair = {"endpoint": "fake", "model": "alpha"}
    outcomes = {
        outcome: value(after, "llmbench_attempts_total", outcome=outcome, **pair)
        for outcome in ("passed", "failed", "error")
    }
    assert outcomes == {"passed": 2, "failed": 1, "error": 0}
    assert value(after, "llmbench_failures_total", endpoint="fake", failure="wrong_answer") == 1
    assert value(after, "llmbench_tokens_total", **pair) > 0
    assert value(after, "llmbench_ttft_seconds_count", **pair) == 3
    assert value(after, "llmbench_executor_up") == 1
    assert value(after, "llmbench_endpoint_up", endpoint="fake", backend="openai") in (0, 1)
    gpu = {"device": "nvidia:0", "name": "Test GPU"}
    assert value(after, "llmbench_device_memory_total_bytes", **gpu) == 24 * 2**30
    assert value(after, "llmbench_device_energy_joules_total", **gpu) == 123_456
    assert ("llmbench_device_power_watts", tuple(sorted(gpu.items()))) not in after  # unknown, so left out
    assert value(after, "llmbench_http_requests_total", route="/mcp", status="2xx") > 5


async def test_what_was_done_before_counts_from_nought_and_removal_never_counts_back(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site, site.client() as client:
        await client.set_up(site.bench.fake, "alpha", "beta")
        await client.finish((await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"])
        assert not [key for key in await scrape(site) if key[0] == "llmbench_attempts_total" and "alpha" in str(key)]
        await client.finish((await client.call("run_start", models=["beta"], suites=["sums"]))["run_id"])
        first, again = await scrape(site), await scrape(site)
        beta = {"endpoint": "fake", "model": "beta", "outcome": "passed"}
        assert value(first, "llmbench_attempts_total", **beta) == 3
        assert value(again, "llmbench_attempts_total", **beta) == 3
        await client.finish((await client.call("run_start", models=["beta"], suites=["sums"], seed=5))["run_id"])
        assert value(await scrape(site), "llmbench_attempts_total", **beta) == 6


async def test_hostile_names_stay_one_label_each(tmp_path: Path) -> None:
    odd = ('a"} 9\nllmbench_evil 1 #', "b\\", "c\x1b[31m", "d" * 300 + "1", "d" * 300 + "2", "e  e", "e e", "\u202e")
    async with open_site(tmp_path, models=odd) as site, site.client() as client:
        await scrape(site)
        await client.call("endpoint_add", url=site.bench.fake.url, name="fake")
        await client.call("models_discover")
        for model in await (await site.bench.app()).models.all():
            await client.call("model_assign", model=model.id)
        run = await client.call("run_start", select="all", suites=["sums"])
        await client.finish(run["run_id"])
        samples = await scrape(site)
    models = {dict(labels)["model"] for name, labels in samples if name == "llmbench_tokens_total"}
    assert len(models) == len(odd)
    assert all(len(model) <= 130 and model.isprintable() for model in models)
    assert not [name for name, _ in samples if "evil" in name]


async def test_the_number_of_series_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_PAIRS", 1)
    async with open_site(tmp_path) as site, site.client() as client:
        await scrape(site)
        await client.set_up(site.bench.fake, "alpha", "beta")
        await client.finish((await client.call("run_start", models=["alpha", "beta"], suites=["sums"]))["run_id"])
        samples = await scrape(site)
    counted = {labels: number for (name, labels), number in samples.items() if name == "llmbench_attempts_total"}
    models = {dict(labels)["model"] for labels in counted}
    assert len(models) == 2
    assert counting.OTHER in models
    assert sum(counted.values()) == 6
