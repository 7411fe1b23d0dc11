"""The tool credential_request: the person enters a key, the agent learns only whether."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from llmbench_mcp.services.credentials import Entry
from tests.mcp.bench import Bench, BenchClient, Era, open_bench
from tests.mcp.sites import open_site
from tests.support.pages import fill

KEY = "zz-LIVE-asked7f3a9c51d2e8"


@asynccontextmanager
async def locked(folder: Path, **changes: Any) -> AsyncIterator[Bench]:
    """A bench whose inference server wants the key."""
    async with open_bench(folder, api_key=KEY, credential_store="vault", **changes) as bench:
        yield bench


class Person:
    """Answers what a client asks about opening addresses, and then perhaps enters a key."""

    def __init__(self, action: str = "accept", key: str | None = KEY) -> None:
        self.action = action
        self.key = key
        self.asked: list[ElicitRequestURLParams] = []
        self.pages: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        self.asked.append(params)
        if self.key is not None and self.action == "accept":
            self.pages.append(await fill(params.url, self.key))
        return ElicitResult(action=self.action)  # type: ignore[arg-type]  # one of three words


@asynccontextmanager
async def helped(bench: Bench, era: Era, person: Person) -> AsyncIterator[BenchClient]:
    """A client that can show addresses to the person."""
    async with Client(bench.server, mode=era, elicitation_callback=person) as client:
        yield BenchClient(client)


async def test_a_client_that_shows_no_addresses_gets_the_pages_address(tmp_path: Path, era: Era) -> None:
    async with locked(tmp_path) as bench, bench.client(era) as client:
        refused = await client.refused("endpoint_add", url=bench.fake.url)
        assert "credential_request" in refused
        asked = await client.call("credential_request", endpoint=bench.fake.url, name="office")
        assert (asked["state"], asked["credential_ref"]) == ("waiting", "stored:office")
        again = await client.call("credential_request", endpoint=bench.fake.url, name="office")
        assert again == asked
        page = await fill(asked["page"], KEY)
        assert f"<code>{bench.fake.url}</code>" in page
        done = await client.call("credential_request", endpoint=bench.fake.url, name="office")
        assert done == {
            "state": "set",
            "credential_ref": "stored:office",
            "next": f"endpoint_add url={bench.fake.url} credential_ref=stored:office",
        }
        added = await client.call("endpoint_add", url=bench.fake.url, name="box", credential_ref="stored:office")
        listed = await client.call("endpoint_list")
        assert (added["created"], listed["endpoints"][0]["credential"]) == (True, "stored:office")
        assert listed["endpoints"][0]["reachable"] is True


async def test_a_client_that_shows_addresses_has_the_person_asked(tmp_path: Path, era: Era) -> None:
    person = Person()
    async with locked(tmp_path) as bench, helped(bench, era, person) as client:
        done = await client.call("credential_request", endpoint=bench.fake.url)
        assert (done["state"], "page" in done) == ("set", False)
        (question,) = person.asked
        assert question.url.startswith("http://127.0.0.1:")
        assert bench.fake.url in question.message
        added = await client.call("endpoint_add", url=bench.fake.url, credential_ref=done["credential_ref"])
        assert added["created"]
    assert KEY not in json.dumps([done, added, question.model_dump(mode="json")])


@pytest.mark.parametrize("door", ["http", "sse"])
async def test_the_person_is_asked_over_http_too(tmp_path: Path, era: Era, door: str) -> None:
    person = Person()
    async with (
        open_site(tmp_path, api_key=KEY, credential_store="vault") as site,
        httpx2.AsyncClient(timeout=60) as web,
    ):
        way = (
            sse_client(f"{site.url}/sse")
            if door == "sse"
            else streamable_http_client(f"{site.url}/mcp", http_client=web)
        )
        async with Client(way, mode=era, elicitation_callback=person) as client:
            done = await BenchClient(client).call("credential_request", endpoint=site.bench.fake.url)
    assert (done["state"], len(person.asked)) == ("set", 1)


async def test_an_endpoint_whose_key_was_refused_gets_a_new_one_and_uses_it(tmp_path: Path, era: Era) -> None:
    person = Person()
    async with locked(tmp_path) as bench, helped(bench, era, person) as client:
        bench.fake.api_key = None
        await client.call("endpoint_add", url=bench.fake.url, name="box")
        bench.fake.api_key = KEY
        shut = (await client.call("endpoint_list"))["endpoints"][0]
        done = await client.call("credential_request", endpoint="box")
        opened = (await client.call("endpoint_list"))["endpoints"][0]
        assert (shut["credential"], opened["credential"]) == ("none (refused)", "stored:box")
        assert done["next"] == "endpoint_list, then models_discover endpoints=box"
        assert opened["reachable"] is True
        assert "<b>box</b>" in person.pages[0]
        assert (await client.call("credential_request", name="box"))["state"] == "set"
        assert len(person.asked) == 1


async def test_a_person_who_declines_is_not_asked_by_a_page_either(tmp_path: Path, era: Era) -> None:
    person = Person("decline")
    async with locked(tmp_path) as bench, helped(bench, era, person) as client:
        told = await client.call("credential_request", endpoint=bench.fake.url)
        assert (told["state"], "page" in told) == ("declined", False)
        with pytest.raises(httpx2.ConnectError):
            await fill(person.asked[0].url, KEY)


async def test_a_person_who_opens_the_page_and_waits_keeps_the_call_only_so_long(tmp_path: Path, era: Era) -> None:
    person = Person(key=None)
    async with locked(tmp_path, max_wait_s=0.1) as bench, helped(bench, era, person) as client:
        told = await client.call("credential_request", endpoint=bench.fake.url)
        assert told["state"] == "waiting"
        assert told["page"] == person.asked[0].url
        await fill(told["page"], KEY)
        assert (await client.call("credential_request", endpoint=bench.fake.url))["state"] == "set"


async def test_an_agent_names_only_credentials_bound_to_the_very_origin(tmp_path: Path) -> None:
    async with locked(tmp_path) as bench, bench.client("auto") as client:
        credentials = (await bench.app()).credentials
        await credentials.enter(Entry("bound", "http://127.0.0.1:9"), KEY)
        await credentials.enter(Entry("free"), KEY)
        told = {
            name: await client.refused("endpoint_add", url=bench.fake.url, credential_ref=f"stored:{name}")
            for name in ("bound", "free", "nobody", KEY)
        }
        assert "belongs to http://127.0.0.1:9 and is never sent to" in told["bound"]
        assert "only a person may say" in told["free"]
        assert "credential_request" in told["nobody"]
        assert KEY not in told[KEY]
        assert bench.fake.requests == []


async def test_an_agent_cannot_have_a_variable_in_use_sent_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_BOX", KEY)
    async with locked(tmp_path) as bench, locked(tmp_path / "other") as other, bench.client("auto") as client:
        await client.call("endpoint_add", url=bench.fake.url, credential_ref="env:LLMBENCH_KEY_BOX")
        told = await client.refused("endpoint_add", url=other.fake.url, credential_ref="env:LLMBENCH_KEY_BOX")
        assert f"is used for {bench.fake.url}" in told
        assert other.fake.requests == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "whose key"),
        ({"endpoint": "nobody"}, "no endpoint 'nobody'"),
        ({"endpoint": "http://u:p@127.0.0.1"}, "user name or password"),
        ({"endpoint": "http://127.0.0.1:9", "name": "a b"}, "no name for a credential"),
        ({"endpoint": "http://127.0.0.1:9", "name": "sk-live-1234567890abc"}, "looks like a key"),
        ({"endpoint": "http://127.0.0.1:9", "name": "elsewhere"}, "belongs to http://127.0.0.1:8"),
        ({"name": "nobody"}, "bound to no server"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, arguments: dict[str, str], told: str) -> None:
    async with locked(tmp_path) as bench, bench.client("auto") as client:
        await (await bench.app()).credentials.enter(Entry("elsewhere", "http://127.0.0.1:8"), KEY)
        assert told in await client.refused("credential_request", **arguments)


async def test_only_so_many_pages_are_open_at_once(tmp_path: Path) -> None:
    async with locked(tmp_path) as bench, bench.client("auto") as client:
        pages = [
            (await client.call("credential_request", endpoint=f"http://127.0.0.1:{port}"))["page"]
            for port in range(9000, 9008)
        ]
        assert len(set(pages)) == 8
        assert "pages wait" in await client.refused("credential_request", endpoint="http://127.0.0.1:9008")
        await fill(pages[0], KEY)
        assert (await client.call("credential_request", endpoint="http://127.0.0.1:9008"))["state"] == "waiting"
    with pytest.raises(httpx2.ConnectError):
        await fill(pages[1], KEY)


async def test_a_key_for_an_address_that_is_not_private_says_so_on_the_page(tmp_path: Path) -> None:
    async with locked(tmp_path) as bench, bench.client("auto") as client:
        asked = await client.call("credential_request", endpoint="http://10.0.0.5:8000/v1")
        assert "Connections to this address are not encrypted" in await fill(asked["page"], KEY)
        assert asked["credential_ref"] == "stored:10.0.0.5-8000"
        with anyio.fail_after(30):
            (known,) = await (await bench.app()).credentials.views()
    assert (known.origin, known.state, known.place) == ("http://10.0.0.5:8000", "set", "vault")
