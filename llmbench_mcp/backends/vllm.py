"""vLLM: one model per process, LoRA adapters on it, and memory that comes back only in sleep mode.

Formats: ``/v1/models`` with ``root``, ``parent`` and ``max_model_len``; ``/version``; in development mode
(``VLLM_SERVER_DEV_MODE=1``) ``/is_sleeping``, ``/sleep?level=``, ``/wake_up`` and ``/collective_rpc``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.backends.client import HttpClient
from llmbench_mcp.backends.identity import Identity
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
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
)
from llmbench_mcp.domain.text import nearest, one_line

POLL_S = 0.25
WAKE_S = 600.0
ORDER_S = 120.0
"""Putting to sleep copies the weights to the processor's memory."""
_ABSENT = (401, 403, 404, 405, 501)


class VllmBackend(OpenAIExtras):
    """Lists and asks over the OpenAI API; frees the device by sleep mode where the server was started with it.

    ``sleep_level`` 1 keeps the weights in the processor's memory; a subclass may say 2, which drops them and
    reads them from disk again at waking.
    """

    sleep_level = 1

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client
        self._identity = Identity(client, self._names)

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """SURE by the owner that vLLM writes into its model list."""
        answer = await probe.get(MODELS_PATH)
        return SURE if answer.status == 200 and _is_vllm(model_entries(answer.json()) or []) else NO

    async def inspect(self) -> ServerInfo:
        """Version, and whether sleep mode gives the memory back."""
        entries = await fetch_models(self._client)
        if entries and not _is_vllm(entries):
            raise ProtocolError(
                f"{self._client.address.base} is not vLLM.", "Add the endpoint again to detect its kind."
            )
        sleeping = await self._is_sleeping()
        able = sleeping is not None
        notes = [_SLEEP_MODE if able else _NO_SLEEP_MODE, *_notes(entries)]
        if sleeping:
            notes.append("It is asleep now.")
        return ServerInfo("vllm", await self._version(), can_load=able, can_unload=able, notes=tuple(notes))

    async def list_models(self) -> Sequence[OfferedModel]:
        """The model under each of its names, and the LoRA adapters on it."""
        entries, payload = await fetch_list(self._client)
        by_name = {entry["id"]: entry for entry in entries}
        return warned([_offered(entry, by_name) for entry in entries], left_out(payload))

    async def residents(self) -> Sequence[Resident] | None:
        """All names while it is awake, none while it sleeps. The server never tells memory."""
        if await self._is_sleeping():
            return []
        return [Resident(entry["id"], context_length=_length(entry)) for entry in await fetch_models(self._client)]

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Wake the server where it sleeps and wait until it answers; nothing to do otherwise.

        Raises:
            ModelNotAvailable: the server does not list it.
            EndpointTimeout: not awake within WAKE_S.
        """
        await self._check_listed(served_name)
        if await self._is_sleeping():
            await self._wake()

    async def unload(self, resident: Resident) -> None:
        """Put the whole server to sleep, every name and adapter of it; asleep already is no error.

        Raises:
            IncompatibleError: the server was started without sleep mode.
            ModelNotAvailable: the server does not list the model.
        """
        await self._check_listed(resident.served_name)
        sleeping = await self._is_sleeping()
        if sleeping is None:
            raise IncompatibleError(
                f"{self._client.address.base} holds its model for its lifetime and cannot unload it.",
                "Stop the server, or start it with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1.",
            )
        if not sleeping:
            await self._order(f"/sleep?level={self.sleep_level}")

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming; the answer must be the asked model's, under any of its names.

        ``stall_s`` limits the silence before the first byte too.
        """
        completion = await ask(self._client, chat_body(request), Patience(total_s, stall_s, request.watch))
        await self._identity.check(request.model, completion.model)
        return completion

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _is_sleeping(self) -> bool | None:
        """None where the server was started without sleep mode."""
        answer = await self._client.request("GET", "/is_sleeping")
        if answer.status in _ABSENT:
            return None
        said = self._client.accept(answer).get("is_sleeping")
        return said if isinstance(said, bool) else None

    async def _wake(self) -> None:
        if self.sleep_level == 2:
            await self._order("/wake_up?tags=weights")
            await self._order("/collective_rpc", {"method": "reload_weights"}, WAKE_S)
            await self._order("/wake_up?tags=kv_cache")
        else:
            await self._order("/wake_up", total_s=WAKE_S)
        clock = self._client.clock
        until = clock.monotonic() + WAKE_S
        while await self._is_sleeping() or (await self._client.request("GET", "/health")).status == 503:
            if clock.monotonic() >= until:
                raise EndpointTimeout(
                    f"{self._client.address.base} did not wake up within {WAKE_S:g} s.", "Look at the server's log."
                )
            await clock.sleep(POLL_S)

    async def _order(self, path: str, body: Mapping[str, Any] | None = None, total_s: float = ORDER_S) -> None:
        """POST an order; a good answer has an empty body, perhaps before it is carried out."""
        answer = await self._client.request("POST", path, body, total_s)
        if answer.status >= 300:
            raise self._client.refusal(answer)

    async def _version(self) -> str | None:
        try:
            version = (await self._client.get_json("/version")).get("version")
        except EndpointError:
            return None
        return self._client.clean(version, 80) if isinstance(version, str) else None

    async def _check_listed(self, served_name: str) -> None:
        names = [entry["id"] for entry in await fetch_models(self._client)]
        if served_name not in names:
            close = ", ".join(one_line(name, 80) for name in nearest(served_name, names))
            raise ModelNotAvailable(
                f"{self._client.address.base} does not offer '{one_line(served_name, 80)}'.",
                f"It offers: {close}." if close else "It offers no model.",
            )

    async def _names(self) -> list[frozenset[str]]:
        """The base model answers under the first of its names, whichever was asked; each adapter under its own."""
        entries = await fetch_models(self._client)
        base = frozenset(entry["id"] for entry in entries if _parent(entry) is None)
        return [base, *(frozenset({entry["id"]}) for entry in entries if _parent(entry) is not None)]


_SLEEP_MODE = "Unloading puts the whole server to sleep (sleep mode); the weights wait in the processor's memory."
_NO_SLEEP_MODE = (
    "Holds its model and its share of the device for the server's lifetime; --enable-sleep-mode and"
    " VLLM_SERVER_DEV_MODE=1 let it be put to sleep."
)


def _is_vllm(entries: Sequence[Mapping[str, Any]]) -> bool:
    return any(entry.get("owned_by") == "vllm" for entry in entries)


def _notes(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    adapters = [f"{one_line(e['id'], 60)} on {one_line(parent, 60)}" for e in entries if (parent := _parent(e))]
    return [f"LoRA adapters: {', '.join(adapters[:10])}."] if adapters else []


def _offered(entry: Mapping[str, Any], by_name: Mapping[str, Mapping[str, Any]]) -> OfferedModel:
    parent = _parent(entry)
    base = by_name.get(parent or "", entry)
    model = OfferedModel(entry["id"], context_length=_length(entry) or _length(base), adapter_of=parent)
    roots = [root for root in (base.get("root"),) if isinstance(root, str) and root]
    return completed(model, entry["id"], *roots)


def _parent(entry: Mapping[str, Any]) -> str | None:
    parent = entry.get("parent")
    return parent if isinstance(parent, str) and parent else None


def _length(entry: Mapping[str, Any]) -> int | None:
    value = entry.get("max_model_len")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
