"""What a backend must do with any server of its kind, a real one too: nothing here needs to script the server.

::

    class TestMineForReal(ServerContract):
        model = "small"                             # a chat model that the server offers

        @asynccontextmanager
        async def running(self):
            backend = MyBackend(Endpoint("e", "e", URL, "mine"), HttpClient(parse_address(URL)))
            yield backend
            await backend.aclose()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import fields

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.endpoint import OfferedModel, Resident
from llmbench_mcp.domain.errors import EndpointError, ModelNotAvailable
from llmbench_mcp.domain.ports import Backend

NOWHERE = "no-such-model"


class ServerContract(ABC):
    """Inherit, say how to reach the server, and every test below runs."""

    model = "m"
    """A chat model the server offers."""

    bound_s = 30.0
    """Real seconds after which something that has to come about has not."""

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[Backend]:
        """The backend under test, its server up, and closed in the end."""

    async def pause(self) -> None:
        """Let the server get on with what it was ordered to do; a fake with its own clock moves that instead."""
        await anyio.sleep(0.01)

    # What the server is and offers

    async def test_inspecting_names_the_backend(self) -> None:
        """And gives its abilities."""
        async with self.running() as backend:
            assert (await backend.inspect()).backend

    async def test_each_model_is_listed_once(self) -> None:
        """By its served name."""
        async with self.running() as backend:
            names = [model.served_name for model in await backend.list_models()]
            assert self.model in names
            assert len(set(names)) == len(names)

    async def test_what_the_server_does_not_say_stays_unknown(self) -> None:
        """None, never 0 or an empty text; and what was guessed is there and marked."""
        async with self.running() as backend:
            for model in await backend.list_models():
                counts = (model.parameter_count, model.size_bytes, model.context_length)
                words = (model.digest, model.family, model.quantisation)
                assert all(count is None or count > 0 for count in counts)
                assert all(word is None or word.strip() for word in words)
                assert {field.name for field in fields(OfferedModel)} >= set(model.guessed)
                assert all(getattr(model, name) is not None for name in model.guessed)

    # What it holds in memory

    async def test_residents_and_abilities_agree(self) -> None:
        """A server that can unload can say what is loaded."""
        async with self.running() as backend:
            info, residents = await backend.inspect(), await backend.residents()
            assert residents is not None or not info.can_unload

    async def test_residents_are_listed_models_once_per_instance(self) -> None:
        """With figures that make sense, or none."""
        async with self.running() as backend:
            await backend.load(self.model)
            residents = await backend.residents() or []
            assert len({(one.served_name, one.instance_id) for one in residents}) == len(residents)
            assert {one.served_name for one in residents} <= {one.served_name for one in await backend.list_models()}
            for one in residents:
                assert one.memory_bytes is None or one.memory_bytes > 0
                assert one.device_bytes is None or 0 <= one.device_bytes <= (one.memory_bytes or one.device_bytes)

    async def test_loading_a_model_that_is_there_succeeds(self) -> None:
        """At once, or once it is loaded."""
        async with self.running() as backend:
            await backend.load(self.model)

    async def test_loading_twice_leaves_one_instance(self) -> None:
        """Where the server says what it holds."""
        async with self.running() as backend:
            await backend.load(self.model)
            await backend.load(self.model)
            if await backend.residents() is not None:
                assert len(await self._instances(backend)) == 1

    async def test_a_model_that_is_not_there_cannot_be_loaded(self) -> None:
        """Where the server loads at all; the error says that the model is missing."""
        async with self.running() as backend:
            if (await backend.inspect()).can_load:
                with pytest.raises(ModelNotAvailable):
                    await backend.load(NOWHERE)

    async def test_unloading_without_the_ability_is_refused(self) -> None:
        """Never a silent success."""
        async with self.running() as backend:
            if not (await backend.inspect()).can_unload:
                with pytest.raises(EndpointError):
                    await backend.unload(Resident(self.model))

    async def test_a_model_asked_to_leave_is_seen_gone_and_can_be_loaded_again(self) -> None:
        """The order may be answered before it is done; the list of residents tells when it is."""
        async with self.running() as backend:
            if not (await backend.inspect()).can_unload:
                return
            await backend.load(self.model)
            for resident in await self._instances(backend):
                await backend.unload(resident)
            with anyio.fail_after(self.bound_s):
                while await self._instances(backend):
                    await self.pause()
            await backend.load(self.model)
            assert await self._instances(backend)
            assert (await self._ask(backend)).complete

    async def test_unloading_what_is_not_there_touches_nothing(self) -> None:
        """It may be refused, and it may be no error; what is loaded stays."""
        async with self.running() as backend:
            if not (await backend.inspect()).can_unload:
                return
            await backend.load(self.model)
            before = await self._instances(backend)
            with suppress(EndpointError):
                await backend.unload(Resident(NOWHERE, f"{NOWHERE}:1"))
            assert await self._instances(backend) == before

    # Asking

    async def test_a_chat_gives_text_and_usage(self) -> None:
        """The ordinary case."""
        async with self.running() as backend:
            done = await self._ask(backend)
            assert done.text or done.reasoning
            assert (done.complete, done.error) == (True, None)
            assert done.finish_reason in ("stop", "length")
            assert done.usage is not None
            assert (done.usage.completion_tokens or 0) > 0

    async def test_times_come_in_their_order(self) -> None:
        """First token, first token of the answer, end; and no gap is negative."""
        async with self.running() as backend:
            timing = (await self._ask(backend)).timing
            assert timing.ttft_s is not None
            assert timing.ttfat_s is not None
            assert timing.e2e_s is not None
            assert 0 <= timing.ttft_s <= timing.ttfat_s <= timing.e2e_s
            assert all(gap >= 0 for gap in timing.itl_s)

    async def test_the_answer_bears_the_name_of_the_model_asked(self) -> None:
        """Or none at all."""
        async with self.running() as backend:
            assert (await self._ask(backend)).model in (None, self.model)

    async def test_a_cancelled_chat_ends_at_once_and_the_next_one_works(self) -> None:
        """Wherever the cancellation finds it."""
        async with self.running() as backend:
            await backend.load(self.model)
            with anyio.fail_after(self.bound_s), anyio.move_on_after(0.2):
                await self._ask(backend, Sampling(max_tokens=400))
            assert (await self._ask(backend)).complete

    async def _instances(self, backend: Backend) -> list[Resident]:
        residents = await backend.residents()
        assert residents is not None
        return [Resident(one.served_name, one.instance_id) for one in residents if one.served_name == self.model]

    async def _ask(self, backend: Backend, sampling: Sampling | None = None) -> Completion:
        request = ChatRequest(self.model, "What is 2 + 2?", sampling=sampling or Sampling(max_tokens=16))
        return await backend.chat(request, total_s=120, stall_s=60)
