"""llama-swap: recognition, what runs, starting, stopping, and who answers."""

from __future__ import annotations

import anyio
import pytest

from llmbench_mcp.backends import llamaswap
from llmbench_mcp.backends.llamaswap import LlamaSwapBackend
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.endpoint import OfferedModel, Resident
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointTimeout,
    IdentityError,
    ModelNotAvailable,
    ProtocolError,
    RateLimitedError,
    ServerFault,
    StillHeld,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llamaswap import VERSION, FakeLlamaSwap, SwapModel, own_error
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply, error_reply
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedGpu
from tests.backends.support import ask, llamaswap_at


async def names(backend: LlamaSwapBackend) -> list[str]:
    return [resident.served_name for resident in await backend.residents() or ()]


@pytest.mark.parametrize("models", [["a", "b"], []])
async def test_it_is_recognised_with_models_and_without(models: list[str]) -> None:
    async with FakeLlamaSwap(models) as server:
        info = await EntryPointBackends().detect(server.url)
    assert (info.backend, info.version, info.can_load, info.can_unload) == ("llamaswap", VERSION, True, True)


async def test_an_empty_list_alone_does_not_make_it_llama_swap() -> None:
    async with FakeServer([]) as server:
        assert (await EntryPointBackends().detect(server.url)).backend == "openai"


async def test_a_guarded_one_is_recognised_and_wants_its_key() -> None:
    async with FakeLlamaSwap() as server:
        server.api_key = "zz-LIVE-7f3a9c51d2e8"
        with pytest.raises(AuthError):
            await EntryPointBackends().detect(server.url)


async def test_another_kind_of_server_is_refused() -> None:
    async with FakeServer() as server, llamaswap_at(server.url) as backend:
        with pytest.raises(ProtocolError, match="is not llama-swap"):
            await backend.inspect()


async def test_models_of_its_peers_are_remote() -> None:
    models = [SwapModel("a-8b-q4_k_m"), SwapModel("far", peer="big-box")]
    async with FakeLlamaSwap(models) as server, llamaswap_at(server.url) as backend:
        near, far = await backend.list_models()
        assert near == OfferedModel(
            "a-8b-q4_k_m",
            parameter_count=8_000_000_000,
            quantisation="Q4_K_M",
            guessed=("parameter_count", "quantisation"),
        )
        assert far == OfferedModel("far", remote=True)
        await backend.load("far")
        assert server.starts == []
        assert (await ask(backend, model="far")).model == "far"


async def test_starting_a_model_stops_the_one_before() -> None:
    gpu = SimulatedGpu(24 * GB)
    models = [SwapModel("a", 20 * GB), SwapModel("b", 20 * GB)]
    async with FakeLlamaSwap(models, gpu=gpu) as server, llamaswap_at(server.url) as backend:
        assert await backend.residents() == []
        for name in ("a", "b"):
            await backend.load(name)
            assert await backend.residents() == [Resident(name)]
        assert server.starts == ["a", "b"]
    assert gpu.together(1) == []


async def test_a_group_runs_together_and_leaves_together() -> None:
    async with FakeLlamaSwap(["a", "b", "c"], groups=[{"a", "b"}]) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        await backend.load("b")
        assert await names(backend) == ["a", "b"]
        await backend.load("c")
        assert await names(backend) == ["c"]


async def test_one_model_is_stopped_and_the_others_stay() -> None:
    gpu = SimulatedGpu(24 * GB)
    models = ["org/a", "b"]
    async with FakeLlamaSwap(models, groups=[set(models)], gpu=gpu) as server, llamaswap_at(server.url) as backend:
        await backend.load("org/a")
        await backend.load("b")
        await backend.unload(Resident("org/a"))
        assert await names(backend) == ["b"]
        assert [allocation.model for allocation in gpu.held] == ["b"]
        assert server.count("/api/models/unload/org/a") == 1


async def test_a_model_that_stops_slowly_is_resident_until_it_is_gone() -> None:
    gpu = SimulatedGpu(24 * GB, clock=ManualClock())
    async with FakeLlamaSwap(["a"], gpu=gpu) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        server.stop_s = 5
        await backend.unload(Resident("a"))
        assert (await names(backend), server.states) == (["a"], {"a": "stopping"})
        assert isinstance(gpu.clock, ManualClock)
        gpu.clock.advance(5)
        assert await names(backend) == []
        assert gpu.used_bytes == 0


async def test_an_idle_model_leaves_after_its_time_to_live() -> None:
    clock = ManualClock()
    async with FakeLlamaSwap([SwapModel("a", ttl=60)], clock=clock) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        clock.advance(59)
        await ask(backend, model="a")
        clock.advance(59)
        assert await names(backend) == ["a"]
        clock.advance(1)
        assert await names(backend) == []


async def test_an_old_version_stops_all_or_none() -> None:
    group = [{"a", "b"}]
    server = FakeLlamaSwap(["a", "b"], groups=group, unloads_one=False)
    async with server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        await backend.load("b")
        with pytest.raises(StillHeld, match="b would stop with 'a'"):
            await backend.unload(Resident("a"))
        assert await names(backend) == ["a", "b"]
        server.kill("b")
        await backend.unload(Resident("a"))
        assert await names(backend) == []


