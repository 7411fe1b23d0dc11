"""Any server with OpenAI's ``/v1/models`` and ``/v1/chat/completions``: vLLM, LM Studio, gateways, hosted APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmbench_mcp.backends.client import HttpClient
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
from llmbench_mcp.backends.probe import GENERIC, NO, Probe
from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident, ServerInfo
from llmbench_mcp.domain.errors import EndpointError, IncompatibleError

_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")


class OpenAIBackend(OpenAIExtras):
    """Knows the common API only: it lists and asks, and neither loads nor unloads."""

    def __init__(self, endpoint: Endpoint, client: HttpClient) -> None:
        self.endpoint = endpoint
        self._client = client

    @classmethod
    async def recognise(cls, probe: Probe) -> int:
        """GENERIC for any valid model list."""
        answer = await probe.get(MODELS_PATH)
        return GENERIC if answer.status == 200 and model_entries(answer.json()) is not None else NO

    async def inspect(self) -> ServerInfo:
        """Check the model list and find a version where the server is known to tell one."""
        entries = await fetch_models(self._client)
        version = await self._vllm_version() if any(e.get("owned_by") == "vllm" for e in entries) else None
        notes = () if entries else ("The server lists no models.",)
        return ServerInfo(backend="openai", version=version, notes=notes)

    async def list_models(self) -> Sequence[OfferedModel]:
        """The models listed; all but the name is usually unknown."""
        entries, payload = await fetch_list(self._client)
        return warned([_offered(entry) for entry in entries], left_out(payload))

    async def residents(self) -> Sequence[Resident] | None:
        """None: the API has no word for it."""
        return None

    async def load(self, served_name: str, context_length: int | None = None) -> None:
        """Nothing to do: such servers load on the first request, if at all."""

    async def unload(self, resident: Resident) -> None:
        """Raises IncompatibleError: the API has no word for it."""
        raise IncompatibleError(
            f"{self._client.address.base} cannot unload a model on request.", "Stop the server to free its memory."
        )

    async def chat(self, request: ChatRequest, *, total_s: float, stall_s: float) -> Completion:
        """Ask once, streaming. ``stall_s`` limits the silence before the first byte too."""
        return await ask(self._client, chat_body(request), Patience(total_s, stall_s, request.watch))

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _vllm_version(self) -> str | None:
        try:
            version = (await self._client.get_json("/version")).get("version")
        except EndpointError:
            return None
        return self._client.clean(version, 80) if isinstance(version, str) else None


def _offered(entry: Mapping[str, Any]) -> OfferedModel:
    lengths = (entry.get(name) for name in _CONTEXT_FIELDS)
    context = next((n for n in lengths if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
    return OfferedModel(served_name=entry["id"], context_length=context)
