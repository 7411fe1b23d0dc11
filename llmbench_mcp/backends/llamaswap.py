"""llama-swap: a proxy that starts and stops one inference server per model, on demand.

Formats: ``/v1/models`` owned by ``llama-swap`` (models of its peers bear ``meta.llamaswap.peerID``); ``/running``
with ``state`` starting, ready or stopping; ``POST /api/models/unload/{model}``, ``GET /unload`` for all;
``/upstream/{model}/...`` reaches, and starts, a model's own server; errors of its own bear ``"src": "llama-swap"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from llmbench_mcp.backends.client import Answer, HttpClient, error_in
from llmbench_mcp.backends.names import completed
from llmbench_mcp.backends.openai_extras import OpenAIExtras
from llmbench_mcp.backends.openai_wire import (
    MODELS_PATH,
    Patience,
    ask,
    chat_body,
    fetch_list,
    fetch_models,
    left_out,
    model_entries,
    warned,
)
from llmbench_mcp.backends.probe import NO, SURE, Probe
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import (
    EndpointError,
    EndpointTimeout,
    IdentityError,
    ModelNotAvailable,
    ProtocolError,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.domain.text import is_text, nearest, one_line

RUNNING_PATH = "/running"
UNLOAD_PATH = "/api/models/unload"
POLL_S = 0.25
LOAD_S = 600.0
SETTLE_S = 5.0
"""For so long after a start the list may still lack the model."""
UNLOAD_S = 60.0


class LlamaSwapBackend(OpenAIExtras):
    """Lists, starts, stops and asks through the proxy; the servers behind it answer."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._same: set[tuple[str, str]] = set()
        self._on_llamacpp: set[str] = set()

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """SURE by the owner in the model list; where that is empty, by the list of what runs."""
        answer = await probe.get(MODELS_PATH)
        if answer.status != 200:
            return SURE if _is_its_error(answer) else NO
        entries = model_entries(answer.json())
        if entries:
            return SURE if _is_llamaswap(entries) else NO
        return SURE if entries == [] and _running(await probe.get(RUNNING_PATH)) is not None else NO

    async def inspect(self) -> ServerInfo:
        """Version and abilities."""
        entries = await fetch_models(self._client)
        if entries and not _is_llamaswap(entries):
            raise ProtocolError(
                f"{self._client.address.base} is not llama-swap.", "Add the endpoint again to detect its kind."
            )
        await self._states()
        notes = () if entries else ("The server lists no models.",)
        return ServerInfo("llamaswap", await self._version(), True, True, (*notes, _SWAPS))

    async def list_models(self) -> Sequence[OfferedModel]:
        """The models configured, its peers' among them; details are what their names tell."""
        entries, payload = await fetch_list(self._client)
        return warned([_offered(entry) for entry in entries], left_out(payload))

    async def residents(self) -> Sequence[Resident] | None:
        """The models whose servers run, those starting and stopping too. Memory is never told."""
        return [Resident(name) for name in await self._states()]

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Have the model's server started and wait until it is ready; a peer's model needs nothing.

        Others stop for it as the proxy's groups say.

        Raises:
            ModelNotAvailable: it is not listed.
            ServerFault: its server did not start.
            EndpointTimeout: not ready within LOAD_S.
        """
        entry = await self._entry(served_name)
        if _is_remote(entry) or (await self._states()).get(served_name) == "ready":
            return
        path = f"/upstream/{quote(served_name, safe='/')}/health"
        answer = await self._client.request("GET", path, total_s=LOAD_S)
        await self._wait_until_ready(served_name, answer)

    async def unload(self, resident: Resident) -> None:
        """Have that model's server stopped; one that does not run is no error.

        Raises:
            StillHeld: an old llama-swap that can only stop all, and others run too.
        """
        name, states = resident.served_name, await self._states()
        if name not in states:
            return
        path = f"{UNLOAD_PATH}/{quote(name, safe='/')}"
        answer = await self._client.request("POST", path, total_s=UNLOAD_S)
        if answer.status in (404, 405) and not _is_its_error(answer):
            await self._unload_all(name, states)
        elif answer.status >= 300:
            raise self._client.refusal(answer)

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming. The name in the answer is the model's own server's; who runs it tells who spoke.

        ``stall_s`` limits the silence before the first byte too: an unloaded model is started first. A model that
        was seen running on llama.cpp's server is asked without its prompt cache.
        """
        uncached = {"cache_prompt": False} if request.model in self._on_llamacpp else {}
        completion = await ask(self._client, chat_body(request) | uncached, Patience(total_s, stall_s, request.watch))
        if completion.model is not None:
            await self._check_identity(request.model, completion.model)
        return replace(completion, model=request.model if completion.model else None)

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _states(self) -> dict[str, str]:
        """The state of every model whose server is not stopped."""
        answer = await self._client.request("GET", RUNNING_PATH)
        self._client.accept(answer)
        running = _running(answer)
        self._on_llamacpp |= {row["model"] for row in _rows(answer) or () if "llama-server" in str(row.get("cmd"))}
        if running is None:
            raise ProtocolError(
                f"{self._client.address.base} answered {RUNNING_PATH} without a list of what runs.",
                "Check that the address is llama-swap's.",
            )
        return running

    async def _entry(self, served_name: str) -> Mapping[str, Any]:
        entries = await fetch_models(self._client)
        for entry in entries:
            if entry["id"] == served_name:
                return entry
        close = ", ".join(one_line(name, 80) for name in nearest(served_name, [e["id"] for e in entries]))
        raise ModelNotAvailable(
            f"{self._client.address.base} does not offer '{one_line(served_name, 80)}'.",
            f"It offers: {close}." if close else "It offers no model.",
        )

    async def _wait_until_ready(self, name: str, answer: Answer) -> None:
        """``answer`` is what came back through the proxy once it had started the model, or failed to."""
        clock = self._client.clock
        start = clock.monotonic()
        while (elapsed := clock.monotonic() - start) < LOAD_S:
            state = (await self._states()).get(name)
            if state == "ready":
                return
            if state is None and (_is_its_error(answer) or answer.status >= 500 or elapsed >= SETTLE_S):
                raise self._load_failure(name, answer)
            await clock.sleep(POLL_S)
        raise EndpointTimeout(
            f"{self._client.address.base} did not have '{one_line(name, 80)}' ready within {LOAD_S:g} s.",
            "Look at llama-swap's log.",
        )

    def _load_failure(self, name: str, answer: Answer) -> EndpointError:
        if answer.status in (401, 403, 429):
            return self._client.refusal(answer)
        error = error_in(answer.body) if answer.status >= 400 else None
        reason = f": {self._client.clean(error.message)}" if error else "."
        return ServerFault(
            f"{self._client.address.base} failed to load '{one_line(name, 80)}'{reason}", "Look at llama-swap's log."
        )

    async def _unload_all(self, name: str, states: Mapping[str, str]) -> None:
        """Before it could stop one model, llama-swap could stop all."""
        others = sorted(one_line(other, 80) for other in states if other != name)
        if others:
            raise StillHeld(
                f"{self._client.address.base} is an old llama-swap that stops all models or none, and"
                f" {', '.join(others[:5])} would stop with '{one_line(name, 80)}'.",
                "Update llama-swap, or stop them all by hand.",
            )
        answer = await self._client.request("GET", "/unload", total_s=UNLOAD_S)
        if answer.status >= 300:
            raise self._client.refusal(answer)

    async def _check_identity(self, asked: str, answered: str) -> None:
        if answered == asked or (asked, answered) in self._same:
            return
        states = await self._states()
        if asked not in states and not _is_remote(await self._entry(asked)):
            raise IdentityError(
                f"{self._client.address.base} answered as '{self._client.clean(answered, 80)}' and does not run"
                f" '{one_line(asked, 80)}'.",
                "See llama-swap's log: another request may have swapped the model out.",
            )
        self._same.add((asked, answered))

    async def _version(self) -> str | None:
        try:
            version = (await self._client.get_json("/api/version")).get("version")
        except EndpointError:
            return None
        return self._client.clean(version, 80) if isinstance(version, str) else None


