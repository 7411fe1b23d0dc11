from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmbench_mcp.backends.ollama import OllamaBackend
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.backend_contract import MODEL, BackendContract
from llmbench_mcp.testing.fake_ollama import CHAT, FakeOllama
from llmbench_mcp.testing.fake_ollama_wire import chat_reply, line, ndjson, piece, refusal
from llmbench_mcp.testing.fake_server import FakeServer, Script
from llmbench_mcp.testing.replies import Reply, Step
from llmbench_mcp.testing.simulated_gpu import SimulatedGpu
from tests.backends.support import client, endpoint


class TestOllama(BackendContract):
    chat_path = CHAT

    def server(self, script: Script | None = None) -> FakeServer:
        return FakeOllama(["m"], script, gpu=SimulatedGpu())

    def backend(self, server: FakeServer) -> Backend:
        return OllamaBackend(endpoint(server.url, "ollama"), client(server.url))

    def text(self, text: str, *, reasoning: str = "", model: str = MODEL) -> Reply:
        return chat_reply(text, thinking=reasoning, model=model)

    def part(self, text: str, then: Step) -> Reply:
        return ndjson([piece(text), then])

    def nothing(self) -> Reply:
        return ndjson([line({"model": MODEL, "done": True, "done_reason": "stop"})])

    def refusal(self, status: int, message: str, **headers: str) -> Reply:
        return refusal(status, message, **headers)

    def sampling_sent(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        options = dict(body["options"])
        return options | {"max_tokens": options.pop("num_predict")}


class TestOllamaWithoutGpu(TestOllama):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeOllama(["m"], script)


class TestOllamaThatUnloadsSlowly(TestOllama):
    def server(self, script: Script | None = None) -> FakeServer:
        server = FakeOllama(["m"], script, gpu=SimulatedGpu())
        server.timings.unload_s = 0.05
        return server