async def test_what_does_not_run_needs_no_stopping() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        await backend.unload(Resident("a"))
        await backend.unload(Resident("nobody"))
        assert [request.path for request in server.requests] == ["/running", "/running"]


async def test_a_lost_order_shows_in_the_list() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        server.loses_unloads = 1
        await backend.unload(Resident("a"))
        assert await names(backend) == ["a"]


async def test_a_slow_start_is_waited_for_and_shown_meanwhile() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        gate = server.hang("a")
        async with anyio.create_task_group() as group:
            group.start_soon(backend.load, "a")
            await gate.reached()
            assert (await names(backend), server.states) == (["a"], {"a": "starting"})
            gate.open()
        assert server.states == {"a": "ready"}


async def test_giving_up_a_load_leaves_the_start_going_on() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        gate = server.hang("a")
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(backend.load, "a")
                await gate.reached()
                group.cancel_scope.cancel()
        assert await names(backend) == ["a"]
        gate.open()
        await backend.load("a")
        assert server.starts == ["a"]


async def test_a_server_that_ends_while_it_starts_is_a_failed_load_with_the_proxys_words() -> None:
    async with FakeLlamaSwap([SwapModel("a", fails=True)]) as server, llamaswap_at(server.url) as backend:
        with pytest.raises(ServerFault, match="failed to load 'a': process for a exited"):
            await backend.load("a")
        assert await names(backend) == []
        with pytest.raises(ServerFault, match="exited"):
            await ask(backend, model="a")


async def test_a_start_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamaswap, "LOAD_S", 8.0)
    clock = ManualClock()
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url, clock) as backend:
        starting = {"running": [{"model": "a", "state": "starting"}]}
        server.routes["GET /running"] = lambda request: Reply(body=starting)
        start = clock.now
        with pytest.raises(EndpointTimeout, match="did not have 'a' ready within 8 s"):
            await backend.load("a")
        assert 8 <= clock.now - start <= 9


async def test_a_proxy_that_claims_to_have_started_and_has_not_is_a_failed_load() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        server.routes["GET /running"] = lambda request: Reply(body={"running": []})
        with pytest.raises(ServerFault, match="failed to load 'a'"):
            await backend.load("a")


async def test_an_unknown_model_is_named_with_those_there_are() -> None:
    async with FakeLlamaSwap(["alpha"]) as server, llamaswap_at(server.url) as backend:
        with pytest.raises(ModelNotAvailable, match="It offers: alpha"):
            await backend.load("alfa")
        with pytest.raises(ModelNotAvailable):
            await ask(backend, model="alfa")
        assert server.starts == []


async def test_a_full_proxy_says_when_to_come_again() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        server.script = lambda request: own_error(429, "Too many requests", retry_after="1")
        with pytest.raises(RateLimitedError) as caught:
            await ask(backend, model="a")
        assert caught.value.retry_after_s == 1.0


async def test_an_answer_under_the_servers_own_name_for_the_model_is_the_models() -> None:
    models = [SwapModel("a", upstream_name="a-Q4_K_M.gguf")]
    async with FakeLlamaSwap(models) as server, llamaswap_at(server.url) as backend:
        assert (await ask(backend, model="a")).model == "a"
        await ask(backend, model="a")
        assert server.count("/running") == 1


async def test_a_model_on_llama_cpp_is_asked_without_its_prompt_cache() -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        await ask(backend, model="a")
        assert server.requests[-1].body["cache_prompt"] is False
        vllm = {"model": "a", "state": "ready", "cmd": "docker run vllm/vllm-openai --model x"}
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        server.routes["GET /running"] = lambda request: Reply(body={"running": [vllm]})
        await backend.load("a")
        await ask(backend, model="a")
        assert "cache_prompt" not in server.requests[-1].body


async def test_an_answer_for_a_model_that_does_not_run_is_anothers() -> None:
    models = [SwapModel("a", upstream_name="b.gguf")]
    async with FakeLlamaSwap(models) as server, llamaswap_at(server.url) as backend:
        server.routes["GET /running"] = lambda request: Reply(body={"running": [{"model": "b", "state": "ready"}]})
        with pytest.raises(IdentityError, match=r"answered as 'b\.gguf' and does not run 'a'"):
            await ask(backend, model="a")


@pytest.mark.parametrize("reply", [Reply(body={"running": None}), Reply(body="<title>hi</title>")])
async def test_a_list_that_is_none_is_refused(reply: Reply) -> None:
    async with FakeLlamaSwap(["a"]) as server, llamaswap_at(server.url) as backend:
        server.routes["GET /running"] = lambda request: reply
        with pytest.raises(ProtocolError):
            await backend.residents()


async def test_an_unload_that_fails_says_so() -> None:
    async with FakeLlamaSwap(["a"], unloads_one=False) as server, llamaswap_at(server.url) as backend:
        await backend.load("a")
        server.routes["POST /api/models/unload/a"] = lambda request: error_reply(500, "cannot stop it")
        with pytest.raises(ServerFault, match="cannot stop it"):
            await backend.unload(Resident("a"))
