"""Every kind of server is taken for itself and for nothing else, whatever stands between it and us."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import anyio
import pytest

from llmbench_mcp.backends import probe as probing
from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.backends.probe import SURE, Probe
from llmbench_mcp.backends.registry import GROUP, EntryPointBackends
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import AuthError, EndpointTimeout
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_llamaswap import FakeLlamaSwap
from llmbench_mcp.testing.fake_lmstudio import FakeLMStudio
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_server import MODELS, FakeServer, Received, Route
from llmbench_mcp.testing.fake_vllm import FakeVllm
from llmbench_mcp.testing.replies import Gate, Reply

KEY = "zz-LIVE-7f3a9c51d2e8"
Make = Callable[[], FakeServer]


def ollama_like() -> FakeServer:
    """llama.cpp's server lists its model in Ollama's form too."""
    server = FakeLlama("m")
    listed = {"models": [{"name": "m", "model": "m", "size": "", "digest": "", "details": {"format": "gguf"}}]}
    server.routes["GET /api/tags"] = lambda request: Reply(body=listed)
    return server


def hidden(server: FakeServer) -> FakeServer:
    """Behind a proxy that puts its own name into the headers."""
    server.server_header = "nginx"
    return server


KINDS: dict[str, tuple[str, Make]] = {
    "llama.cpp": ("llamacpp", FakeLlama),
    "llama.cpp router": ("llamacpp", lambda: FakeRouter(["a", "b"])),
    "llama.cpp with ollama's list": ("llamacpp", ollama_like),
    "llama.cpp behind a proxy": ("llamacpp", lambda: hidden(ollama_like())),
    "lm studio": ("lmstudio", lambda: FakeLMStudio(["m"])),
    "lm studio without models": ("lmstudio", lambda: FakeLMStudio([])),
    "lm studio before 0.4": ("lmstudio", lambda: FakeLMStudio(["m"], native=False)),
    "lm studio before 0.4 without models": ("lmstudio", lambda: FakeLMStudio([], native=False)),
    "ollama": ("ollama", FakeOllama),
    "ollama without models": ("ollama", lambda: FakeOllama([])),
    "ollama behind a proxy": ("ollama", lambda: hidden(FakeOllama())),
    "vllm": ("vllm", FakeVllm),
    "vllm in sleep mode": ("vllm", lambda: FakeVllm(sleep_mode=True)),
    "vllm behind a proxy": ("vllm", lambda: hidden(FakeVllm())),
    "llama-swap": ("llamaswap", FakeLlamaSwap),
    "llama-swap without models": ("llamaswap", lambda: FakeLlamaSwap([])),
    "llama-swap behind a proxy": ("llamaswap", lambda: hidden(FakeLlamaSwap())),
    "openai-compatible": ("openai", FakeServer),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[str, FakeServer]:
    name, make = KINDS[request.param]
    return name, make()


class Plain:
    def reveal(self) -> str:
        return KEY


async def plain(reference: str, origin: str) -> Plain:
    return Plain()


def factory() -> EntryPointBackends:
    return EntryPointBackends(resolve_secret=plain, clock=ManualClock())


async def certainties(url: str) -> dict[str, int]:
    client = HttpClient(parse_address(url), ClientOptions(clock=ManualClock()))
    probe = Probe(client)
    try:
        return {point.name: await point.load().recognise(probe) for point in entry_points(group=GROUP)}
    finally:
        await client.aclose()


async def test_it_is_recognised_as_itself(kind: tuple[str, FakeServer]) -> None:
    name, server = kind
    async with server:
        assert (await factory().detect(server.url)).backend == name


async def test_only_its_own_backend_is_sure(kind: tuple[str, FakeServer]) -> None:
    name, server = kind
    async with server:
        found = await certainties(server.url)
    sure = {backend for backend, certainty in found.items() if certainty >= SURE}
    assert sure == ({name} if name != "openai" else set())


async def test_behind_a_path_prefix_it_is_recognised(kind: tuple[str, FakeServer]) -> None:
    name, server = kind
    server.prefix = "/gpu1/llm"
    async with server:
        assert (await factory().detect(f"{server.url}/v1/")).backend == name
        assert all(path.startswith("/gpu1/llm/") for path in server.paths)


async def test_with_its_key_a_guarded_one_is_recognised(kind: tuple[str, FakeServer]) -> None:
    name, server = kind
    server.api_key = KEY
    async with server:
        assert (await factory().detect(server.url, "env:LLMBENCH_KEY_A")).backend == name


async def test_without_its_key_a_guarded_one_is_an_auth_matter(kind: tuple[str, FakeServer]) -> None:
    _, server = kind
    server.api_key = KEY
    async with server:
        with pytest.raises(AuthError):
            await factory().detect(server.url)


async def test_a_slow_one_is_recognised(kind: tuple[str, FakeServer]) -> None:
    name, server = kind
    gate = Gate()
    for route, handler in list(server.routes.items()):
        server.routes[route] = _after(gate, handler)
    found: list[str] = []

    async def detect() -> None:
        found.append((await factory().detect(server.url)).backend)

    async with server, anyio.create_task_group() as group:
        group.start_soon(detect)
        await gate.reached()
        gate.open()
    assert found == [name]


def _after(gate: Gate, handler: Route) -> Route:
    async def held(request: Received) -> Reply:
        await gate.pass_through()
        reply = handler(request)
        return reply if isinstance(reply, Reply) else await reply

    return held


async def test_a_path_that_is_never_answered_leaves_nothing_to_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ANSWER_S", 0.2)
    async with FakeServer() as server:
        server.routes["GET /api/v1/models"] = lambda request: Reply(before=Gate())
        with pytest.raises(EndpointTimeout):
            await factory().detect(server.url)
        assert server.count(MODELS) == 1


async def test_a_path_that_is_never_answered_does_not_hide_who_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ANSWER_S", 0.2)
    async with FakeLlama() as server:
        server.routes["GET /api/v1/models"] = lambda request: Reply(before=Gate())
        assert (await factory().detect(server.url)).backend == "llamacpp"


async def test_a_server_that_answers_every_path_alike_is_no_kind_of_its_own() -> None:
    async with FakeServer() as server:
        for path in ("/", "/api/v1/models", "/api/v0/models", "/api/tags", "/api/version", "/running", "/version"):
            server.routes[f"GET {path}"] = server.list_models
        assert (await factory().detect(server.url)).backend == "openai"
