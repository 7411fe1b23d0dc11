"""vLLM: recognition, adapters, sleep mode, reasoning."""

from __future__ import annotations

import pytest

from llmbench_mcp.backends import vllm
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.backends.vllm import VllmBackend
from llmbench_mcp.domain.endpoint import Endpoint, OfferedModel, Resident
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
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.fake_vllm import VERSION, FakeVllm
from llmbench_mcp.testing.replies import Reply, error_reply, text_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu
from tests.backends.support import always, ask, client, endpoint, vllm_at


async def names(backend: VllmBackend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or ()]


async def test_it_is_recognised_by_the_owner_in_its_list() -> None:
    async with FakeVllm() as server:
        info = await EntryPointBackends().detect(server.url)
    assert (info.backend, info.version, info.can_load, info.can_unload) == ("vllm", VERSION, False, False)


async def test_without_sleep_mode_it_says_that_it_holds_its_model_for_ever() -> None:
    async with FakeVllm() as server, vllm_at(server.url) as backend:
        assert "--enable-sleep-mode" in (await backend.inspect()).notes[0]
        await backend.load("m")
        assert await backend.residents() == [Resident("m", context_length=8192)]
        with pytest.raises(IncompatibleError, match="cannot unload"):
            await backend.unload(Resident("m"))
        assert await names(backend) == ["m"]


async def test_another_kind_of_server_is_refused() -> None:
    async with FakeServer() as server, vllm_at(server.url) as backend:
        with pytest.raises(ProtocolError, match="is not vLLM"):
            await backend.inspect()


async def test_a_hidden_version_is_unknown() -> None:
    async with FakeVllm() as server, vllm_at(server.url) as backend:
        for reply in (error_reply(404, "Not Found"), Reply(body={"version": None})):
            server.routes["GET /version"] = always(reply)
            assert (await backend.inspect()).version is None


async def test_the_key_guards_the_models_and_a_wrong_one_is_an_auth_matter() -> None:
    async with FakeVllm() as server, vllm_at(server.url) as backend:
        server.api_key = "zz-LIVE-7f3a9c51d2e8"
        with pytest.raises(AuthError, match="Unauthorized"):
            await backend.list_models()


async def test_details_are_the_context_and_what_names_tell() -> None:
    async with FakeVllm() as server, vllm_at(server.url) as backend:
        server.root = "Qwen/Qwen3-8B-AWQ"
        assert await backend.list_models() == [
            OfferedModel(
                "m",
                family="qwen",
                parameter_count=8_000_000_000,
                quantisation="AWQ",
                context_length=8192,
                guessed=("family", "parameter_count", "quantisation"),
            )
        ]


async def test_lora_adapters_are_marked_and_live_with_their_model() -> None:
    async with FakeVllm(adapters={"m-sql": "m"}) as server, vllm_at(server.url) as backend:
        base, adapter = await backend.list_models()
        assert (base.adapter_of, adapter.adapter_of) == (None, "m")
        assert adapter.context_length == 8192
        assert await names(backend) == ["m", "m-sql"]
        assert "LoRA adapters: m-sql on m." in (await backend.inspect()).notes
        assert (await ask(backend, model="m-sql")).model == "m-sql"


async def test_a_second_name_is_the_same_model_and_an_adapter_is_another() -> None:
    async with FakeVllm(["m", "m-alias"], adapters={"m-sql": "m"}) as server, vllm_at(server.url) as backend:
        assert (await ask(backend, model="m-alias")).model == "m"
        server.script = lambda request: text_reply("hello", model="m")
        with pytest.raises(IdentityError, match="answered as 'm', not as 'm-sql'"):
            await ask(backend, model="m-sql")


async def test_an_unknown_model_is_named_with_those_there_are() -> None:
    async with FakeVllm(["alpha"], sleep_mode=True) as server, vllm_at(server.url) as backend:
        with pytest.raises(ModelNotAvailable, match="It offers: alpha"):
            await backend.load("alfa")
        with pytest.raises(ModelNotAvailable):
            await backend.unload(Resident("alfa"))
        with pytest.raises(ModelNotAvailable, match="does not exist"):
            await ask(backend, model="alfa")
        assert server.sleeps == 0


