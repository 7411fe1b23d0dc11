from __future__ import annotations

from llmbench_mcp.backends.llamacpp import LlamaCppBackend
from llmbench_mcp.backends.openai import OpenAIBackend
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.backend_contract import BackendContract
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_server import FakeServer, Script
from tests.backends.support import client, endpoint


class TestOpenAI(BackendContract):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeServer(["m"], script)

    def backend(self, server: FakeServer) -> Backend:
        return OpenAIBackend(endpoint(server.url), client(server.url))


class TestLlamaCpp(BackendContract):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeLlama("m", script)

    def backend(self, server: FakeServer) -> Backend:
        return LlamaCppBackend(endpoint(server.url, "llamacpp"), client(server.url))


class TestLlamaCppRouter(TestLlamaCpp):
    def server(self, script: Script | None = None) -> FakeServer:
        router = FakeRouter(["m"])
        router.script = script
        router.states["m"] = "loaded"
        return router
