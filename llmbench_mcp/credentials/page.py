"""The page at which a person enters one key: on this machine only, once, for a limited time."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import anyio

from llmbench_mcp.credentials import page_html
from llmbench_mcp.credentials.page_http import HEAD_BYTES, PageAnswer, PageRequest, Refused, read_request
from llmbench_mcp.domain.credential import Asked, PageState
from llmbench_mcp.domain.errors import BenchError, InputError, StorageError

log = logging.getLogger(__name__)

LIFE_S = 600.0
_HOST = "127.0.0.1"
_EXCHANGE_S = 100.0
"""Longer than a keyring is given to be unlocked."""
_READ_S = 10.0
_TRIES = 5
_CONNECTIONS = 16


class EntryPage:
    """Listens from ``open`` until a key was stored, too many were refused, the time is up, or ``aclose``.

    It only ever takes a key: nothing stored can be read from it.

    Args:
        asked: what the page says.
        store: stores what was entered; raises InputError for what is no key.
        life_s: seconds until it closes by itself.
    """

    def __init__(self, asked: Asked, store: Callable[[str], Awaitable[None]], life_s: float = LIFE_S) -> None:
        self.asked = asked
        self.state: PageState = "waiting"
        self.url = ""
        self.id = secrets.token_hex(8)
        self._store = store
        self._life_s = life_s
        self._path = f"/{secrets.token_urlsafe(32)}"
        self._token = secrets.token_urlsafe(32)
        self._origin = ""
        self._refusals = 0
        self._over = anyio.Event()
        self._entering = anyio.Lock()
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._exchanges: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen; ``url`` is then the address to give to the person.

        Raises:
            StorageError: this machine gives no port.
        """
        # asyncio's own server: the page outlives the call that opens it, as no task group of that call could.
        try:
            self._server = await asyncio.start_server(self._accept, _HOST, 0, limit=HEAD_BYTES)
        except OSError as error:
            raise StorageError(
                f"No page can be opened on {_HOST}: {error.strerror}.",
                "Ask the person to run: llmbench-mcp credential set NAME",
            ) from error
        self._origin = f"http://{_HOST}:{self._server.sockets[0].getsockname()[1]}"
        self.url = self._origin + self._path
        self._timer = asyncio.get_running_loop().call_later(self._life_s, self._end, "timed_out")

    async def over(self, wait_s: float) -> bool:
        """Whether it is over, at the latest ``wait_s`` seconds from now."""
        with anyio.move_on_after(wait_s):
            await self._over.wait()
        return self._over.is_set()

    async def aclose(self) -> None:
        """Close it, exchanges under way included."""
        self._end("closed")
        exchanges = list(self._exchanges)
        for task in exchanges:
            task.cancel()
        await asyncio.gather(*exchanges, return_exceptions=True)

    def _end(self, state: PageState) -> None:
        if self.state == "waiting":
            self.state = state
        if self._server is not None:
            self._server.close()
        if self._timer is not None:
            self._timer.cancel()
        self._over.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._exchanges) >= _CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)
        task.add_done_callback(lambda done: writer.close())  # one cancelled before it began has closed nothing

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with anyio.move_on_after(_EXCHANGE_S):
                writer.write((await self._exchange(reader)).encoded())
                await writer.drain()
        except (OSError, EOFError):
            log.debug("whoever opened the page hung up")

    async def _exchange(self, reader: asyncio.StreamReader) -> PageAnswer:
        try:
            with anyio.fail_after(_READ_S):
                request = await read_request(reader)
            self._check(request)
            if request.method == "GET":
                return self._page(HTTPStatus.OK, page_html.form(self.asked, self._token))
            async with self._entering:
                return await self._enter(request)
        except TimeoutError:
            return self._page(HTTPStatus.REQUEST_TIMEOUT)
        except Refused as refused:
            return self._page(refused.status)

    def _check(self, request: PageRequest) -> None:
        # Another name for this machine means that a page elsewhere had it resolved so (DNS rebinding).
        if request.headers.get("host") != self._origin.removeprefix("http://"):
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST)
        if not secrets.compare_digest(request.path, self._path):
            raise Refused(HTTPStatus.NOT_FOUND)
        if request.method == "POST" and request.headers.get("origin") != self._origin:
            raise Refused(HTTPStatus.FORBIDDEN)

    async def _enter(self, request: PageRequest) -> PageAnswer:
        if self.state != "waiting":
            raise Refused(HTTPStatus.NOT_FOUND)
        fields = request.form()
        if not secrets.compare_digest(fields.get("token", "").encode(), self._token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN)
        try:
            await self._store(fields.get("key", ""))
        except InputError as error:
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except BenchError as error:
            return self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        self._end("set")
        return self._page(HTTPStatus.OK, page_html.thanks(self.asked))

    def _refuse(self, status: HTTPStatus, problem: str) -> PageAnswer:
        self._refusals += 1
        if self._refusals < _TRIES:
            return self._page(status, page_html.form(self.asked, self._token, problem))
        self._end("closed")
        return self._page(status, page_html.farewell(problem))

    @staticmethod
    def _page(status: HTTPStatus, html: str = "") -> PageAnswer:
        return PageAnswer(status, html, page_html.HEADERS)


async def open_page(asked: Asked, store: Callable[[str], Awaitable[None]]) -> EntryPage:
    """A page that listens. Raises StorageError."""
    page = EntryPage(asked, store)
    await page.open()
    return page
