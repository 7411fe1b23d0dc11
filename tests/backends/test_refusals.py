from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.backends.retry_after import retry_after_s
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import (
    AuthError,
    EndpointError,
    EndpointTimeout,
    IncompatibleError,
    ModelNotAvailable,
    PromptTooLong,
    ProtocolError,
    RateLimitedError,
    ServerFault,
    UnreachableError,
)
from llmbench_mcp.testing.fake_server import CHAT, FakeServer, Received
from llmbench_mcp.testing.replies import Gate, Reply, error_reply, text_reply
from tests.backends.support import answer_to, ask, client, giving, openai_at

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "message", "kind", "expected"),
    [
        (400, "request (9009 tokens) exceeds the available context size", "exceed_context_size_error", PromptTooLong),
        (400, "This model's maximum context length is 4096 tokens.", "BadRequestError", PromptTooLong),
        (500, "the request exceeds the available context size", "server_error", PromptTooLong),
        (400, "model is not loaded", "invalid_request_error", ModelNotAvailable),
        (400, "model 'nope' not found", "invalid_request_error", ModelNotAvailable),
        (404, "The model `nope` does not exist.", "NotFoundError", ModelNotAvailable),
        (404, "no such thing", "not_found_error", ModelNotAvailable),
        (404, "File Not Found", "not_found_error", ProtocolError),
        (405, "Method not allowed", "x", ProtocolError),
        (400, "This model does not support tools", "invalid_request_error", IncompatibleError),
        (400, "no chat template is defined for this tokenizer", "BadRequestError", IncompatibleError),
        (501, "This server does not support embeddings", "not_supported_error", IncompatibleError),
        (400, "bad schema", "invalid_request_error", ServerFault),
        (401, "Invalid API Key", "authentication_error", AuthError),
        (403, "not yours", "permission_error", AuthError),
        (408, "slow", "timeout", RateLimitedError),
        (429, "busy", "rate_limit", RateLimitedError),
        (503, "Loading model", "unavailable_error", RateLimitedError),
        (500, "boom", "server_error", ServerFault),
        (502, "bad gateway", "server_error", ServerFault),
    ],
)
async def test_a_refusal_becomes_the_error_one_can_act_on(
    status: int, message: str, kind: str, expected: type[EndpointError]
) -> None:
    with pytest.raises(EndpointError) as caught:
        await answer_to(error_reply(status, message, kind=kind))
    assert type(caught.value) is expected
    assert message in caught.value.what
    assert caught.value.next_step


@pytest.mark.parametrize(
    "body", [{"error": "Unauthorized"}, {"object": "error", "message": "Unauthorized"}, {"detail": "Unauthorized"}]
)
async def test_error_bodies_of_every_shape_are_read(body: dict[str, str]) -> None:
    with pytest.raises(AuthError, match="Unauthorized"):
        await answer_to(Reply(401, body))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": 429, "message": "busy"}, RateLimitedError),
        ({"code": "503", "message": "busy"}, RateLimitedError),
        ({"code": None, "type": "rate_limit_error", "message": "busy"}, RateLimitedError),
        ({"code": 401, "message": "who?"}, AuthError),
        ({"code": 404, "message": "gone"}, ModelNotAvailable),
        ({"code": "model_not_found", "message": "gone"}, ModelNotAvailable),
        ({"code": 400, "message": "bad schema"}, ServerFault),
        ({"message": "something"}, ServerFault),
        ("something", ServerFault),
    ],
)
async def test_an_error_inside_a_200_is_an_error(error: object, expected: type[EndpointError]) -> None:
    with pytest.raises(EndpointError) as caught:
        await answer_to(Reply(body={"id": None, "choices": None, "error": error}))
    assert type(caught.value) is expected


async def test_a_login_page_is_named_as_a_web_page() -> None:
    page = Reply(body="<html><title>Sign in \x1b[31m</title><h1>login</h1>")
    with pytest.raises(ProtocolError, match=r"web page \(title 'Sign in \\x1b") as caught:
        await answer_to(page)
    assert "\x1b" not in str(caught.value)
    async with FakeServer() as server, openai_at(server.url) as backend:
        server.routes["GET /v1/models"] = lambda request: page
        with pytest.raises(ProtocolError, match="web page"):
            await backend.list_models()


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"[1]", b"{broken", b"[" * 50_000, {"data": 7}, {"models": []}, {"object": "list"}]
)
async def test_a_model_list_that_is_none_is_a_protocol_error(body: bytes | dict[str, object]) -> None:
    async with FakeServer() as server, openai_at(server.url) as backend:
        server.routes["GET /v1/models"] = lambda request: Reply(body=body)
        with pytest.raises(ProtocolError):
            await backend.list_models()


async def test_a_redirect_is_not_followed_and_its_target_is_named_without_secrets() -> None:
    async with FakeServer() as other, FakeServer() as server, openai_at(server.url) as backend:
        location = f"http://user:pw@127.0.0.1:{other.port}/v1/models?key=secret"
        server.routes["GET /v1/models"] = lambda request: Reply(307, headers={"Location": location})
        with pytest.raises(ProtocolError, match=f"redirects to http://127.0.0.1:{other.port} ") as caught:
            await backend.list_models()
        assert other.requests == []
    assert "pw" not in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_redirect_to_nonsense_is_still_a_redirect() -> None:
    with pytest.raises(ProtocolError, match="redirects to an unreadable address"):
        await answer_to(Reply(302, headers={"Location": "http://[oops/"}))


