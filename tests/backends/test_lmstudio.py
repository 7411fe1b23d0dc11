from __future__ import annotations

from typing import Any

import pytest

from llmbench_mcp.domain.endpoint import ModelList, OfferedModel, Resident
from llmbench_mcp.domain.errors import AuthError, ProtocolError, RateLimitedError, ServerFault
from llmbench_mcp.testing.fake_lmstudio import V0_MODELS, V1_MODELS
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply, error_reply
from tests.backends.lmstudio_support import studio, studio_at

SEEING = StudioModel("qwen2.5-vl-7b", 6_000_000_000, "vlm", "qwen2vl", "4bit", 4, "7B", 32_768, "mlx", tools=True)
EMBEDDING = StudioModel("nomic-embed-v1.5", 84_000_000, "embedding", None, "F16", 16, None, 2048)


async def test_the_native_api_loads_and_unloads() -> None:
    async with studio() as (_, backend):
        info = await backend.inspect()
        assert (info.backend, info.version, info.can_load, info.can_unload, info.notes) == (
            "lmstudio",
            None,
            True,
            True,
            (),
        )


async def test_the_old_api_loads_on_demand_and_cannot_unload() -> None:
    async with studio(native=False) as (_, backend):
        info = await backend.inspect()
        assert (info.backend, info.can_load, info.can_unload) == ("lmstudio", True, False)
        assert any("before 0.4" in note for note in info.notes)


async def test_the_old_api_without_loading_on_demand_can_do_neither() -> None:
    async with studio("a", "b", native=False) as (server, backend):
        server.jit = False
        await server.load_by_other("a")
        info = await backend.inspect()
        assert (info.can_load, info.can_unload) == (False, False)


async def test_a_server_without_models_is_still_lm_studio_and_says_so() -> None:
    async with studio() as (server, backend):
        server.store.clear()
        assert "The server lists no models." in (await backend.inspect()).notes
        assert list(await backend.list_models()) == []


async def test_a_models_details_are_those_the_native_list_gives() -> None:
    async with studio(SEEING, EMBEDDING) as (_, backend):
        assert list(await backend.list_models()) == [
            OfferedModel(
                "qwen2.5-vl-7b",
                family="qwen2vl",
                parameter_count=7_000_000_000,
                quantisation="4bit",
                size_bytes=6_000_000_000,
                context_length=32_768,
                capabilities=("chat", "tools", "vision"),
            ),
            OfferedModel(
                "nomic-embed-v1.5",
                family="nomic",
                quantisation="F16",
                size_bytes=84_000_000,
                context_length=2048,
                capabilities=("embedding",),
                guessed=("family",),
            ),
        ]


async def test_the_old_list_has_no_sizes_and_the_names_fill_in_marked_as_guesses() -> None:
    async with studio(SEEING, EMBEDDING, native=False) as (_, backend):
        seeing, embedding = await backend.list_models()
        assert (seeing.family, seeing.quantisation, seeing.context_length) == ("qwen2vl", "4bit", 32_768)
        assert (seeing.parameter_count, seeing.size_bytes, seeing.guessed) == (
            7_000_000_000,
            None,
            ("parameter_count",),
        )
        assert seeing.capabilities == ("chat", "tools", "vision")
        assert embedding.capabilities == ("embedding",)


async def test_what_neither_list_nor_name_tells_is_unknown() -> None:
    bare = StudioModel("thing", changes={"params_string": None, "quantization": None, "size_bytes": 0})
    async with studio(bare) as (_, backend):
        (thing,) = await backend.list_models()
        assert (thing.parameter_count, thing.quantisation, thing.size_bytes, thing.guessed) == (None, None, None, ())


@pytest.mark.parametrize(
    "odd",
    [
        {"quantization": "Q4", "capabilities": ["vision"], "loaded_instances": [7, {"id": ""}, {"config": {}}]},
        {"params_string": 7, "max_context_length": "long", "size_bytes": -1, "architecture": {"a": 1}},
        {"size_bytes": True, "max_context_length": float("1e300"), "type": None, "variants": [None, 3]},
    ],
)
async def test_odd_entries_are_read_as_far_as_they_make_sense(odd: dict[str, Any]) -> None:
    async with studio(StudioModel("x", changes=odd), "m") as (_, backend):
        assert [model.served_name for model in await backend.list_models()] == ["x", "m"]
        assert await backend.residents() == []


async def test_entries_without_a_usable_name_are_left_out_and_counted() -> None:
    nameless = StudioModel("x", changes={"key": " ", "id": None})
    for native in (True, False):
        async with studio(nameless, "m", native=native) as (_, backend):
            models = await backend.list_models()
            assert [model.served_name for model in models] == ["m"]
            assert isinstance(models, ModelList)
            assert "1 models without a usable name" in models.warnings[0]


async def test_every_instance_in_memory_is_a_resident_of_its_own() -> None:
    async with studio("m") as (server, backend):
        await server.load_by_other("m")
        await server.load_by_other("m")
        assert await backend.residents() == [
            Resident("m", "m", context_length=4096),
            Resident("m", "m:2", context_length=4096),
        ]
        assert [model.served_name for model in await backend.list_models()] == ["m"]


async def test_the_old_lists_second_instance_belongs_to_its_model() -> None:
    async with studio("m", native=False) as (server, backend):
        await server.load_by_other("m")
        await server.load_by_other("m")
        server.evict("m")
        assert await backend.residents() == [Resident("m", "m:2", context_length=4096)]
        assert [model.served_name for model in await backend.list_models()] == ["m"]


async def test_a_server_that_wants_a_token_is_an_auth_matter() -> None:
    async with studio() as (server, backend):
        server.api_key = "zz-LIVE-7f3a9c51d2e8"
        for call in (backend.inspect, backend.list_models, backend.residents):
            with pytest.raises(AuthError, match="API token is required"):
                await call()
        assert server.count(V0_MODELS) == 0


async def test_another_kind_of_server_is_refused() -> None:
    async with FakeServer() as server, studio_at(server.url) as backend:
        with pytest.raises(ProtocolError, match="not LM Studio"):
            await backend.inspect()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (error_reply(503, "starting", retry_after="2"), RateLimitedError),
        (error_reply(500, "boom"), ServerFault),
        (Reply(200, {"error": {"message": "boom", "code": 500}}), ServerFault),
    ],
)
async def test_a_native_list_that_fails_is_not_taken_for_an_old_server(reply: Reply, error: type[Exception]) -> None:
    async with studio() as (server, backend):
        server.routes[f"GET {V1_MODELS}"] = lambda request: reply
        server.routes[f"GET {V0_MODELS}"] = lambda request: error_reply(404, "Not Found")
        with pytest.raises(error):
            await backend.residents()


async def test_a_failing_native_list_never_falls_back_to_the_old_one() -> None:
    async with studio() as (server, backend):
        server.refuse(V1_MODELS, 500, "boom")
        with pytest.raises(ServerFault, match="boom"):
            await backend.residents()
        assert server.count(V0_MODELS) == 0
