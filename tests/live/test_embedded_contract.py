"""The contract of all backends, held by the llama.cpp backend against the real embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import pytest_asyncio

from llmbench_mcp.backends.embedded.launcher import embedded_server
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.server_contract import ServerContract
from tests.live.support import WEIGHTS, needs_model

pytestmark = [pytest.mark.live, needs_model, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    assert WEIGHTS is not None
    log = tmp_path_factory.mktemp("live") / "server.log"
    async with embedded_server(WEIGHTS, alias="smol", context=1024, log_path=log) as running:
        yield running.url


@asynccontextmanager
async def llamacpp_at(url: str) -> AsyncIterator[Backend]:
    backend = EntryPointBackends().open(Endpoint("e", "e", url, "llamacpp"))
    yield backend
    await backend.aclose()


class TestEmbedded(ServerContract):
    model = "smol"

    @pytest.fixture(autouse=True)
    def _reach(self, url: str) -> None:
        self.url = url

    def running(self) -> AbstractAsyncContextManager[Backend]:
        return llamacpp_at(self.url)
