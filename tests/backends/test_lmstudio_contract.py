from __future__ import annotations

from llmbench_mcp.backends.lmstudio import LMStudioBackend
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.backend_contract import BackendContract
from llmbench_mcp.testing.fake_lmstudio import FakeLMStudio
from llmbench_mcp.testing.fake_server import FakeServer, Script
from tests.backends.support import client, endpoint


class TestLMStudio(BackendContract):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeLMStudio(["m"], script)

    def backend(self, server: FakeServer) -> Backend:
        return LMStudioBackend(endpoint(server.url, "lmstudio"), client(server.url))


class TestLMStudioBeforeV1(TestLMStudio):
    def server(self, script: Script | None = None) -> FakeServer:
        return FakeLMStudio(["m"], script, native=False)