async def test_an_error_in_plain_text_is_passed_on_and_a_missing_page_is_no_missing_model() -> None:
    with pytest.raises(ServerFault, match="upstream exited"):
        await answer_to(Reply(502, b"upstream exited\n"))
    with pytest.raises(ProtocolError):
        await answer_to(Reply(404, b"404 page not found"))


async def test_the_wait_travels_with_an_error_inside_a_200_too() -> None:
    busy = Reply(body={"error": {"code": 429, "message": "busy"}}, headers={"Retry-After": "4"})
    with pytest.raises(RateLimitedError) as caught:
        await answer_to(busy)
    assert caught.value.retry_after_s == 4.0


async def test_nothing_listening_is_said_with_the_address() -> None:
    async with FakeServer() as server:
        url = server.url
    async with openai_at(url) as backend:
        with pytest.raises(UnreachableError, match=f"Nothing answers at {url}: connection refused."):
            await ask(backend)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70 + ".invalid", "☃.invalid", "a..b"])
async def test_a_host_that_does_not_exist_is_unreachable(host: str) -> None:
    async with openai_at(f"http://{host}:8000") as backend:
        with pytest.raises(UnreachableError):
            await backend.list_models()
        with pytest.raises(UnreachableError):
            await ask(backend)


async def test_a_server_that_does_not_speak_http_is_a_protocol_error() -> None:
    def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server, openai_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as backend:
        with pytest.raises(EndpointError):
            await backend.list_models()


@pytest.mark.parametrize("raw", [b"HTTP/1.1 401 No\r\nzz-LIVE x: y\r\n\r\n", b"zz-LIVE\r\n\r\n"])
async def test_what_is_told_of_garbled_http_repeats_nothing_of_it_for_it_may_hold_a_key(raw: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server, openai_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as backend:
        for question in (backend.list_models, lambda: ask(backend)):
            with pytest.raises(EndpointError) as caught:
                await question()
            assert "zz-LIVE" not in str(caught.value)


async def test_an_answer_that_never_ends_times_out() -> None:
    async with FakeServer() as server:
        server.routes["GET /slow"] = lambda request: Reply(before=Gate())
        http = client(server.url)
        with pytest.raises(EndpointTimeout):
            await http.request("GET", "/slow", total_s=0.05)
        await http.aclose()


async def test_bodies_are_read_up_to_a_limit_only() -> None:
    async with FakeServer() as server, openai_at(server.url) as backend:
        server.routes["GET /v1/models"] = lambda request: Reply(body=b"[" + b" " * (9 * 1024 * 1024))
        with pytest.raises(ProtocolError, match="more than"):
            await backend.list_models()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=2), usegmt=True)}, 2.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "NaN"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Sat, 99 Jan 2026 12:00:00 GMT"}, None),
        ({"retry-after": "7200"}, 7200.0),
        ({"retry-after-ms": "junk", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW) == expected


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        ("2", "Try again in 2 s."),
        ("600", "Try again in 10 min."),
        ("7200", "Try again in 2 h."),
        ("259200", "Try again in 3 days."),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "Try again later: the server asks to wait for more than a year."),
    ],
)
async def test_how_long_to_wait_is_told_in_a_measure_for_people(wait: str, told: str) -> None:
    with pytest.raises(RateLimitedError) as caught:
        await answer_to(error_reply(429, "slow down", retry_after=wait))
    assert caught.value.next_step == told


async def test_the_wait_travels_with_the_error() -> None:
    with pytest.raises(RateLimitedError) as caught:
        await answer_to(error_reply(429, "slow down", retry_after="2"))
    assert caught.value.retry_after_s == 2.0


async def test_a_server_that_refuses_stream_options_is_asked_again_without() -> None:
    def script(request: Received) -> Reply:
        if "stream_options" in request.body:
            return error_reply(400, "stream_options is not supported", kind="invalid_request_error")
        return text_reply("fine")

    async with FakeServer(script=script) as server, openai_at(server.url) as backend:
        assert (await ask(backend)).text == "fine"
        assert server.count(CHAT) == 2


async def test_the_credential_is_sent_as_bearer_and_kept_out_of_messages() -> None:
    secret = "zz-LIVE-7f3a9c51d2e8"
    options = ClientOptions(giving(secret), lambda text: text.replace(secret, "[redacted]"))
    async with FakeServer(api_key=secret) as server:
        http = HttpClient(parse_address(server.url), options)
        await http.get_json("/v1/models")
        server.api_key = None
        server.routes["GET /v1/models"] = lambda r: error_reply(401, f"bad key {secret}")
        with pytest.raises(AuthError, match=r"bad key \[redacted\]") as caught:
            await http.get_json("/v1/models")
        await http.aclose()
    assert secret not in str(caught.value)


async def test_proxy_variables_are_ignored_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with FakeServer() as server, openai_at(server.url) as backend:
        assert [model.served_name for model in await backend.list_models()] == ["m"]


async def test_no_request_rides_on_a_connection_the_server_may_be_closing() -> None:
    async with FakeServer() as server, openai_at(server.url) as backend:
        for _ in range(3):
            await ask(backend)
        assert server.connections == len(server.requests) == 3
