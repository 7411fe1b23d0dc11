"""The page at which a person enters a key, attacked by whoever is not that person."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2

from llmbench_mcp.testing.fake_server import FakeServer
from tests.mcp.bench import BenchClient, open_bench
from tests.support.pages import fill

KEY = "zz-PAGE-7f3a9c51d2e8"
FORM = "application/x-www-form-urlencoded"


@asynccontextmanager
async def asked(folder: Path) -> AsyncIterator[tuple[BenchClient, str, httpx2.AsyncClient]]:
    """A client that asked for a key, the page's address, and a browser."""
    async with (
        FakeServer(["m"], api_key=KEY) as box,
        open_bench(folder, credential_store="vault") as bench,
        bench.client("auto") as client,
        httpx2.AsyncClient(trust_env=False) as browser,
    ):
        page = (await client.call("credential_request", endpoint=box.url, name="mine"))["page"]
        yield client, page, browser
        assert [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def token_in(text: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', text)
    assert found is not None
    return found[1]


async def test_the_address_cannot_be_guessed_and_a_wrong_one_tells_nothing(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, page, browser):
        where = urlsplit(page)
        base = f"{where.scheme}://{where.netloc}"
        assert where.hostname == "127.0.0.1"
        assert len(where.path) > 40
        for path in ("/", "/favicon.ico", where.path[:-1], f"{where.path}x", f"{where.path}/", f"/x/..{where.path}x"):
            answer = await browser.get(base + path)
            assert answer.status_code == 404, path
            assert "key" not in answer.text.lower()
            assert "127.0.0.1" not in answer.text
        shut = await browser.get(page, headers={"Host": "evil.example"})
        assert shut.status_code in (403, 404, 421)


async def test_another_name_or_site_gets_no_form_and_can_send_none(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, page, browser):
        where = urlsplit(page)
        own = f"{where.scheme}://{where.netloc}"
        token = token_in((await browser.get(page)).text)
        for host in ("evil.example", f"evil.example:{where.port}", f"localhost.evil:{where.port}", "", "127.0.0.1"):
            answer = await browser.get(page, headers={"Host": host})
            assert token not in answer.text, host
            assert answer.status_code in (400, 403, 404, 421), host
        content = f"token={token}&key={KEY}"
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": f"{own}.evil.example"},
            {"Origin": own, "Host": f"evil.example:{where.port}"},
            {"Origin": own, "Content-Type": "text/plain"},
            {"Origin": own, "Transfer-Encoding": "chunked"},
        ):
            try:
                answer = await browser.post(page, content=content, headers={"Content-Type": FORM, **headers})
            except httpx2.HTTPError:
                continue  # hung up: as good
            assert answer.status_code >= 400, headers
        for wrong in (f"key={KEY}", f"token=&key={KEY}", f"token=x&key={KEY}", f"token={token}&token=x&key={KEY}"):
            answer = await browser.post(page, content=wrong, headers={"Content-Type": FORM, "Origin": own})
            assert answer.status_code >= 400, wrong
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            assert (await browser.request(method, page, headers={"Origin": own})).status_code >= 400
        leak = await browser.get(f"{page}?token={token}&key={KEY}")
        assert KEY not in leak.text
        endpoints = await client.call("endpoint_list")
        assert endpoints["total"] == 0


async def test_the_page_cannot_be_framed_kept_or_run_anything(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, page, browser):
        answer = await browser.get(page)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not {"set-cookie", "access-control-allow-origin", "server"} & set(answer.headers)
        assert "<script" not in answer.text


async def test_an_address_works_once(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, page, browser):
        told = await fill(page, KEY)
        assert KEY not in told
        for again in (browser.get(page), browser.post(page, content=f"token=x&key={KEY}")):
            try:
                answer = await again
            except httpx2.HTTPError:
                continue  # nothing listens any more
            assert answer.status_code >= 400
        renewed = await client.call("credential_request", name="mine")
        assert renewed["state"] == "set"
        assert renewed.get("page") is None


async def test_many_wrong_tries_and_idle_connections_end_the_page_and_nothing_else(tmp_path: Path) -> None:
    async with asked(tmp_path) as (client, page, browser):
        where = urlsplit(page)
        own = f"{where.scheme}://{where.netloc}"
        assert where.port is not None
        streams = [await anyio.connect_tcp("127.0.0.1", where.port) for _ in range(40)]
        for stream in streams:
            await stream.aclose()
        token = token_in((await browser.get(page)).text)
        statuses = []
        for _ in range(8):
            try:
                sent = await browser.post(
                    page, content=f"token={token}&key=x", headers={"Content-Type": FORM, "Origin": own}
                )
            except httpx2.HTTPError:
                break
            statuses.append(sent.status_code)
        assert statuses
        assert all(status >= 400 for status in statuses)
        assert len(statuses) < 8
        assert (await client.call("credential_request", name="mine", endpoint="http://127.0.0.1:9"))[
            "state"
        ] == "waiting"
