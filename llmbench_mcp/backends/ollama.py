"""Ollama: models pulled to disk, loaded as asked for, thrown out when idle or when another needs the room."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from llmbench_mcp.backends.client import Answer, HttpClient
from llmbench_mcp.backends.names import completed
from llmbench_mcp.backends.ollama_chat import ask, chat_body
from llmbench_mcp.backends.ollama_facts import (
    capabilities,
    entries_in,
    is_remote,
    left_out,
    looks_like_ollama,
    name_of,
    offered,
    resident,
)
from llmbench_mcp.backends.openai_wire import MODELS_PATH, Patience
from llmbench_mcp.backends.probe import GENERIC, NO, SURE, Probe
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, ModelList, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import (
    AuthError,
    DoesNotFit,
    EndpointError,
    EndpointTimeout,
    ModelNotAvailable,
    ProtocolError,
    UnreachableError,
)
from llmbench_mcp.domain.text import one_line

KEEP_S = 24 * 3600
"""For so long a model stays loaded after its last request: beyond any pause of a run, and not for ever when this
program dies."""
LOAD_S = 600.0
SETTLE_S = 5.0
POLL_S = 0.25
SHOW_S = 10.0
SHOWN_AT_ONCE = 4
_LOOK_S = 5.0

_NO_ROOM = re.compile(
    r"out of memory|cudamalloc failed|failed to allocate|unable to allocate|(not enough|insufficient) (system )?memory"
    r"|requires more (system )?memory",
    re.I,
)
_VERSION, _TAGS, _PS, _SHOW = "/api/version", "/api/tags", "/api/ps", "/api/show"
_GENERATE, _EMBED = "/api/generate", "/api/embed"


class OllamaBackend:
    """Speaks Ollama's own API."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._contexts: dict[str, int | None] = {}
        self._kept: set[str] = set()

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """SURE by the words of its front page; GENERIC for its API without it. Never for llama.cpp's look-alikes."""
        if (await probe.get(MODELS_PATH)).headers.get("server", "").lower().startswith("llama.cpp"):
            return NO
        front = await _tried(probe, "/")
        if front and front.status == 200 and front.body[:200].strip().lower() == b"ollama is running":
            return SURE
        tags = await _tried(probe, _TAGS)
        entries = entries_in(tags.json()) if tags and tags.status == 200 else None
        if entries is None:
            return NO
        version = await _tried(probe, _VERSION)
        return GENERIC if looks_like_ollama(entries) or (version and _version_in(version)) else NO

    async def inspect(self) -> ServerInfo:
        """Its version; Ollama can always load and unload."""
        version = _version_in(await self._accepted(_VERSION))
        if version is None:
            entries, _ = await self._listed(_TAGS)
            if not looks_like_ollama(entries):
                raise ProtocolError(
                    f"{self._client.address.base} is not Ollama.", "Add the endpoint again to detect its kind."
                )
        cleaned = self._client.clean(version, 80) if version else None
        return ServerInfo("ollama", cleaned, can_load=True, can_unload=True)

    async def list_models(self) -> Sequence[OfferedModel]:
        """Every model pulled, with what ``/api/show`` says of it; models that run elsewhere are marked remote."""
        entries, payload = await self._listed(_TAGS)
        shown: dict[str, dict[str, Any] | EndpointError] = {}
        limiter = anyio.CapacityLimiter(SHOWN_AT_ONCE)
        async with anyio.create_task_group() as group:
            for entry in entries:
                group.start_soon(self._show_into, shown, name_of(entry), limiter)
        for gone in shown.values():
            if isinstance(gone, UnreachableError | AuthError):
                raise gone
        models = [completed(_described(entry, shown[name_of(entry)])) for entry in entries]
        return ModelList(models, (*left_out(payload), *_unserved(shown)))

    async def residents(self) -> Sequence[Resident] | None:
        """What is in memory, loading and leaving models included; None from versions that do not tell."""
        answer = await self._client.request("GET", _PS)
        if answer.status == 404:
            return None
        entries = entries_in(self._client.accept(answer))
        if entries is None:
            raise self._no_list(_PS)
        return [resident(entry) for entry in entries]

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Load and wait until loaded, to stay for KEEP_S seconds after its last use; remote models are never loaded.

        Without ``context_length`` a model that is loaded keeps the context in force, and another gets the server's
        default.

        Raises:
            ModelNotAvailable: it was never pulled.
            DoesNotFit: the server says that its memory does not suffice.
            EndpointTimeout: not loaded within LOAD_S.
        """
        shown = await self._show(served_name)
        if is_remote(shown):
            return
        context = context_length or await self._context_in_force(served_name)
        body: dict[str, Any] = {"model": served_name, "keep_alive": KEEP_S, "stream": False}
        body |= {"options": {"num_ctx": context}} if context else {}
        words = capabilities(shown)
        embeds = bool(words) and "chat" not in words
        try:
            await self._post(*((_EMBED, body | {"input": []}) if embeds else (_GENERATE, body)), LOAD_S)
        except EndpointError as refusal:
            raise _why_not(refusal) from refusal
        self._kept.add(served_name)
        self._contexts[served_name] = await self._wait_until_listed(served_name) or context

    async def unload(self, resident: Resident) -> None:
        """Order one model out. Ollama answers before it has left, and waits for requests under way."""
        self._kept.discard(resident.served_name)
        self._contexts.pop(resident.served_name, None)
        body = {"model": resident.served_name, "keep_alive": 0, "stream": False}
        await self._post(_GENERATE, body, 30.0)

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming, with the context in force; a prompt beyond it is refused, not cut.

        ``stall_s`` limits the silence before the first byte too, a load included.
        """
        return await ask(self._client, await self._body(request), Patience(total_s, stall_s, request.watch))

    async def chat_about(self, request: ChatRequest, png: bytes, *, total_s: float, stall_s: float) -> Completion:
        """Ask about a picture, streaming."""
        body = await self._body(request)
        body["messages"][-1]["images"] = [base64.b64encode(png).decode("ascii")]
        return await ask(self._client, body, Patience(total_s, stall_s, request.watch))

    async def embed(
        self, model: str, texts: Sequence[str], *, total_s: float, input_type: str | None = None
    ) -> Sequence[Sequence[float]]:
        """One vector for each text; Ollama knows no ``input_type``. Raises ProtocolError for an answer without."""
        payload = await self._post(_EMBED, {"model": model, "input": list(texts)}, total_s)
        vectors = payload.get("embeddings")
        if not isinstance(vectors, list) or len(vectors) != len(texts) or not all(map(_is_vector, vectors)):
            raise ProtocolError(f"{self._client.address.base} answered {_EMBED} without usable vectors.")
        return [[float(number) for number in vector] for vector in vectors]

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _body(self, request: ChatRequest) -> dict[str, Any]:
        name = request.model
        if name not in self._contexts:
            self._contexts[name] = await self._context_in_force(name)
        return chat_body(request, self._contexts[name], KEEP_S if name in self._kept else None)

    async def _context_in_force(self, name: str) -> int | None:
        """The context of a model somebody loaded; asking without it would make Ollama load the model anew."""
        try:
            answer = await self._client.request("GET", _PS, total_s=_LOOK_S)
        except EndpointError:
            return None  # the chat itself will tell what is wrong
        found = [resident(entry) for entry in entries_in(answer.json()) or []]
        return next((held.context_length for held in found if _same(held.served_name, name)), None)

    async def _wait_until_listed(self, name: str) -> int | None:
        """Wait a little until the model is listed; gives the context in force. The proof is the caller's business."""
        clock = self._client.clock
        deadline = clock.monotonic() + SETTLE_S
        while (found := await self.residents()) is not None:
            for held in found:
                if _same(held.served_name, name):
                    return held.context_length
            if clock.monotonic() >= deadline:
                break
            await clock.sleep(POLL_S)
        return None

    async def _listed(self, path: str) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
        payload = await self._client.get_json(path)
        entries = entries_in(payload)
        if entries is None:
            raise self._no_list(path)
        return entries, payload

    def _no_list(self, path: str) -> ProtocolError:
        return ProtocolError(
            f"{self._client.address.base} answered {path} with JSON that lists no models.",
            "Check that the address is an Ollama server.",
        )

    async def _accepted(self, path: str) -> Answer:
        """An answer that is good, or that says the path is not there."""
        answer = await self._client.request("GET", path)
        if answer.status != 404:
            self._client.accept(answer)
        return answer

    async def _show_into(
        self, shown: dict[str, dict[str, Any] | EndpointError], name: str, limiter: anyio.CapacityLimiter
    ) -> None:
        async with limiter:
            try:
                shown[name] = await self._post(_SHOW, {"model": name}, SHOW_S)
            except EndpointError as error:
                shown[name] = error

    async def _show(self, name: str) -> dict[str, Any]:
        """What the server says of one model; nothing where it has no such path."""
        try:
            return await self._post(_SHOW, {"model": name}, SHOW_S)
        except ProtocolError:
            return {}

    async def _post(self, path: str, body: Mapping[str, Any], total_s: float) -> dict[str, Any]:
        return self._client.accept(await self._client.request("POST", path, body, total_s))