_SWAPS = "Starts and stops models by itself: a request for one may stop another."


def _is_llamaswap(entries: Sequence[Mapping[str, Any]]) -> bool:
    return any(entry.get("owned_by") == "llama-swap" for entry in entries)


def _is_its_error(answer: Answer) -> bool:
    payload = answer.json() if answer.status >= 400 else None
    return isinstance(payload, Mapping) and payload.get("src") == "llama-swap"


def _rows(answer: Answer) -> list[Mapping[str, Any]] | None:
    payload = answer.json() if answer.status == 200 else None
    listed = payload.get("running") if isinstance(payload, Mapping) else None
    if not isinstance(listed, list):
        return None
    rows = [row for row in listed if isinstance(row, Mapping) and isinstance(row.get("model"), str)]
    return [row for row in rows if is_text(row["model"])]


def _running(answer: Answer) -> dict[str, str] | None:
    """States by model; None for an answer that is no such list."""
    rows = _rows(answer)
    if rows is None:
        return None
    states = {row["model"]: str(row.get("state") or "unknown") for row in rows}
    return {name: state for name, state in states.items() if state not in ("stopped", "shutdown")}


def _is_remote(entry: Mapping[str, Any]) -> bool:
    meta = entry.get("meta")
    own = meta.get("llamaswap") if isinstance(meta, Mapping) else None
    return isinstance(own, Mapping) and bool(own.get("peerID"))


def _offered(entry: Mapping[str, Any]) -> OfferedModel:
    length = entry.get("context_length")
    context = length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None
    return completed(OfferedModel(entry["id"], context_length=context, remote=_is_remote(entry)))
