"""Ways to have a key sent where it does not belong, or shown."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest

from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Received
from llmbench_mcp.testing.replies import Reply
from tests.mcp.bench import BenchClient, open_bench
from tests.security.resolver import Resolver
from tests.support.pages import fill

KEY = "zz-OFFICE-7f3a9c51d2e8"
OTHER_KEY = "zz-CLOUD-0a9b8c7d6e5f"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "vault")
    monkeypatch.setenv("LLMBENCH_KEY_OFFICE", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", OTHER_KEY)


REFERENCES = (
    "env:OPENAI_API_KEY",
    "env:PATH",
    "env:llmbench_key_office",
    "env:LLMBENCH_KEY_",
    "env:LLMBENCH_KEY_office",
    "env:LLMBENCH_KEY_OFFICE\n",
    "env:LLMBENCH_KEY_OFFICE\x00",
    "env: LLMBENCH_KEY_OFFICE",
    "env:LLMBENCH_KEY_OFFICE OPENAI_API_KEY",
    "env:ＬLMBENCH_KEY_OFFICE",  # noqa: RUF001 - a full-width letter on purpose
    "ENV:LLMBENCH_KEY_OFFICE",
    "env:LLMBENCH_KEY_OFFICE/../OPENAI_API_KEY",
    "env:$OPENAI_API_KEY",
    "env:${LLMBENCH_KEY_OFFICE:-OPENAI_API_KEY}",
    "file:/etc/passwd",
    "stored:../../vault",
    "stored:",
    "stored:no-such",
    "keyring:office",
    OTHER_KEY,
)


class Hoarding(FakeServer):
    """Takes whatever it is given; ``got`` are the authorization headers that came."""

    @property
    def got(self) -> set[str]:
        return {request.headers["authorization"] for request in self.requests if "authorization" in request.headers}


async def test_no_other_variable_file_or_name_is_sent(tmp_path: Path) -> None:
    async with Hoarding(["m"]) as box, open_bench(tmp_path) as bench, bench.client("auto") as client:
        for reference in REFERENCES:
            told = await client.refused("endpoint_add", url=box.url, credential_ref=reference)
            assert "Internal error" not in told, reference
            assert KEY not in told
            assert OTHER_KEY not in told
        assert box.got == set()
        assert (await client.call("endpoint_list"))["total"] == 0


async def test_a_variable_that_one_server_uses_is_not_sent_to_another(tmp_path: Path) -> None:
    async with (
        Hoarding(["m"]) as office,
        Hoarding(["m"]) as thief,
        open_bench(tmp_path) as bench,
        bench.client("auto") as client,
    ):
        await client.call("endpoint_add", url=office.url, name="office", credential_ref="env:LLMBENCH_KEY_OFFICE")
        for url in (thief.url, thief.url.replace("127.0.0.1", "localhost"), f"{thief.url}/v1/models"):
            told = await client.refused("endpoint_add", url=url, credential_ref="env:LLMBENCH_KEY_OFFICE")
            assert office.url in told
        await client.refused("endpoint_add", url=thief.url, name="office")
        await client.call("endpoint_add", url=thief.url, name="thief")
        await client.call("models_discover")
    assert thief.got == set()
    assert office.got == {f"Bearer {KEY}"}


async def stored_key(client: BenchClient, box: FakeServer) -> str:
    """A key that the person entered for ``box``; its reference."""
    asked = await client.call("credential_request", endpoint=box.url, name="mine")
    await fill(asked["page"], OTHER_KEY)
    return str(asked["credential_ref"])


async def test_a_stored_key_goes_to_its_own_origin_only_whatever_the_address_looks_like(
    tmp_path: Path, resolver: Resolver
) -> None:
    for name in ("box.lan", "bοx.lan".encode("idna").decode(), "box.lan.evil.lan", "evil.lan"):  # noqa: RUF001 - a Greek letter
        resolver.leads(name, ["127.0.0.1"])
    async with (
        Hoarding(["m"]) as box,
        Hoarding(["m"]) as thief,
        open_bench(tmp_path, credential_store="vault") as bench,
        bench.client("auto") as client,
    ):
        asked = await client.call("credential_request", endpoint=f"http://box.lan:{box.port}", name="mine")
        await fill(asked["page"], OTHER_KEY)
        reference = asked["credential_ref"]
        for url in (
            thief.url,
            f"http://box.lan:{thief.port}",
            f"http://bοx.lan:{box.port}",  # noqa: RUF001 - a Greek letter
            f"http://box.lan.evil.lan:{box.port}",
            f"https://box.lan:{box.port}",
            f"http://box.lan:{box.port}@evil.lan:{thief.port}",
            f"http://evil.lan:{thief.port}#@box.lan:{box.port}",
            f"http://evil.lan:{thief.port}\\@box.lan:{box.port}",
            f"http://evil.lan:{thief.port}/?http://box.lan:{box.port}",
        ):
            told = await client.refused("endpoint_add", url=url, credential_ref=reference)
            assert "Internal error" not in told
        assert (box.got, thief.got) == (set(), set())
        for url in (f"HTTP://BOX.lan:{box.port}", f"http://ｂox.lan:{box.port}/v1"):  # noqa: RUF001 - the same name
            await client.call("endpoint_add", url=url, name="box", credential_ref=reference)
        assert (await client.call("endpoint_list"))["total"] == 1
        await client.refused("endpoint_add", url=thief.url, name="box")
        await client.refused("credential_request", endpoint=thief.url, name="mine")
    assert box.got == {f"Bearer {OTHER_KEY}"}
    assert thief.requests == []


def test_a_host_in_letters_of_another_script_shows_as_what_it_is() -> None:
    assert parse_address("https://аpi.example.org").origin == "https://xn--pi-6kc.example.org:443"  # noqa: RUF001 - Cyrillic
    assert parse_address("https://ＡPI.example.org").origin == "https://api.example.org:443"  # noqa: RUF001 - full width


async def test_a_name_that_only_looks_like_this_machine_is_no_reason_to_be_at_ease(tmp_path: Path) -> None:
    async with (
        open_bench(tmp_path, credential_store="vault") as bench,
        bench.client("auto") as client,
        httpx2.AsyncClient(trust_env=False) as browser,
    ):
        for host in ("localhost.evil.example", "127.evil.example", "127.0.0.1.evil.example"):
            asked = await client.call("credential_request", endpoint=f"http://{host}")
            page = (await browser.get(asked["page"])).text
            assert "not encrypted" in page
            assert f"http://{host}:80" in page


async def test_a_key_does_not_follow_an_endpoint_that_is_removed_and_comes_back_elsewhere(tmp_path: Path) -> None:
    async with (
        Hoarding(["m"]) as box,
        Hoarding(["m"]) as thief,
        open_bench(tmp_path, credential_store="vault") as bench,
        bench.client("auto") as client,
    ):
        reference = await stored_key(client, box)
        await client.call("endpoint_add", url=box.url, name="box", credential_ref=reference)
        app = await bench.app()
        await app.endpoints.remove("box")
        await client.refused("endpoint_add", url=thief.url, name="box", credential_ref=reference)
        moved = await app.endpoints.serve("box", thief.url, "openai", None)
        assert moved.credential_ref is None
        await client.call("models_discover")
    assert thief.got == set()


def blabbing(request: Received) -> Reply:
    """The key in status line's neighbours: headers, a redirect's target, an error and a model's answer."""
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    headers = {"X-Key": key, "Location": f"http://127.0.0.1:9/{key}?k={key}", "Retry-After": key, "Content-Type": key}
    return Reply(307 if "2 +" in request.prompt else 400, {"error": {"message": f"no {key}", "code": key}}, headers)


async def test_a_key_that_comes_back_in_headers_errors_and_redirects_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="llmbench_mcp")
    async with (
        FakeServer([f"m-{KEY}", "m"], blabbing) as box,
        open_bench(tmp_path) as bench,
        bench.client("auto") as client,
    ):
        told: list[Any] = [
            await client.call("endpoint_add", url=box.url, credential_ref="env:LLMBENCH_KEY_OFFICE"),
            await client.call("models_discover"),
            await client.call("model_list", detail="detailed"),
            await client.call("model_assign", model="m"),
        ]
        started = await client.call("run_start", models=["m"], suites=["sums"])
        told += [await client.finish(started["run_id"])]
        told += [await client.call("run_results", run_id=started["run_id"], detail="detailed")]
        told += [await client.call("endpoint_list", detail="detailed")]
    assert box.count(CHAT)
    assert KEY not in json.dumps(told)
    assert KEY not in caplog.text
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