async def _tried(probe: Probe, path: str) -> Answer | None:
    """The answer; None where another kind of server makes nothing of the path, or takes for ever."""
    try:
        return await probe.get(path)
    except (EndpointTimeout, ProtocolError):
        return None


def _version_in(answer: Answer) -> str | None:
    payload = answer.json() if answer.status == 200 else None
    version = payload.get("version") if isinstance(payload, dict) else None
    return version if isinstance(version, str) and version.strip() else None


def _described(entry: Mapping[str, Any], shown: dict[str, Any] | EndpointError) -> OfferedModel:
    if not isinstance(shown, EndpointError):
        return offered(entry, shown)
    model = offered(entry, {})
    if isinstance(shown, ProtocolError):
        return model
    remark = f"{one_line(model.served_name, 80)}: no details. {shown.what}"
    return replace(model, warnings=(*model.warnings, remark))


def _unserved(shown: Mapping[str, dict[str, Any] | EndpointError]) -> tuple[str, ...]:
    """One remark for a server without details, instead of one for each model."""
    missing = next((found for found in shown.values() if isinstance(found, ProtocolError)), None)
    return (f"Context lengths and capabilities are unknown. {missing.what}",) if missing else ()


def _why_not(refusal: EndpointError) -> EndpointError:
    if isinstance(refusal, ModelNotAvailable) or not _NO_ROOM.search(refusal.what):
        return refusal
    return DoesNotFit(
        refusal.what, "Free memory on its device, choose a smaller model, or load it with a shorter context."
    )


def _same(listed: str, asked: str) -> bool:
    """Ollama lists names with their tag; a name without one means ``:latest``."""
    return listed in (asked, f"{asked}:latest")


def _is_vector(vector: Any) -> bool:
    numbers = vector if isinstance(vector, list) else []
    return bool(numbers) and all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
