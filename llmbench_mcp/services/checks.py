"""Small questions that show whether a model does what it is for: each bounded, retried by the usual rules."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

import anyio

from llmbench_mcp.domain.capability import Kind, refused_capability
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling
from llmbench_mcp.domain.errors import EndpointError, EndpointTimeout, IncompatibleError
from llmbench_mcp.domain.model import ToolCalling
from llmbench_mcp.domain.ports import Backend, Clock, Embeds, Reranks, Sees
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.engine.attempt import fault_of
from llmbench_mcp.engine.retry import wait_before_retry
from llmbench_mcp.services.picture import COLOURS, solid_png

T = TypeVar("T")

Outcome = Literal["ok", "cannot", "failed", "unknown"]
CheckName = Literal["chat", "embedding", "rerank", "vision", "tools", "stability"]

REPEATS = 3
_TOKENS = 512
"""Enough for a reasoning model to come to a one-word answer, mostly."""
_TEXTS = ("The sky is blue.", "Bread is baked in an oven.")
_QUERY = "How is bread made?"
_TOOL_NAME = "get_weather"
_TOOL = {
    "type": "function",
    "function": {
        "name": _TOOL_NAME,
        "description": "Current weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_TOLD: dict[str, str] = {
    "text": "the call came back as text: the server does not read this model's calls (look for its tool-call parser)",
    "none": "no call came back: the server drops tools, or the model does not use them",
}
_REFUSED = re.compile(r"\(HTTP 4\d\d\)|\bnot support", re.I)
"""llama.cpp refuses pictures with 500 and these words."""
_SEEN = ("red", "blue")


@dataclass(frozen=True, slots=True)
class Check:
    """How one check went. ``retries`` counts how often it had to ask again; ``seconds`` include the waits.

    ``cannot``: the server says that the model has no such capability. ``unknown``: nothing was learnt.
    """

    name: CheckName
    outcome: Outcome
    message: str = ""
    error: EndpointError | None = None
    retries: int = 0
    seconds: float = 0.0
    tools: ToolCalling = "unknown"


class Checker:
    """Checks one model on one open backend. Raises nothing about the server: it is all in the Check.

    ``limit_s`` bounds each single request.
    """

    def __init__(self, backend: Backend, served_name: str, clock: Clock, limit_s: float) -> None:
        self._backend = backend
        self._model = served_name
        self._clock = clock
        self._limit_s = limit_s

    async def main(self, kind: Kind) -> Check:
        """Whether the model does what it mainly is for."""
        if kind == "embedding":
            return await self._embedding()
        return await (self._rerank() if kind == "rerank" else self._chat())

    async def asked(self, name: CheckName, ask: Callable[[], Awaitable[T]]) -> tuple[Check, T | None]:
        """Ask, again where the retry rules say so; the answer is None when the Check is not ok."""
        started, retries = self._clock.monotonic(), 0
        while True:
            answer, error = await self._once(ask)
            wait = None if error is None or _is_final(error, name) else wait_before_retry(error, retries)
            if wait is None:
                break
            await self._clock.sleep(wait)
            retries += 1
        seconds = round(self._clock.monotonic() - started, 3)
        return _check_of(name, error, (retries, seconds)), answer

    async def stability(self, kind: Kind) -> Check:
        """Three more times: ok when all answered; what was asked again is counted."""
        checks = [await self.main(kind) for _ in range(REPEATS)]
        bad = [check for check in checks if check.outcome != "ok"]
        retries, seconds = sum(check.retries for check in checks), sum(check.seconds for check in checks)
        told = f"{REPEATS - len(bad)} of {REPEATS} answered"
        told += f", asked again {retries} times" if retries else ""
        told += f"; {bad[0].message}" if bad else ""
        return Check("stability", "failed" if bad else "ok", told, bad[0].error if bad else None, retries, seconds)

    async def vision(self) -> Check:
        """Two plain pictures: ok when both colours are named; ``unknown`` when not, for that proves little."""
        backend, named = self._backend, 0
        if not isinstance(backend, Sees):
            return self._no_way("vision")
        request = self._request("What colour is this picture? Reply with one word.")
        check = Check("vision", "unknown")
        for colour in _SEEN:
            ask = partial(backend.chat_about, request, solid_png(COLOURS[colour]), **self._limits)
            check, done = await self.asked("vision", ask)
            if done is None:
                return check
            named += bool(re.search(rf"\b{colour}\b", done.text, re.I))
        if named == len(_SEEN):
            return check
        return replace(check, outcome="unknown", message=f"named {named} of {len(_SEEN)} colours of plain pictures")

    async def tools(self) -> Check:
        """Whether a call comes back as a call when a tool is given; not how well the model uses tools."""
        seen: ToolCalling = "none"
        check = Check("tools", "unknown")
        for city in ("Paris", "Oslo"):
            request = replace(self._request(f"What is the weather in {city} now? Use the tool."), tools=(_TOOL,))
            check, done = await self.asked("tools", partial(self._backend.chat, request, **self._limits))
            if done is None:
                return replace(check, tools="none" if check.outcome == "cannot" else "unknown")
            if any(call.name == _TOOL_NAME for call in done.tool_calls):
                return replace(check, tools="native", message="calls come back as calls")
            seen = "text" if seen == "text" or _TOOL_NAME in done.text else "none"
        return replace(check, tools=seen, message=_TOLD[seen])

    async def _chat(self) -> Check:
        request = self._request("Reply with one word: ready")
        check, done = await self.asked("chat", partial(self._backend.chat, request, **self._limits))
        if done is None or done.text.strip() or done.reasoning.strip() or done.tool_calls:
            return check
        return replace(check, outcome="failed", message=f"answered without text (finish reason: {done.finish_reason})")

    async def _embedding(self) -> Check:
        backend = self._backend
        if not isinstance(backend, Embeds):
            return self._no_way("embedding")
        embed = partial(backend.embed, self._model, _TEXTS, total_s=self._limit_s)
        check, vectors = await self.asked("embedding", embed)
        if check.error is not None and "input_type" in check.error.what:
            check, vectors = await self.asked("embedding", partial(embed, input_type="query"))
        if vectors is None or len({tuple(vector) for vector in vectors}) == len(_TEXTS):
            return check
        return replace(check, outcome="failed", message="two different texts got the same vector")

    async def _rerank(self) -> Check:
        backend = self._backend
        if not isinstance(backend, Reranks):
            return self._no_way("rerank")
        check, scores = await self.asked(
            "rerank", partial(backend.rerank, self._model, _QUERY, _TEXTS, total_s=self._limit_s)
        )
        if scores is None or scores[1] > scores[0]:
            return check
        return replace(check, message="ranked the wrong text first")

    @property
    def _limits(self) -> dict[str, float]:
        return {"total_s": self._limit_s, "stall_s": self._limit_s}

    def _request(self, prompt: str) -> ChatRequest:
        return ChatRequest(self._model, prompt, sampling=Sampling(max_tokens=_TOKENS))

    def _no_way(self, name: CheckName) -> Check:
        return Check(name, "unknown", f"the {self._backend.endpoint.backend} backend has no way to ask for this")

    async def _once(self, ask: Callable[[], Awaitable[T]]) -> tuple[T | None, EndpointError | None]:
        try:
            with anyio.fail_after(self._limit_s):
                answer = await ask()
        except EndpointError as error:
            return None, error
        except TimeoutError:
            where = self._backend.endpoint.url
            return None, EndpointTimeout(f"{where} gave no answer within {self._limit_s:g} s.", "See its log.")
        fault = fault_of(answer) if isinstance(answer, Completion) else None
        return (answer, None) if fault is None else (None, fault)


def _check_of(name: CheckName, error: EndpointError | None, cost: tuple[int, float]) -> Check:
    if error is None:
        return Check(name, "ok", "", None, *cost)
    outcome: Outcome = "cannot" if _names(error, name) else "failed"
    return Check(name, outcome, one_line(error.what, 300), error, *cost)


def _names(error: EndpointError, name: str) -> bool:
    """Whether the server refused because of the capability itself."""
    refused = isinstance(error, IncompatibleError) or _REFUSED.search(error.what) is not None
    return refused and refused_capability(error.what, name)


def _is_final(error: EndpointError, name: str) -> bool:
    """Whether asking the same again is needless; a probe does not wait twice for what was silent once."""
    return isinstance(error, EndpointTimeout) or _names(error, name) or "input_type" in error.what
