"""The embedded llama.cpp server with a real model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import psutil
import pytest
import pytest_asyncio

from llmbench_mcp.backends.embedded import launcher
from llmbench_mcp.backends.embedded.launcher import EmbeddedServer, embedded_server
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.chat import ChatRequest, Sampling
from llmbench_mcp.domain.endpoint import Endpoint, Resident
from llmbench_mcp.domain.errors import IdentityError, PromptTooLong, SetupError
from llmbench_mcp.domain.ports import Backend
from llmbench_mcp.testing.fake_server import FakeServer
from tests.live.support import WEIGHTS, needs_model

pytestmark = [pytest.mark.live, needs_model, pytest.mark.asyncio(loop_scope="module")]

ALIAS = "smol"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    assert WEIGHTS is not None
    log = tmp_path_factory.mktemp("live") / "server.log"
    async with embedded_server(WEIGHTS, alias=ALIAS, context=1024, log_path=log) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def backend(server: EmbeddedServer) -> AsyncIterator[Backend]:
    opened = EntryPointBackends().open(Endpoint("e", "e", server.url, "llamacpp"))
    yield opened
    await opened.aclose()


async def test_it_is_detected_as_llama_cpp(server: EmbeddedServer) -> None:
    info = await EntryPointBackends().detect(server.url)
    assert (info.backend, info.can_load, info.can_unload) == ("llamacpp", False, False)
    assert info.version is None  # this build does not know its own number


async def test_its_model_is_listed_with_its_details(backend: Backend) -> None:
    [model] = await backend.list_models()
    assert (model.served_name, model.quantisation, model.context_length) == (ALIAS, "Q4_1", 1024)
    assert model.parameter_count == 134_515_008
    assert "chat" in model.capabilities
    assert await backend.residents() == [Resident(ALIAS, context_length=1024)]


async def test_it_answers_with_usage_and_times_and_the_same_twice(backend: Backend) -> None:
    request = ChatRequest(
        ALIAS, "What is the capital of France? Answer with one word.", sampling=Sampling(max_tokens=24)
    )
    first, second = [await backend.chat(request, total_s=120, stall_s=60) for _ in range(2)]
    assert "Paris" in first.text
    assert first.text == second.text
    assert first.complete
    assert first.usage is not None
    assert (first.usage.completion_tokens or 0) > 1
    timing = first.timing
    assert timing.ttft_s is not None
    assert timing.e2e_s is not None
    assert 0 < timing.ttft_s < timing.e2e_s
    assert timing.decode_tps
    assert timing.prefill_tps
    assert second.usage is not None
    assert not second.usage.cached_tokens, "the prompt cache must not answer speed tests"


async def test_another_models_name_is_noticed(backend: Backend) -> None:
    with pytest.raises(IdentityError, match="answered as 'smol', not as 'nope'"):
        await backend.chat(ChatRequest("nope", "Hi", sampling=Sampling(max_tokens=4)), total_s=120, stall_s=60)


async def test_a_prompt_beyond_the_context_is_said_to_be_too_long(backend: Backend) -> None:
    with pytest.raises(PromptTooLong):
        await backend.chat(ChatRequest(ALIAS, "word " * 3000), total_s=120, stall_s=60)


async def test_the_server_is_gone_after_its_block_and_left_a_log(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    log = tmp_path / "deep" / "server.log"
    async with embedded_server(WEIGHTS, alias=ALIAS, context=512, log_path=log) as running:
        assert psutil.pid_exists(running.pid)
    assert not psutil.pid_exists(running.pid)
    assert "listening" in log.read_text()


async def test_a_broken_model_file_is_a_setup_error_with_the_last_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(SetupError, match="failed to load model") as caught:
        async with embedded_server(broken, alias=ALIAS, log_path=tmp_path / "log"):
            pytest.fail("it started")
    assert "exit code 4" in caught.value.what


async def test_a_taken_port_leads_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WEIGHTS is not None
    real = launcher._free_port
    async with FakeServer() as taken:
        ports = iter([taken.port])
        monkeypatch.setattr(launcher, "_free_port", lambda: next(ports, 0) or real())
        async with embedded_server(WEIGHTS, alias=ALIAS, context=512, log_path=tmp_path / "log") as running:
            assert not running.url.endswith(f":{taken.port}")


async def test_cancelling_the_start_leaves_no_process_behind(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    children = set(psutil.Process().children())
    with anyio.move_on_after(0.05):
        async with embedded_server(WEIGHTS, alias=ALIAS, log_path=tmp_path / "log"):
            await anyio.sleep_forever()
    assert set(psutil.Process().children()) <= children
