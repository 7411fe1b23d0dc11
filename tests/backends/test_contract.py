from __future__ import annotations

from llmbench_mcp.backends.llamacpp import LlamaCppBackend
from llmbench_mcp.backends.llamaswap import LlamaSwapBackend
from llmbench_mcp.backends.openai import OpenAIBackend
from llmbench_mcp.backends.vllm import VllmBackend
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.backend_contract import BackendContract
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_llamaswap import FakeLlamaSwap, own_error
from llmbench_mcp.testing.fake_server import FakeServer, Script
from llmbench_mcp.testing.fake_vllm import FakeVllm
from llmbench_mcp.testing.replies import Reply, text_reply
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


class TestVllm(BackendContract):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeVllm(["m"], script)

    def backend(self, server: FakeServer) -> Backend:
        return VllmBackend(endpoint(server.url, "vllm"), client(server.url))

    def text(self, text: str, *, reasoning: str = "", model: str = "m") -> Reply:
        return text_reply(text, reasoning=reasoning, model=model, field="reasoning")


class TestVllmWithSleepMode(TestVllm):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeVllm(["m"], script, sleep_mode=True)


class TestLlamaSwap(BackendContract):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeLlamaSwap(["m"], script)

    def backend(self, server: FakeServer) -> Backend:
        return LlamaSwapBackend(endpoint(server.url, "llamaswap"), client(server.url))

    def refusal(self, status: int, message: str, **headers: str) -> Reply:
        return own_error(status, message, **headers)

    def impostor(self, server: FakeServer) -> Reply:
        assert isinstance(server, FakeLlamaSwap)
        server.kill("m")
        return super().impostor(server)