async def test_reasoning_comes_in_its_own_field() -> None:
    async with FakeVllm() as server, vllm_at(server.url) as backend:
        server.thought = "Let me see."
        done = await ask(backend)
        assert (done.reasoning, done.text) == ("Let me see.", "You said: hello")


async def test_sleeping_gives_the_devices_memory_back_and_waking_takes_it_again() -> None:
    gpu = SimulatedGpu(24 * GB)
    server = FakeVllm(sleep_mode=True, gpu=gpu, memory_bytes=20 * GB)
    async with server, vllm_at(server.url) as backend:
        info = await backend.inspect()
        assert (info.can_load, info.can_unload) == (True, True)
        assert gpu.used_bytes == 20 * GB
        await backend.unload(Resident("m"))
        assert await backend.residents() == []
        assert gpu.used_bytes < GB
        assert "It is asleep now." in (await backend.inspect()).notes
        await backend.load("m")
        assert await names(backend) == ["m"]
        assert gpu.used_bytes == 20 * GB
        assert (server.level, server.sleeps, server.wakes) == (1, 1, 1)
        assert (await ask(backend)).text == "You said: hello"
    assert gpu.used_bytes == 0


async def test_orders_are_answered_before_they_are_done() -> None:
    clock = ManualClock()
    async with FakeVllm(sleep_mode=True) as server, vllm_at(server.url, clock) as backend:
        server.lag = 3
        await backend.unload(Resident("m"))
        assert await names(backend) == ["m"]
        while await names(backend):
            pass
        await backend.load("m")
        assert not server.sleeping
        assert clock.sleeps


async def test_asleep_already_needs_no_order_and_awake_already_no_waking() -> None:
    async with FakeVllm(sleep_mode=True) as server, vllm_at(server.url) as backend:
        await backend.load("m")
        await backend.unload(Resident("m"))
        await backend.unload(Resident("m"))
        assert (server.sleeps, server.wakes) == (1, 0)


async def test_a_server_that_does_not_wake_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "WAKE_S", 8.0)
    clock = ManualClock()
    async with FakeVllm(sleep_mode=True) as server, vllm_at(server.url, clock) as backend:
        await backend.unload(Resident("m"))
        server.routes["POST /wake_up"] = lambda request: Reply(200, b"")
        start = clock.now
        with pytest.raises(EndpointTimeout, match="did not wake up within 8 s"):
            await backend.load("m")
        assert 8 <= clock.now - start <= 9


async def test_a_refused_order_is_the_servers_fault() -> None:
    async with FakeVllm(sleep_mode=True) as server, vllm_at(server.url) as backend:
        server.routes["POST /sleep"] = lambda request: error_reply(500, "Sleep mode is not enabled.")
        with pytest.raises(ServerFault, match="Sleep mode is not enabled"):
            await backend.unload(Resident("m"))


async def test_a_lost_order_shows_in_the_list() -> None:
    async with FakeVllm(sleep_mode=True) as server, vllm_at(server.url) as backend:
        server.loses_sleeps = 1
        await backend.unload(Resident("m"))
        assert await names(backend) == ["m"]


class Deep(VllmBackend):
    sleep_level = 2


async def test_weights_that_were_dropped_are_read_again_at_waking() -> None:
    async with FakeVllm(sleep_mode=True) as server:
        backend = Deep(endpoint(server.url, "vllm"), client(server.url))
        await backend.unload(Resident("m"))
        assert (server.level, server.reloaded) == (2, False)
        await backend.load("m")
        assert server.reloaded
        assert (await ask(backend)).text == "You said: hello"
        await backend.aclose()


async def test_it_can_still_be_used_as_a_plain_openai_server() -> None:
    async with FakeVllm() as server:
        backend = EntryPointBackends().open(Endpoint("e", "e", server.url, "openai"))
        assert (await backend.inspect()).version == VERSION
        assert (await backend.list_models())[0].context_length == 8192
        await backend.aclose()
