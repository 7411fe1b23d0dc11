"""What OpenAI-compatible servers offer beside text chat: embeddings, rankings, questions about a picture.

Formats: OpenAI's ``POST /v1/embeddings`` and image parts of chat messages; for rankings the ``POST /v1/rerank`` that
llama.cpp, vLLM and the hosted rerankers share: ``{"results": [{"index": n, "relevance_score": x}]}``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.openai_wire import Patience, ask, chat_body
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import ProtocolError

EMBEDDINGS_PATH = "/v1/embeddings"
RERANK_PATH = "/v1/rerank"


class OpenAIExtras:
    """To be inherited by backends whose server speaks this part of the API; see the ports Embeds, Reranks and Sees."""

    _client: HttpClient

    async def embed(
        self, model: str, texts: Sequence[str], *, total_s: float, input_type: str | None = None
    ) -> Sequence[Sequence[float]]:
        """One vector for each text. Raises ProtocolError for an answer without them, else EndpointError."""
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        if input_type is not None:
            body["input_type"] = input_type
        payload = await self._post(EMBEDDINGS_PATH, body, total_s)
        vectors = [_numbers(entry.get("embedding")) for entry in _in_order(payload.get("data"), len(texts))]
        if len(vectors) != len(texts) or not all(vectors):
            raise ProtocolError(f"{self._client.address.base} answered {EMBEDDINGS_PATH} without usable vectors.")
        return vectors

    async def rerank(self, model: str, query: str, documents: Sequence[str], *, total_s: float) -> Sequence[float]:
        """A score for each document. Raises ProtocolError for an answer without them, else EndpointError."""
        body = {"model": model, "query": query, "documents": list(documents), "top_n": len(documents)}
        payload = await self._post(RERANK_PATH, body, total_s)
        found = payload.get("results")
        results = _in_order(found if found is not None else payload.get("data"), len(documents))
        scores = _numbers([entry.get("relevance_score", entry.get("score")) for entry in results])
        if len(scores) != len(documents):
            raise ProtocolError(f"{self._client.address.base} answered {RERANK_PATH} without usable scores.")
        return scores

    async def chat_about(self, request: ChatRequest, png: bytes, *, total_s: float, stall_s: float) -> Completion:
        """Ask about a picture, streaming; errors as for any chat."""
        body = chat_body(request)
        url = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
        parts = [{"type": "text", "text": request.prompt}, {"type": "image_url", "image_url": {"url": url}}]
        body["messages"][-1] = {"role": "user", "content": parts}
        return await ask(self._client, body, Patience(total_s, stall_s, request.watch))

    async def _post(self, path: str, body: Mapping[str, Any], total_s: float) -> dict[str, Any]:
        return self._client.accept(await self._client.request("POST", path, body, total_s))


def _in_order(entries: Any, count: int) -> list[Mapping[str, Any]]:
    """The entries by their ``index``; nothing unless each place from 0 to ``count`` has one."""
    listed = entries if isinstance(entries, list) else []
    by_index = {_index(entry, place): entry for place, entry in enumerate(listed) if isinstance(entry, Mapping)}
    return [by_index[place] for place in range(count)] if set(by_index) == set(range(count)) else []


def _index(entry: Mapping[str, Any], place: int) -> int:
    index = entry.get("index", place)
    return index if isinstance(index, int) else -1


def _numbers(value: Any) -> list[float]:
    """The finite numbers of a list; nothing when anything else is in it."""
    items = value if isinstance(value, list) else []
    usable = all(isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in items)
    return [float(n) for n in items] if usable else []
