from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.chat import ChatRequest
from llmbench_mcp.domain.endpoint import Endpoint
from llmbench_mcp.domain.errors import (
    AuthError,
    InputError,
    ProtocolError,
    RateLimitedError,
    SetupError,
    UnreachableError,
)
from llmbench_mcp.testing.clocks import ManualClock
from llmbench_mcp.testing.fake_llama import FakeLlama, FakeRouter
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply, error_reply

FORMS = ["http://127.0.0.1:{}", "http://127.0.0.1:{}/", "http://127.0.0.1:{}/v1", "http://127.0.0.1:{}/v1/"]
FORMS += ["http://127.0.0.1:{}/v1/chat/completions", "127.0.0.1:{}"]


class Plain:
    def reveal(self) -> str:
        return "zz-LIVE-7f3a9c51d2e8"


async def works(backends: EntryPointBackends, url: str) -> None:
    assert (await backends.detect(url)).backend == "openai"
    backend = backends.open(Endpoint("e", "e", url, "openai"))
    assert [model.served_name for model in await backend.list_models()] == ["m"]
    assert (await backend.chat(ChatRequest("m", "x"), total_s=20, stall_s=10)).complete
    await backend.aclose()


def odd_paths(server: FakeServer) -> list[str]:
    return [path for path in server.paths if "//" in path or "/v1/v1" in path]


@pytest.mark.parametrize("form", FORMS)
async def test_every_way_of_writing_an_address_reaches_the_server(form: str) -> None:
    async with FakeServer() as server:
        await works(EntryPointBackends(), form.format(server.port))
        assert odd_paths(server) == []
        assert parse_address(form.format(server.port)).base == server.url


async def test_a_sub_path_is_kept() -> None:
    async with FakeServer(prefix="/llm/api") as server:
        await works(EntryPointBackends(), f"http://127.0.0.1:{server.port}/llm/api/v1/")
        assert odd_paths(server) == []
        assert all(path.startswith("/llm/api/") for path in server.paths)


async def test_an_ipv6_address_works_and_is_shown_with_brackets() -> None:
    async with FakeServer() as server:
        try:
            await server.listen_v6()
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
            pytest.skip("this machine has no IPv6 loopback address")
        await works(EntryPointBackends(), f"http://[::1]:{server.port}/v1")
        server.routes["GET /v1/models"] = lambda request: error_reply(500, "boom")
        with pytest.raises(Exception, match=rf"http://\[::1\]:{server.port} ") as caught:
            await EntryPointBackends().detect(server.url_v6)
        assert "boom" in str(caught.value)


@pytest.mark.parametrize("address", ["http://user:pw@127.0.0.1:{}/v1", "ftp://127.0.0.1/"])
async def test_an_address_with_a_password_or_another_scheme_is_refused_before_any_request(address: str) -> None:
    async with FakeServer() as server:
        with pytest.raises(InputError) as caught:
            await EntryPointBackends().detect(address.format(server.port))
        assert server.requests == []
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [FakeLlama, lambda: FakeLlama(starting=2), lambda: FakeRouter(["a", "b"])],
    ids=["single", "starting", "router"],
)
async def test_llama_cpp_is_recognised_in_every_mode(make: Callable[[], FakeServer]) -> None:
    async with make() as server:
        assert (await EntryPointBackends(clock=ManualClock()).detect(server.url)).backend == "llamacpp"


async def test_llama_cpp_behind_a_proxy_that_hides_its_header_is_recognised() -> None:
    async with FakeLlama() as server:
        server.server_header = "nginx"
        assert (await EntryPointBackends().detect(server.url)).backend == "llamacpp"


async def test_a_vllm_server_tells_its_version() -> None:
    async with FakeServer([{"id": "m", "owned_by": "vllm", "max_model_len": 8192}]) as server:
        server.routes["GET /version"] = lambda request: Reply(body={"version": "0.19.1"})
        assert (await EntryPointBackends().detect(server.url)).version == "0.19.1"
        backend = EntryPointBackends().open(Endpoint("e", "e", server.url, "openai"))
        assert (await backend.list_models())[0].context_length == 8192
        await backend.aclose()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(body="<title>Grafana</title>"), ProtocolError),
        (Reply(body={"hello": "world"}), ProtocolError),
        (Reply(404, "<h1>Not Found</h1>"), ProtocolError),
        (Reply(302, headers={"Location": "https://sso.example/login"}), ProtocolError),
        (error_reply(401, "who are you"), AuthError),
        (error_reply(503, "later"), RateLimitedError),
    ],
)
async def test_what_is_no_inference_server_is_refused_with_the_reason(reply: Reply, error: type[Exception]) -> None:
    async with FakeServer() as server:
        server.routes["GET /v1/models"] = lambda request: reply
        with pytest.raises(error):
            await EntryPointBackends().detect(server.url)
        assert set(server.paths.values()) == {1}


async def test_nobody_at_home_is_unreachable() -> None:
    async with FakeServer() as server:
        url = server.url
    with pytest.raises(UnreachableError):
        await EntryPointBackends().detect(url)


async def test_the_secret_is_resolved_for_the_endpoints_own_reference() -> None:
    asked: list[tuple[str, str]] = []

    async def resolve(reference: str, origin: str) -> Plain:
        asked.append((reference, origin))
        return Plain()

    async with FakeServer(api_key=Plain().reveal()) as server:
        backends = EntryPointBackends(resolve_secret=resolve)
        assert (await backends.detect(server.url, "env:LLMBENCH_KEY_A")).backend == "openai"
        with pytest.raises(AuthError):
            await backends.detect(server.url)
    assert set(asked) == {("env:LLMBENCH_KEY_A", server.url)}


def test_the_backends_of_this_package_are_installed() -> None:
    assert {"llamacpp", "openai"} <= set(EntryPointBackends().names())


def test_an_unknown_backend_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SetupError, match="llamacpp"):
        EntryPointBackends().open(Endpoint("e", "e", "http://127.0.0.1:1", "lamacpp"))
