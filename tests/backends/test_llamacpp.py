from __future__ import annotations

import pytest

from llmbench_mcp.backends.llamacpp_facts import quantisation_in
from llmbench_mcp.domain.endpoint import OfferedModel, Resident
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointTimeout,
    IdentityError,
    IncompatibleError,
    ModelNotAvailable,
    ProtocolError,
    ServerFault,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.backends.support import ask, llama_at


async def test_a_single_server_tells_its_version_and_neither_loads_nor_unloads() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        info = await backend.inspect()
        assert (info.backend, info.version, info.can_load, info.can_unload) == (
            "llamacpp",
            "b9000-abcdef0",
            False,
            False,
        )
        assert await backend.residents() == [Resident("tiny", context_length=4096)]
        await backend.load("tiny")
        with pytest.raises(IncompatibleError, match="cannot unload"):
            await backend.unload(Resident("tiny"))


async def test_a_models_details_come_from_the_server() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        assert await backend.list_models() == [
            OfferedModel(
                "tiny",
                parameter_count=1_500_000_000,
                quantisation="Q4_K_M",
                size_bytes=900_000_000,
                context_length=4096,
                capabilities=("chat", "tools"),
            )
        ]


async def test_props_may_be_switched_off() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        server.routes["GET /props"] = lambda request: error_reply(501, "This server does not support props")
        assert (await backend.inspect()).version is None
        assert (await backend.list_models())[0].quantisation == "Q4_K_M"


@pytest.mark.parametrize("build", ["b0-unknown", "unknown", "", None, 7])
async def test_a_server_built_without_its_history_has_no_version(build: object) -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        server.routes["GET /props"] = lambda request: Reply(body={"build_info": build})
        assert (await backend.inspect()).version is None


async def test_a_server_still_loading_is_waited_for() -> None:
    clock = ManualClock()
    async with FakeLlama(starting=3) as server, llama_at(server.url, clock) as backend:
        assert (await backend.inspect()).backend == "llamacpp"
        assert clock.sleeps == [0.25] * 3


async def test_a_server_that_never_finishes_loading_is_given_up() -> None:
    async with FakeLlama(starting=10_000) as server, llama_at(server.url) as backend:
        with pytest.raises(EndpointTimeout, match="still loading"):
            await backend.inspect()


async def test_another_kind_of_server_is_refused() -> None:
    async with FakeServer() as server, llama_at(server.url) as backend:
        with pytest.raises(ProtocolError, match=r"not llama\.cpp"):
            await backend.inspect()


async def test_a_guarded_server_is_an_auth_matter() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        server.api_key = "zz-LIVE-7f3a9c51d2e8"
        with pytest.raises(AuthError):
            await backend.inspect()


async def test_an_answer_under_another_models_name_is_refused() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        with pytest.raises(IdentityError, match="answered as 'tiny', not as 'huge'"):
            await ask(backend, model="huge")


async def test_an_alias_is_the_same_model() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        assert (await ask(backend, model="tiny-alias")).model == "tiny"


async def test_the_prompt_cache_is_switched_off() -> None:
    async with FakeLlama() as server, llama_at(server.url) as backend:
        await ask(backend, model="tiny")
        assert server.requests[-1].body["cache_prompt"] is False


async def test_a_router_loads_and_waits_until_loaded() -> None:
    clock = ManualClock()
    async with FakeRouter(["a", "b"]) as server, llama_at(server.url, clock) as backend:
        info = await backend.inspect()
        assert (info.can_load, info.can_unload) == (True, True)
        assert await backend.residents() == []
        await backend.load("a")
        assert await backend.residents() == [Resident("a", context_length=4096)]
        assert (await ask(backend, model="a")).complete


async def test_a_router_answers_an_unload_order_before_it_is_done() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        await backend.load("a")
        await backend.unload(Resident("a"))
        assert await backend.residents() == [Resident("a", context_length=4096)]
        assert await backend.residents() == []
        await backend.unload(Resident("a"))


async def test_a_model_that_fails_to_load_is_a_fault_and_leaves_a_warning() -> None:
    async with FakeRouter(["a"], fails=["a"]) as server, llama_at(server.url) as backend:
        with pytest.raises(ServerFault, match="failed to load 'a'"):
            await backend.load("a")
        assert (await backend.list_models())[0].warnings


async def test_a_load_that_changes_nothing_is_given_up() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        server.routes["POST /models/load"] = server.health  # says yes and does nothing
        with pytest.raises(ServerFault, match="failed to load"):
            await backend.load("a")


async def test_an_unknown_model_is_named_with_those_there_are() -> None:
    async with FakeRouter(["alpha", "beta"]) as server, llama_at(server.url) as backend:
        with pytest.raises(ModelNotAvailable, match="It offers: alpha"):
            await backend.load("alfa")
        with pytest.raises(ModelNotAvailable):
            await ask(backend, model="alfa")
        with pytest.raises(ModelNotAvailable, match="not loaded"):
            await ask(backend, model="beta")


async def test_a_routers_model_is_described_as_far_as_it_is_known() -> None:
    async with FakeRouter(["a"]) as server, llama_at(server.url) as backend:
        [model] = await backend.list_models()
        assert (model.quantisation, model.context_length, model.capabilities) == ("Q8_0", None, ("chat",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Q4_K - Medium", "Q4_K_M"),
        ("Q4_1", "Q4_1"),
        ("all F32", "F32"),
        ("IQ2_XXS - 2.0625 bpw", "IQ2_XXS"),
        ("Qwen2.5-Coder-7B-Instruct-Q5_K_S.gguf", "Q5_K_S"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("model-bf16.gguf", "BF16"),
        ("plain.gguf", None),
        (None, None),
    ],
)
def test_quantisation_is_read_from_file_types_and_names(text: object, expected: str | None) -> None:
    assert quantisation_in(text) == expected
