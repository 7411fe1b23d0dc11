from __future__ import annotations

from typing import Any

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Reasoning, Sampling
from llmbench_mcp.domain.errors import (
    EndpointTimeout,
    IncompatibleError,
    PromptTooLong,
    ProtocolError,
)
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.replies import Gate, Reply
from tests.backends.ollama_support import BIG, names_in_memory, ollama_at, scene
from tests.backends.support import ask

# Asking


async def test_a_prompt_beyond_the_context_is_refused_and_not_cut() -> None:
    async with scene() as (_, backend):
        await backend.load("m", context_length=8)
        with pytest.raises(PromptTooLong):
            await ask(backend, "word " * 50)


async def test_the_token_budget_cuts_the_answer() -> None:
    async with scene() as (_, backend):
        done = await backend.chat(ChatRequest("m", "p", sampling=Sampling(max_tokens=2)), total_s=20, stall_s=10)
        assert (done.text, done.finish_reason) == ("You said: ", "length")


@pytest.mark.parametrize(("word", "sent"), [("off", False), ("on", True), ("low", "low")])
async def test_reasoning_is_switched_in_its_own_words(word: Reasoning, sent: object) -> None:
    async with scene(StoredModel("m", capabilities=("completion", "thinking"))) as (server, backend):
        await ask(backend)
        assert "think" not in server.requests[-1].body
        sampling = Sampling(reasoning=word, context_length=8192)
        done = await backend.chat(ChatRequest("m", "p", sampling=sampling), total_s=20, stall_s=10)
        assert server.requests[-1].body["think"] == sent
        assert server.requests[-1].body["options"]["num_ctx"] == 8192
        assert bool(done.reasoning) == bool(sent)


async def test_tools_are_sent_and_a_model_without_them_is_incompatible() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    request = ChatRequest("m", "p", tools=(tool,))
    async with scene() as (server, backend):
        with pytest.raises(IncompatibleError, match="does not support tools"):
            await backend.chat(request, total_s=20, stall_s=10)
        server.store.add(StoredModel("m", capabilities=("completion", "tools")))
        await backend.chat(request, total_s=20, stall_s=10)
        assert server.requests[-1].body["tools"] == [tool]


async def test_a_picture_goes_with_the_prompt() -> None:
    async with scene() as (server, backend):
        await backend.chat_about(ChatRequest("m", "What is it?"), b"\x89PNG", total_s=20, stall_s=10)
        assert server.requests[-1].body["messages"] == [
            {"role": "user", "content": "What is it?", "images": ["iVBORw=="]}
        ]


async def test_a_load_inside_a_chat_is_no_warm_time() -> None:
    async with scene(BIG, load_s=6.0) as (_, backend):
        cold = (await ask(backend, model="big:30b")).timing
        assert (cold.server["load_s"], cold.ttft_s) == (6.0, None)
        assert "load_s" not in (await ask(backend, model="big:30b")).timing.server


async def test_a_restart_is_survived() -> None:
    async with scene() as (server, backend):
        await backend.load("m")
        await server.restart()
        assert await names_in_memory(backend) == []
        assert (await ask(backend)).complete
        assert await names_in_memory(backend) == ["m"]


@pytest.mark.parametrize("answer", [{}, {"embeddings": []}, {"embeddings": [["x"]]}, {"embeddings": [[]]}])
async def test_vectors_that_are_none_are_refused(answer: dict[str, Any]) -> None:
    async with FakeOllama() as server, ollama_at(server.url) as backend:
        server.routes["POST /api/embed"] = lambda request: Reply(body=answer)
        with pytest.raises(ProtocolError, match="without usable vectors"):
            await backend.embed("m", ["a"], total_s=10)


async def test_a_chat_that_hangs_before_it_begins_is_a_timeout() -> None:
    async with FakeOllama(script=lambda request: Reply(before=Gate())) as server, ollama_at(server.url) as backend:
        with pytest.raises(EndpointTimeout):
            await backend.chat(ChatRequest("m", "p"), total_s=0.05, stall_s=10)
