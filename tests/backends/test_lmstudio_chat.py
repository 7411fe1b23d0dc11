from __future__ import annotations

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.errors import (
    EndpointError,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    PromptTooLong,
    ServerFault,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_lmstudio import V1_MODELS, FakeLMStudio
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_lmstudio_wire import openai_error
from llmbench_mcp.testing.fake_server import CHAT
from tests.backends.lmstudio_support import studio, studio_at
from tests.backends.support import PATIENCE, ask


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_either_reasoning_field_is_kept_apart_from_the_answer(field: str) -> None:
    async with studio() as (server, backend):
        server.thought, server.reasoning_field = "well then", field
        done = await ask(backend, "hello")
        assert (done.reasoning, done.text) == ("well then", "You said: hello")
        assert done.usage is not None
        assert (done.usage.completion_tokens, done.usage.reasoning_tokens) == (5, 2)


async def test_the_servers_own_figures_are_kept_beside_ours() -> None:
    async with studio() as (server, backend):
        server.stats = True
        done = await ask(backend)
        assert done.timing.server == {
            "tokens_per_second": 50.0,
            "time_to_first_token": 0.125,
            "generation_time": pytest.approx(3 / 50),
        }
        assert done.timing.ttft_s != 0.125


async def test_a_server_without_figures_gives_none() -> None:
    async with studio() as (_, backend):
        assert (await ask(backend)).timing.server == {}


async def test_the_token_budget_ends_an_answer() -> None:
    async with studio() as (_, backend):
        request = ChatRequest("m", "one two three", sampling=Sampling(max_tokens=2))
        done = await backend.chat(request, **PATIENCE)
        assert (done.text, done.finish_reason) == ("You said: ", "length")


async def test_the_only_instance_is_asked_even_under_another_id() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        await server.load_by_other("m")
        server.evict("m")
        await backend.residents()
        done = await ask(backend, model="m")
        assert server.loaded_ids == ["m:2"]
        assert server.requests[-2].body["model"] == "m:2"
        assert done.model == "m"


async def test_an_instances_own_name_is_the_model_asked_for() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        server.script = lambda request: server.memory.evict("m")  # it is gone by the time the answer is looked at
        assert (await ask(backend, model="m")).model == "m"


async def test_a_variants_name_is_the_model_asked_for() -> None:
    async with studio(StudioModel("q3", variants=("q3@q4_k_m", "q3@q8_0"))) as (_, backend):
        assert (await ask(backend, model="q3@q8_0")).model == "q3@q8_0"


async def test_another_model_that_answers_is_refused() -> None:
    async with studio("a", native=False) as (server, backend):
        await server.load_by_other("a")
        with pytest.raises(IdentityError, match="answered as 'a', not as 'b'"):
            await ask(backend, model="b")


async def test_an_ordinary_chat_costs_one_request() -> None:
    async with studio("m") as (server, backend):
        await ask(backend)
        assert server.paths == {CHAT: 1}


async def test_a_model_unloaded_by_somebody_else_while_it_answers_is_the_servers_fault() -> None:
    async with FakeLMStudio(clock=_Evicting()) as server, studio_at(server.url) as backend:
        assert isinstance(server.clock, _Evicting)
        await server.load_by_other("m")
        server.clock.server = server
        server.chat_s = 1.0
        done = await ask(backend)
        assert (done.text, done.complete, done.error) == ("You ", False, "Model unloaded.")


class _Evicting(ManualClock):
    """While anybody waits, the model is thrown out."""

    server: FakeLMStudio | None = None

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self.server and seconds:
            self.server.evict("m")


@pytest.mark.parametrize(
    ("status", "said", "code", "error"),
    [
        (404, "Model not found", "model_not_found", ModelNotAvailable),
        (404, "No models loaded. Please load a model in the developer page.", None, ModelNotAvailable),
        (400, "The number of tokens to keep is greater than the context length.", None, PromptTooLong),
        (400, "Error rendering prompt with jinja template: unknown filter", None, IncompatibleError),
        (400, "The model has crashed without additional information. (Exit code: 6)", None, ServerFault),
        (500, "Model is unloaded.", None, ServerFault),
    ],
)
async def test_refusals_are_told_apart(status: int, said: str, code: str | None, error: type[EndpointError]) -> None:
    async with studio() as (server, backend):
        server.script = lambda request: openai_error(status, said, code)
        with pytest.raises(error) as caught:
            await ask(backend)
        assert type(caught.value) is error


async def test_a_prompt_beyond_the_context_in_force_is_too_long() -> None:
    async with studio("m") as (_, backend):
        await backend.load("m", context_length=8)
        with pytest.raises(PromptTooLong):
            await ask(backend, "word " * 9)


async def test_an_embedding_model_cannot_chat_but_embeds() -> None:
    async with studio(StudioModel("e", kind="embedding")) as (_, backend):
        with pytest.raises(IncompatibleError):
            await ask(backend, model="e")
        assert await backend.embed("e", ["abc", "d"], total_s=10) == [[3.0, 1.0], [1.0, 1.0]]


async def test_there_is_no_reranking() -> None:
    async with studio() as (server, backend):
        with pytest.raises(IncompatibleError, match="rerank"):
            await backend.rerank("m", "q", ["a"], total_s=10)
        assert server.requests == []


async def test_a_question_about_a_picture_is_asked_of_the_instance_in_memory() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        await server.load_by_other("m")
        server.evict("m")
        await backend.residents()
        server.script = lambda request: "a cat"
        done = await backend.chat_about(ChatRequest("m", "What is it?"), b"png", **PATIENCE)
        assert (done.text, done.model) == ("a cat", "m")
        assert server.count(V1_MODELS) == 2
