"""A scripted inference server behind the Backend port, for tests of the engine and the services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio

from llmbench_mcp.domain.chat import ChatRequest, Completion, Timing, Usage
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import EndpointError, ModelNotAvailable, UnreachableError

Answer = Callable[[ChatRequest, int], Awaitable[Completion] | Completion]
"""From a request and how often that prompt was asked before, what the server does; may raise EndpointError."""

WARM_UP = "Hi"


def completion(text: str, **facts: object) -> Completion:
    """A plain finished answer with plausible figures."""
    usage = Usage(prompt_tokens=10, completion_tokens=20)
    timing = Timing(ttft_s=0.1, ttfat_s=0.1, e2e_s=0.5, itl_s=(0.02, 0.02), decode_tps=50.0)
    plain = Completion(text, finish_reason="stop", usage=usage, timing=timing)
    return Completion(**{**{name: getattr(plain, name) for name in plain.__slots__}, **facts})


@dataclass
class ScriptedServer:
    """State of one imagined server: what it offers, holds, and was asked."""

    models: list[OfferedModel]
    answer: Answer = lambda request, times: completion("ok")
    can_load: bool = False
    version: str = "1.0"
    up: bool = True
    unload_works: bool = True
    warm_up_error: EndpointError | None = None
    hangs_on_warm_up: set[str] = field(default_factory=set)
    warming: anyio.Event = field(default_factory=anyio.Event)
    loaded: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    loads: list[str] = field(default_factory=list)
    unloads: list[str] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)
    credentials: list[str | None] = field(default_factory=list)


class ScriptedBackend:
    """The Backend port onto a ScriptedServer."""

    def __init__(self, endpoint: Endpoint, server: ScriptedServer) -> None:
        self.endpoint = endpoint
        self._server = server

    def _check_up(self) -> None:
        if not self._server.up:
            raise UnreachableError(f"Nothing answers at {self.endpoint.url}.", "Start the server.", gone=True)

    async def inspect(self) -> ServerInfo:
        """Up or UnreachableError."""
        self._check_up()
        able = self._server.can_load
        return ServerInfo("scripted", self._server.version, can_load=able, can_unload=able)

    async def list_models(self) -> Sequence[OfferedModel]:
        """What the script offers."""
        self._check_up()
        return self._server.models

    async def residents(self) -> Sequence[Resident] | None:
        """What is loaded, or None for a server without loading."""
        self._check_up()
        return [Resident(name, name) for name in self._server.loaded] if self._server.can_load else None

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Loaded at once."""
        self._check_up()
        self._server.loads.append(served_name)
        self._server.loaded.append(served_name)

    async def unload(self, resident: Resident) -> None:
        """Unloaded at once, unless the script says that it never frees."""
        self._check_up()
        self._server.unloads.append(resident.served_name)
        if self._server.unload_works:
            self._server.loaded.remove(resident.served_name)

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """The script's answer; the warm-up is not counted."""
        self._check_up()
        if request.model not in [model.served_name for model in self._server.models]:
            raise ModelNotAvailable(f"There is no model {request.model!r}.")
        self._server.limits.append((total_s, stall_s))
        self._server.credentials.append(self.endpoint.credential_ref)
        if request.prompt == WARM_UP:
            await self._warm_up(request)
            return completion("Hello")
        times = self._server.asked[request.prompt]
        self._server.asked[request.prompt] += 1
        result = self._server.answer(request, times)
        return result if isinstance(result, Completion) else await result

    async def _warm_up(self, request: ChatRequest) -> None:
        if self._server.warm_up_error is not None:
            raise self._server.warm_up_error
        if request.model in self._server.hangs_on_warm_up:
            self._server.warming.set()
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        """Nothing to close."""


class ScriptedBackends:
    """BackendFactory over scripted servers by base URL."""

    def __init__(self, servers: dict[str, ScriptedServer]) -> None:
        self.servers = servers

    def open(self, endpoint: Endpoint) -> ScriptedBackend:
        """A backend; an address without a server behaves as one that is down."""
        return ScriptedBackend(endpoint, self.servers.get(endpoint.url, ScriptedServer([], up=False)))

    async def detect(self, url: str, credential_ref: str | None = None, by_agent: bool = False) -> ServerInfo:
        """As inspect."""
        return await self.open(Endpoint("trial", "trial", url, "scripted")).inspect()

    def names(self) -> Sequence[str]:
        """The one name."""
        return ("scripted",)
