"""Embeddings, rankings and pictures on the OpenAI wire: what is sent, what is taken, what is refused."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from llmbench_mcp.backends.openai import OpenAIBackend
from llmbench_mcp.backends.openai_extras import EMBEDDINGS_PATH, RERANK_PATH
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.chat import ChatRequest
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import AuthError, EndpointTimeout, IncompatibleError, ProtocolError
from llmbench_mcp.domain.ports import Embeds, Reranks, Sees
from llmbench_mcp.testing.fake_server import CHAT, FakeServer
from llmbench_mcp.testing.replies import Gate, Reply, error_reply


@asynccontextmanager
async def opened(path: str, reply: Reply) -> AsyncIterator[tuple[OpenAIBackend, FakeServer]]:
    """A backend onto a server that answers ``path`` so."""
    async with FakeServer(["m"]) as server:
        server.routes[f"POST {path}"] = lambda request: reply
        backend = EntryPointBackends().open(Endpoint("e", "e", server.url, "openai"))
        assert isinstance(backend, OpenAIBackend)
        yield backend, server
        await backend.aclose()


def vectors(*rows: Any) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}


async def test_vectors_come_in_the_order_of_the_texts() -> None:
    answer = {"data": [{"index": 1, "embedding": [2, 3.5]}, {"index": 0, "embedding": [0.5, 1]}]}
    async with opened(EMBEDDINGS_PATH, Reply(body=answer)) as (backend, server):
        assert await backend.embed("m", ["a", "b"], total_s=10) == [[0.5, 1.0], [2.0, 3.5]]
        body = server.requests[-1].body
        assert (body["model"], body["input"], "input_type" in body) == ("m", ["a", "b"], False)
        await backend.embed("m", ["a", "b"], total_s=10, input_type="query")
        assert server.requests[-1].body["input_type"] == "query"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": None},
        vectors([1.0]),
        vectors([1.0], []),
        vectors([1.0], ["x"]),
        vectors([1.0], [True]),
        vectors([1.0], [float("nan")]),
        vectors([1.0], [2.0], [3.0]),
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": [1], "embedding": [2.0]}]},
    ],
)
async def test_an_answer_without_a_vector_for_each_text_is_refused(answer: dict[str, Any]) -> None:
    async with opened(EMBEDDINGS_PATH, Reply(body=answer)) as (backend, _):
        with pytest.raises(ProtocolError, match="without usable vectors"):
            await backend.embed("m", ["a", "b"], total_s=10)


async def test_vectors_without_an_index_are_taken_as_they_come() -> None:
    async with opened(EMBEDDINGS_PATH, Reply(body={"data": [{"embedding": [1]}, {"embedding": [2]}]})) as (backend, _):
        assert await backend.embed("m", ["a", "b"], total_s=10) == [[1.0], [2.0]]


@pytest.mark.parametrize("field", ["relevance_score", "score"])
async def test_scores_come_in_the_order_of_the_documents(field: str) -> None:
    answer = {"results": [{"index": 1, field: 0.9}, {"index": 0, field: 0.1}]}
    async with opened(RERANK_PATH, Reply(body=answer)) as (backend, server):
        assert await backend.rerank("m", "q", ["a", "b"], total_s=10) == [0.1, 0.9]
        assert server.requests[-1].body == {"model": "m", "query": "q", "documents": ["a", "b"], "top_n": 2}


@pytest.mark.parametrize("answer", [{}, {"results": [{"index": 0}]}, {"results": [{"index": 0, "score": 1}]}])
async def test_an_answer_without_a_score_for_each_document_is_refused(answer: dict[str, Any]) -> None:
    async with opened(RERANK_PATH, Reply(body=answer)) as (backend, _):
        with pytest.raises(ProtocolError, match="without usable scores"):
            await backend.rerank("m", "q", ["a", "b"], total_s=10)


async def test_a_picture_goes_beside_the_prompt() -> None:
    async with FakeServer(["m"], lambda request: "red") as server:
        backend = EntryPointBackends().open(Endpoint("e", "e", server.url, "openai"))
        assert isinstance(backend, Sees)
        done = await backend.chat_about(ChatRequest("m", "What?", "Be brief."), b"png!", total_s=10, stall_s=10)
        await backend.aclose()
        (request,) = [request for request in server.requests if request.path == CHAT]
    assert done.text == "red"
    system, user = request.body["messages"]
    assert (system["role"], user["content"][0]) == ("system", {"type": "text", "text": "What?"})
    assert user["content"][1]["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(b'png!').decode()}"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (error_reply(501, "This server does not support embeddings"), IncompatibleError),
        (error_reply(401, "no"), AuthError),
        (error_reply(404, "File Not Found"), ProtocolError),
        (Reply(body="<h1>login</h1>"), ProtocolError),
    ],
)
async def test_refusals_are_told_apart(reply: Reply, error: type[Exception]) -> None:
    async with opened(EMBEDDINGS_PATH, reply) as (backend, _):
        with pytest.raises(error):
            await backend.embed("m", ["a"], total_s=10)


async def test_a_silent_server_is_given_up() -> None:
    async with opened(EMBEDDINGS_PATH, Reply(before=Gate())) as (backend, _):
        with pytest.raises(EndpointTimeout):
            await backend.embed("m", ["a"], total_s=0.2)


@pytest.mark.parametrize("name", ["llamacpp", "lmstudio", "openai"])
async def test_every_backend_of_this_dialect_has_the_extras(name: str) -> None:
    backend = EntryPointBackends().open(Endpoint("e", "e", "http://127.0.0.1:9", name))
    assert isinstance(backend, Embeds)
    assert isinstance(backend, Reranks)
    assert isinstance(backend, Sees)
    await backend.aclose()
