"""What every backend must do, as a test class to inherit from.

::

    class TestMine(BackendContract):
        @abstractmethod
    def server(self, script=None): return FakeServer(script=script)
        @abstractmethod
    def backend(self, server): return MyBackend(...)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.endpoint import Resident
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    ProtocolError,
    RateLimitedError,
    UnreachableError,
)
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Script
from llmbench_mcp.testing.replies import DONE, Cut, Gate, Reply, chunk, error_reply, streamed, text_reply


class BackendContract(ABC):
    """Inherit, give the two factories, and every test below runs. The fake must offer a model named ``m``."""

    @abstractmethod
    def server(self, script: Script | None = None) -> FakeServer:
        """A fake of the server this backend is for."""

    @abstractmethod
    def backend(self, server: FakeServer) -> Backend:
        """The backend under test, pointed at the fake."""

    @asynccontextmanager
    async def opened(self, script: Script | None = None) -> AsyncIterator[tuple[FakeServer, Backend]]:
        """Both, and closed in the end."""
        async with self.server(script) as server:
            backend = self.backend(server)
            try:
                yield server, backend
            finally:
                await backend.aclose()

    async def test_inspect_names_its_own_kind(self) -> None:
        """The kind is the endpoint's."""
        async with self.opened() as (_, backend):
            assert (await backend.inspect()).backend == backend.endpoint.backend

    async def test_inspect_refuses_a_web_page(self) -> None:
        """Something else listens there."""
        async with self.opened() as (server, backend):
            for route in list(server.routes):
                server.routes[route] = lambda request: Reply(body="<title>Router</title>")
            with pytest.raises(ProtocolError):
                await backend.inspect()

    async def test_the_models_listed_are_those_served(self) -> None:
        """By their served names, once each."""
        async with self.opened() as (_, backend):
            assert [model.served_name for model in await backend.list_models()] == ["m"]

    async def test_residents_and_abilities_agree(self) -> None:
        """A server that can unload can say what is loaded."""
        async with self.opened() as (_, backend):
            info, residents = await backend.inspect(), await backend.residents()
            assert residents is not None or not info.can_unload

    async def test_loading_a_model_that_is_there_succeeds(self) -> None:
        """At once, or once it is loaded."""
        async with self.opened() as (_, backend):
            await backend.load("m")

    async def test_unloading_without_the_ability_is_refused(self) -> None:
        """Never a silent success."""
        async with self.opened() as (_, backend):
            if not (await backend.inspect()).can_unload:
                with pytest.raises(EndpointError):
                    await backend.unload(Resident("m"))

    async def test_a_chat_gives_text_usage_and_times(self) -> None:
        """The ordinary case."""
        async with self.opened() as (server, backend):
            done = await backend.chat(ChatRequest("m", "Guten Tag", "Be brief."), total_s=20, stall_s=10)
            assert done.text == server.answer("Guten Tag")
            assert (done.complete, done.error, done.finish_reason) == (True, None, "stop")
            assert done.usage is not None
            assert done.usage.completion_tokens == 4
            assert done.timing.ttft_s is not None
            assert done.timing.ttft_s >= 0

    async def test_sampling_and_messages_are_sent_and_the_unset_is_not(self) -> None:
        """None means the server's default."""
        async with self.opened() as (server, backend):
            request = ChatRequest("m", "p", "s", Sampling(temperature=0.5, seed=None, max_tokens=9))
            await backend.chat(request, total_s=20, stall_s=10)
            body = server.requests[-1].body
            assert [message["role"] for message in body["messages"]] == ["system", "user"]
            assert (body["temperature"], body["max_tokens"]) == (0.5, 9)
            assert "seed" not in body
            assert "top_p" not in body

    async def test_a_refused_credential_is_an_auth_error(self) -> None:
        """Not the model's failure."""
        async with self.opened(lambda request: error_reply(401, "Invalid API Key")) as (_, backend):
            with pytest.raises(AuthError):
                await backend.chat(ChatRequest("m", "p"), total_s=20, stall_s=10)

    async def test_a_busy_server_says_how_long_to_wait(self) -> None:
        """From Retry-After."""
        async with self.opened(lambda request: error_reply(429, "busy", retry_after="3")) as (_, backend):
            with pytest.raises(RateLimitedError) as caught:
                await backend.chat(ChatRequest("m", "p"), total_s=20, stall_s=10)
            assert caught.value.retry_after_s == 3.0

    async def test_text_before_a_break_is_kept(self) -> None:
        """With the error beside it."""
        async with self.opened(lambda request: streamed([chunk("half"), Cut()])) as (_, backend):
            done = await backend.chat(ChatRequest("m", "p"), total_s=20, stall_s=10)
            assert (done.text, done.complete) == ("half", False)
            assert done.error

    async def test_silence_is_a_timeout(self) -> None:
        """When nothing has come."""
        async with self.opened(lambda request: Reply(before=Gate())) as (_, backend):
            with pytest.raises(EndpointTimeout):
                await backend.chat(ChatRequest("m", "p"), total_s=20, stall_s=0.05)

    async def test_nobody_there_is_unreachable(self) -> None:
        """After the server has stopped."""
        async with self.opened() as (server, backend):
            await server.stop()
            with pytest.raises(UnreachableError):
                await backend.list_models()

    async def test_cancelling_ends_a_chat_and_the_backend_still_works(self) -> None:
        """Cancellation passes through and leaves no broken connection behind."""
        gate = Gate()
        replies = iter([streamed([chunk("so far"), gate, DONE]), text_reply("next")])
        async with self.opened(lambda request: next(replies)) as (server, backend):
            async with anyio.create_task_group() as group:
                group.start_soon(self._ask_forever, backend)
                await gate.reached()
                group.cancel_scope.cancel()
            assert (await backend.chat(ChatRequest("m", "p"), total_s=20, stall_s=10)).text == "next"
            assert server.count(CHAT) == 2

    async def _ask_forever(self, backend: Backend) -> None:
        await backend.chat(ChatRequest("m", "p"), total_s=600, stall_s=600)
        raise AssertionError("the chat came back although it was cancelled")
