from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlencode, urlsplit

import anyio
import pytest

from llmbench_mcp.credentials.page import EntryPage
from llmbench_mcp.domain.credential import Asked
from llmbench_mcp.domain.errors import InputError, StorageError

KEY = "zz-LIVE-page9c51d2e8+/"
ASKED = Asked("office", "http://10.0.0.5:8000", "box", in_clear=True)


class Stored:
    """What the page handed on."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def __call__(self, key: str) -> None:
        if len(key) < 8:
            raise InputError("What was entered is too short.", "Enter all of it.")
        self.keys.append(key)


@asynccontextmanager
async def opened(asked: Asked = ASKED, life_s: float = 600) -> AsyncIterator[tuple[EntryPage, Stored]]:
    stored = Stored()
    page = EntryPage(asked, stored, life_s)
    await page.open()
    try:
        yield page, stored
    finally:
        await page.aclose()


async def raw(page: EntryPage, data: bytes) -> tuple[int, str]:
    """Status and all that is answered."""
    where = urlsplit(page.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(data)
    with anyio.fail_after(30):
        answer = (await reader.read()).decode()
    writer.close()
    return int(answer.split(" ")[1]) if answer else 0, answer


async def get(page: EntryPage, path: str | None = None, **changes: str) -> tuple[int, str]:
    where = urlsplit(page.url)
    headers = {"Host": where.netloc} | changes
    lines = [f"GET {path or where.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return await raw(page, "\r\n".join(lines).encode() + b"\r\n\r\n")


async def post(page: EntryPage, fields: dict[str, str], path: str | None = None, **changes: str) -> tuple[int, str]:
    where = urlsplit(page.url)
    body = urlencode(fields).encode()
    headers = {
        "Host": where.netloc,
        "Origin": f"http://{where.netloc}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
    } | {name.replace("_", "-"): value for name, value in changes.items()}
    lines = [f"POST {path or where.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
    return await raw(page, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)


async def token_of(page: EntryPage) -> str:
    found = re.search(r'name="token" value="([^"]+)"', (await get(page))[1])
    assert found is not None
    return found[1]


async def test_a_key_entered_is_handed_on_and_the_page_is_gone() -> None:
    async with opened() as (page, stored):
        assert urlsplit(page.url).hostname == "127.0.0.1"
        assert len(urlsplit(page.url).path) > 40
        status, thanks = await post(page, {"token": await token_of(page), "key": KEY})
        assert (status, stored.keys, page.state) == (200, [KEY], "set")
        assert KEY not in thanks
        assert await page.over(0)
        with pytest.raises(ConnectionRefusedError):
            await get(page)


async def test_the_page_says_whose_key_is_wanted_and_loads_nothing() -> None:
    async with opened() as (page, _):
        status, answer = await get(page)
    assert status == 200
    for told in ("<b>box</b>", "<code>http://10.0.0.5:8000</code>", "not encrypted"):
        assert told in answer
    head, _, body = answer.partition("\r\n\r\n")
    assert "Cache-Control: no-store" in head
    policy = re.search(r"Content-Security-Policy: (.*)", head)
    assert policy is not None
    for rule in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"<script|\bon[a-z]+=|src=|href=", body)


async def test_what_comes_from_outside_is_shown_as_text() -> None:
    nasty = Asked("office", "http://10.0.0.5:8000", '<script>alert(1)</script>"\x1b[31m\u202e', replaces=True)
    async with opened(nasty) as (page, _):
        _, answer = await get(page)
    assert "<script" not in answer
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;" in answer
    assert "\x1b" not in answer
    assert "\u202e" not in answer


async def test_an_entry_that_is_no_key_is_asked_for_again_and_not_repeated() -> None:
    async with opened() as (page, stored):
        token = await token_of(page)
        status, answer = await post(page, {"token": token, "key": "tiny-7"})
        assert status == 422
        assert "too short" in answer
        assert "tiny-7" not in answer
        assert page.state == "waiting"
        await post(page, {"token": token, "key": KEY})
        assert stored.keys == [KEY]


async def test_after_five_entries_that_are_no_keys_the_page_closes() -> None:
    async with opened() as (page, stored):
        token = await token_of(page)
        answers = [await post(page, {"token": token, "key": "x"}) for _ in range(5)]
        assert "Ask the agent to ask again" in answers[-1][1]
        assert (page.state, stored.keys) == ("closed", [])
        with pytest.raises(ConnectionRefusedError):
            await get(page)


async def test_a_place_that_cannot_keep_the_key_is_told() -> None:
    async def full(key: str) -> None:
        raise StorageError("The disk is full.", "Free some.")

    page = EntryPage(ASKED, full)
    await page.open()
    status, answer = await post(page, {"token": await token_of(page), "key": KEY})
    await page.aclose()
    assert status == 500
    assert "The disk is full. Free some." in answer
    assert KEY not in answer


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost:1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Content_Type": "application/json"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content_Length": "x"}, 411),
        ({"Content_Length": "100000"}, 413),
        ({"Transfer_Encoding": "chunked"}, 411),
    ],
)
async def test_a_request_that_no_form_of_this_page_makes_is_refused(changes: dict[str, str], expected: int) -> None:
    async with opened() as (page, stored):
        status, _ = await post(page, {"token": await token_of(page), "key": KEY}, **changes)
        assert (status, stored.keys, page.state) == (expected, [], "waiting")


async def test_without_the_pages_own_token_nothing_is_taken() -> None:
    async with opened() as (page, stored):
        for fields in ({"key": KEY}, {"key": KEY, "token": "guess"}, {"key": KEY, "token": "ä"}):
            assert (await post(page, fields))[0] == 403
        assert stored.keys == []


async def test_another_path_is_not_there() -> None:
    async with opened() as (page, stored):
        assert (await get(page, "/"))[0] == 404
        assert (await get(page, urlsplit(page.url).path + "x"))[0] == 404
        assert (await post(page, {"token": await token_of(page), "key": KEY}, path="/"))[0] == 404
        assert stored.keys == []


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"PUT / HTTP/1.1\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused(sent: bytes) -> None:
    async with opened() as (page, _):
        assert (await raw(page, sent))[0] == 400


async def test_an_endless_head_is_cut_off() -> None:
    async with opened() as (page, _):
        assert (await raw(page, b"GET / HTTP/1.1\r\nX: " + b"x" * 17_000 + b"\r\n\r\n"))[0] == 431


async def test_a_page_nobody_uses_closes_by_itself() -> None:
    async with opened(life_s=0.01) as (page, _):
        assert await page.over(30)
        assert page.state == "timed_out"
        with pytest.raises(ConnectionRefusedError):
            await get(page)


async def test_a_connection_that_says_nothing_keeps_nothing_from_closing() -> None:
    async with opened() as (page, _):
        where = urlsplit(page.url)
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        assert (await get(page))[0] == 200
        with anyio.fail_after(30):
            await page.aclose()
        writer.close()


async def test_two_entries_at_once_store_one_key() -> None:
    async with opened() as (page, stored):
        token = await token_of(page)
        async with anyio.create_task_group() as group:
            for key in (KEY, KEY + "2"):
                group.start_soon(post, page, {"token": token, "key": key})
    assert len(stored.keys) == 1
