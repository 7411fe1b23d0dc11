"""Where an agent can make this program connect to (server-side request forgery)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import anyio
import pytest

from llmbench_mcp.app import open_app, real_doors
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.config import load_settings
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Received
from llmbench_mcp.testing.replies import Reply
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.mcp.bench import Bench, BenchClient, open_bench, right, settings_in
from tests.security.resolver import Resolver
from tests.support.waiting import until

KEY = "zz-REDIRECT-7f3a9c51"
METADATA = "169.254.169.254"
FAR = (
    f"http://{METADATA}/latest/meta-data",
    "http://[fd00:ec2::254]/latest",
    "http://[fd20:ce::254]/",
    f"http://[::ffff:{METADATA}]/",
    "http://[::ffff:a9fe:a9fe]:80/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:a9fe:a9fe::1]/",
    "http://[fe80::1]:8080",
    "http://[fe80::1%25eth0]:8080",
    "http://[::]:8080",
    "http://[::ffff:0.0.0.0]:8080",
    "http://[::127.0.0.1]:8080",
    "http://[ff02::1]/",
    "http://0.0.0.0:8080",
    "http://0.0.0.1:8080",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://8.8.8.8/",
)
ODD = ("http://2852039166/", "http://0xa9fea9fe/", "http://0xA9.0xFE.0xA9.0xFE/", "http://0251.0376.0251.0376/")
LOOKALIKE = ("http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/", "http://169。254。169。254/", "http://１６９.254.169.254/")  # noqa: RUF001 - on purpose
NOT_HTTP = ("file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "ftp://127.0.0.1/", "unix:///var/run/docker.sock")


async def test_an_agent_cannot_name_an_address_beyond_this_machine_and_private_networks(
    tmp_path: Path, resolver: Resolver
) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for url in (*FAR, *ODD, *LOOKALIKE, *NOT_HTTP):
            told = await client.refused("endpoint_add", url=url)
            assert "Internal error" not in told, url
            assert resolver.reached == [], url
        assert (await client.call("endpoint_list"))["total"] == 0


async def test_nor_by_a_name_that_leads_there(tmp_path: Path, resolver: Resolver) -> None:
    answers = ([METADATA], ["fd00:ec2::254"], [f"::ffff:{METADATA}"], ["0.0.0.0"], ["::"], ["93.184.216.34"])
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for answer in (*answers, ["127.0.0.1", METADATA]):
            resolver.leads("metadata.google.internal", answer)
            told = await client.refused("endpoint_add", url=f"http://metadata.google.internal:{bench.fake.port}")
            assert "private network" in told, answer
        assert resolver.reached == []
        assert bench.fake.requests == []


async def test_a_name_that_is_none_is_refused_in_words(tmp_path: Path, resolver: Resolver) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for host in ("nowhere.invalid", "a" * 64 + ".lan", "a..b", ".lan", "xn--", "-", "\u00ad.lan"):
            told = await client.refused("endpoint_add", url=f"http://{host}:8080")
            assert "Internal error" not in told, host
        assert resolver.reached == []


async def test_a_name_that_leads_elsewhere_once_it_was_checked_is_not_followed_there(
    tmp_path: Path, resolver: Resolver
) -> None:
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        for backend in ("", "openai"):
            resolver.leads("box.lan", ["127.0.0.1"], [METADATA])
            told = await client.refused("endpoint_add", url=f"http://box.lan:{bench.fake.port}", backend=backend)
            assert f"leads to {METADATA}" in told
        assert resolver.reached == []
        assert (await client.call("endpoint_list"))["total"] == 0


async def test_a_server_whose_name_moves_away_later_is_asked_no_more(tmp_path: Path, resolver: Resolver) -> None:
    resolver.leads("box.lan", ["127.0.0.1"])
    async with open_bench(tmp_path) as bench, bench.client("auto") as client:
        await set_up(bench, client)
        resolver.leads("box.lan", ["93.184.216.34"])
        resolver.reached.clear()
        (row,) = (await client.call("endpoint_list"))["endpoints"]
        assert "leads to 93.184.216.34" in row["untrusted_error"]
        await client.call("models_discover")
        assert resolver.reached == []


async def test_a_name_that_moves_away_during_a_run_gets_no_further_question(tmp_path: Path, resolver: Resolver) -> None:
    lookups = 0

    def moving(request: Received) -> str | None:
        nonlocal lookups
        resolver.leads("box.lan", [METADATA])
        resolver.reached.clear()
        lookups = len(resolver.asked)
        return right(request)

    resolver.leads("box.lan", ["127.0.0.1"])
    async with open_bench(tmp_path, script=moving) as bench, bench.client("auto") as client:
        await set_up(bench, client)
        started = await client.call("run_start", models=["alpha"], suites=["sums"])

        async def looked_again() -> bool:
            return bool(lookups) and len(resolver.asked) > lookups

        await until(looked_again)
        await client.call("run_cancel", run_id=started["run_id"])
        await client.finish(started["run_id"])
        assert bench.fake.count(CHAT) == 1
    assert resolver.reached == []


async def set_up(bench: Bench, client: BenchClient) -> None:
    await client.call("endpoint_add", url=f"http://box.lan:{bench.fake.port}", name="box")
    await client.call("models_discover")
    await client.call("model_assign", model="alpha")


async def test_no_proxy_looks_the_name_up_instead(
    tmp_path: Path, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver.leads("box.lan", ["127.0.0.1"])
    async with FakeServer(["alpha"]) as proxy, open_bench(tmp_path) as bench, bench.client("auto") as client:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        await set_up(bench, client)
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        assert (await client.finish(started["run_id"]))["passed"] == 3
        assert proxy.requests == []


async def test_a_person_may_allow_agents_any_address(tmp_path: Path, resolver: Resolver) -> None:
    settings = settings_in(tmp_path, agent_any_address=True)
    async with FakeServer(["alpha"]) as far, open_app(settings, real_doors(settings)) as app:
        resolver.leads("far.example", ["127.0.0.1"])
        endpoint, _ = await app.endpoints.add(NewEndpoint(f"http://far.example:{far.port}", by_agent=True))
    assert endpoint.added_by == "agent"


def test_what_a_person_names_once_more_is_bound_to_near_places_no_longer(cli: Cli, resolver: Resolver) -> None:
    resolver.leads("box.lan", ["127.0.0.1"])
    with running(FakeServer(["m"])) as box:
        url = f"http://box.lan:{box.port}"
        assert anyio.run(added_by_agent, url).added_by == "agent"
        assert cli("endpoint", "add", url).code == exit_codes.OK
        assert anyio.run(added_by_agent, url).added_by == "person"


async def added_by_agent(url: str) -> Endpoint:
    async with open_app(load_settings()) as app:
        return (await app.endpoints.add(NewEndpoint(url, by_agent=True)))[0]


async def test_a_redirect_to_another_place_is_told_and_not_followed(
    tmp_path: Path, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_TEST", KEY)
    async with FakeServer(["alpha"]) as other, open_bench(tmp_path) as bench, bench.client("auto") as client:
        targets = (f"http://{METADATA}/latest", other.url, f"//{METADATA}/", f"http://me:{KEY}@{METADATA}/")
        for status, reference in product((301, 302, 303, 307, 308), ("", "env:LLMBENCH_KEY_TEST")):
            target = targets[status % len(targets)]
            redirect_all(bench.fake, Reply(status, {}, {"Location": target}))
            told = await client.refused("endpoint_add", url=bench.fake.url, credential_ref=reference)
            assert "redirects to" in told
            assert KEY not in told
        assert other.requests == []
        assert METADATA not in resolver.reached


def redirect_all(server: FakeServer, reply: Reply) -> None:
    for path in ("/v1/models", "/api/tags", "/props", "/health", "/version", "/api/version"):
        server.routes[f"GET {path}"] = lambda request: reply


async def test_a_question_that_is_answered_by_a_redirect_is_a_failure_and_nothing_more(
    tmp_path: Path, resolver: Resolver
) -> None:
    async with FakeServer(["alpha"], right) as other:

        def sends_on(request: Received) -> Reply:
            return Reply(307, {}, {"Location": f"{other.url}{CHAT}"})

        async with open_bench(tmp_path, script=sends_on) as bench, bench.client("auto") as client:
            await client.set_up(bench.fake, "alpha")
            started = await client.call("run_start", models=["alpha"], suites=["sums"])
            ended = await client.finish(started["run_id"])
        assert ended.get("passed", 0) == 0
        assert other.requests == []
