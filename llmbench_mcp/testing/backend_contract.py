"""What every backend must do, as a test class to inherit from; ``docs/writing-backends.md`` walks through it.

::

    class TestMine(BackendContract):
        def server(self, script=None):
            return FakeServer(script=script)      # or a fake of your server's own dialect

        def backend(self, server):
            return MyBackend(Endpoint("e", "e", server.url, "mine"), HttpClient(parse_address(server.url)))

It needs pytest with pytest-asyncio in auto mode. A server whose chat is not OpenAI's says so by overriding the
methods under "The wire"; everything else stays as it is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    IdentityError,
    ModelNotAvailable,
    ProtocolError,
    RateLimitedError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Script
from llmbench_mcp.testing.replies import DONE, Cut, Gate, Reply, Step, chunk, error_reply, streamed, text_reply
from llmbench_mcp.testing.server_contract import ServerContract

MODEL = "m"
ANOTHER = "another-model"


class BackendContract(ServerContract):
    """Inherit, give the two factories, and every test here and in ServerContract runs.

    The fake must offer one model, named ``m``.
    """

    @abstractmethod
    def server(self, script: Script | None = None) -> FakeServer:
        """A fake of the server this backend is for. ``script`` decides about each chat request, first of all."""

    @abstractmethod
    def backend(self, server: FakeServer) -> Backend:
        """The backend under test, pointed at the fake."""

    # The wire: override where the server's chat is not OpenAI's.

    chat_path = CHAT
    """Where chats are posted."""

    def text(self, text: str, *, reasoning: str = "", model: str = MODEL) -> Reply:
        """A whole answer, streamed."""
        return text_reply(text, reasoning=reasoning, model=model)

    def part(self, text: str, then: Step) -> Reply:
        """The beginning of an answer, and then a Gate or a Cut."""
        return streamed([chunk(text), then, DONE])

    def nothing(self) -> Reply:
        """A stream that ends, with all its ceremony, before any answer."""
        return streamed([DONE])

    def refusal(self, status: int, message: str, **headers: str) -> Reply:
        """An error as the server words it; header names with underscores (``retry_after="3"``)."""
        return error_reply(status, message, **headers)

    def sampling_sent(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The sampling values in a chat request's body, under OpenAI's names."""
        return body

    def impostor(self, server: FakeServer) -> Reply:
        """An answer that came from another model than ``m``; arranges at the server what else shows it."""
        return self.text("Hello, I am somebody else.", model=ANOTHER)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[Backend]:
        async with self.opened() as (_, backend):
            yield backend

    def running(self) -> AbstractAsyncContextManager[Backend]:
        """The backend at an unscripted fake."""
        return self._running()

    @asynccontextmanager
    async def opened(self, script: Script | None = None) -> AsyncIterator[tuple[FakeServer, Backend]]:
        """Both, and closed in the end."""
        async with self.server(script) as server:
            backend = self.backend(server)
            try:
                yield server, backend
            finally:
                await backend.aclose()

    # What the server is

    async def test_another_kind_of_server_is_refused(self) -> None:
        """HTML is no inference server, whoever serves it."""
        async with self.opened() as (server, backend):
            for route in list(server.routes):
                server.routes[route] = lambda request: Reply(body="<title>Router</title>")
            with pytest.raises(ProtocolError):
                await backend.inspect()

    async def test_nobody_there_is_unreachable(self) -> None:
        """After the server has stopped."""
        async with self.opened() as (server, backend):
            await server.stop()
            with pytest.raises(UnreachableError):
                await backend.list_models()

    async def test_the_models_listed_are_those_served(self) -> None:
        """By their served names, once each."""
        async with self.opened() as (_, backend):
            assert [model.served_name for model in await backend.list_models()] == [MODEL]

    # Asking

    async def test_a_chat_gives_text_usage_and_times(self) -> None:
        """The ordinary case."""
        async with self.opened() as (server, backend):
            done = await backend.chat(ChatRequest(MODEL, "Guten Tag", "Be brief."), total_s=20, stall_s=10)
            assert done.text == server.answer("Guten Tag")
            assert (done.complete, done.error, done.finish_reason) == (True, None, "stop")
            assert done.usage is not None
            assert done.usage.completion_tokens == 4
            assert done.timing.ttft_s is not None
            assert done.timing.ttft_s >= 0

    async def test_reasoning_is_kept_apart_from_the_answer(self) -> None:
        """And it counts for the first token, not for the first token of the answer."""
        async with self.opened(lambda request: self.text("Four.", reasoning="Two and two")) as (_, backend):
            done = await self._ask(backend)
            assert (done.reasoning, done.text) == ("Two and two", "Four.")
            assert done.timing.ttft_s is not None
            assert done.timing.ttfat_s is not None
            assert done.timing.ttft_s <= done.timing.ttfat_s

    async def test_sampling_and_messages_are_sent_and_the_unset_is_not(self) -> None:
        """None means the server's default."""
        async with self.opened() as (server, backend):
            request = ChatRequest(MODEL, "p", "s", Sampling(temperature=0.5, seed=None, max_tokens=9))
            await backend.chat(request, total_s=20, stall_s=10)
            body = next(one.body for one in reversed(server.requests) if one.path.endswith(self.chat_path))
            assert [message["role"] for message in body["messages"]] == ["system", "user"]
            sampling = self.sampling_sent(body)
            assert (sampling["temperature"], sampling["max_tokens"]) == (0.5, 9)
            assert "seed" not in sampling
            assert "top_p" not in sampling

    async def test_another_models_answer_is_not_passed_off_as_the_asked_ones(self) -> None:
        """Refused, or handed on with the other's name in it."""
        async with self.server() as server:
            server.script = lambda request: self.impostor(server)
            backend = self.backend(server)
            try:
                assert (await self._ask(backend)).model not in (None, MODEL)
            except IdentityError:
                pass
            finally:
                await backend.aclose()

    # What goes wrong

    @pytest.mark.parametrize("status", [401, 403])
    async def test_a_refused_credential_is_an_auth_error(self, status: int) -> None:
        """Not the model's failure."""
        assert isinstance(await self._error(self.refusal(status, "Invalid API Key")), AuthError)

    async def test_a_missing_model_is_not_available(self) -> None:
        """404 with the server's word for it."""
        error = await self._error(self.refusal(404, "The model `m` was not found."))
        assert isinstance(error, ModelNotAvailable)

    async def test_a_busy_server_says_how_long_to_wait(self) -> None:
        """From Retry-After."""
        error = await self._error(self.refusal(429, "busy", retry_after="3"))
        assert isinstance(error, RateLimitedError)
        assert error.retry_after_s == 3.0

    async def test_an_overloaded_server_is_busy_too(self) -> None:
        """503 passes by waiting."""
        error = await self._error(self.refusal(503, "overloaded"))
        assert isinstance(error, RateLimitedError)
        assert error.retry_after_s is None

    async def test_a_failure_inside_the_server_is_its_fault(self) -> None:
        """And its words are handed on."""
        error = await self._error(self.refusal(500, "the engine stumbled"))
        assert isinstance(error, ServerFault)
        assert "the engine stumbled" in str(error)

    async def test_a_web_page_is_no_answer(self) -> None:
        """Even with status 200."""
        assert isinstance(await self._error(Reply(body="<title>Sign in</title>")), ProtocolError)

    async def test_an_empty_stream_is_an_error(self) -> None:
        """Never a completion without text."""
        assert isinstance(await self._error(self.nothing()), ServerFault | ProtocolError)

    async def test_text_before_a_break_is_kept(self) -> None:
        """With the error beside it."""
        async with self.opened(lambda request: self.part("half", Cut())) as (_, backend):
            done = await self._ask(backend)
            assert (done.text, done.complete) == ("half", False)
            assert done.error

    async def test_silence_is_a_timeout(self) -> None:
        """When nothing has come."""
        async with self.opened(lambda request: Reply(before=Gate())) as (_, backend):
            with pytest.raises(EndpointTimeout):
                await backend.chat(ChatRequest(MODEL, "p"), total_s=20, stall_s=0.05)

    async def test_cancelling_ends_a_chat_and_the_backend_still_works(self) -> None:
        """Cancellation passes through at once and leaves no broken connection behind."""
        gate = Gate()
        replies = iter([self.part("so far", gate), self.text("next")])
        async with self.opened(lambda request: next(replies)) as (server, backend):
            with anyio.fail_after(self.bound_s):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._ask_forever, backend)
                    await gate.reached()
                    group.cancel_scope.cancel()
            assert (await self._ask(backend)).text == "next"
            assert server.count(self.chat_path) == 2

    async def test_cancelling_ends_the_wait_for_a_first_byte(self) -> None:
        """However long the server stays silent."""
        gate = Gate()
        async with self.opened(lambda request: Reply(before=gate)) as (_, backend):
            with anyio.fail_after(self.bound_s):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._ask_forever, backend)
                    await gate.reached()
                    group.cancel_scope.cancel()

    async def _error(self, reply: Reply) -> EndpointError:
        """What a chat that gets this reply raises."""
        async with self.opened(lambda request: reply) as (_, backend):
            with pytest.raises(EndpointError) as caught:
                await self._ask(backend)
            return caught.value

    async def _ask_forever(self, backend: Backend) -> None:
        await backend.chat(ChatRequest(MODEL, "p"), total_s=600, stall_s=600)
        raise AssertionError("the chat came back although it was cancelled")
