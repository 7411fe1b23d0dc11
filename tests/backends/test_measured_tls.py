"""TLS on the measured path and beside it: verified always, by the system's authorities or one pinned certificate."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from llmbench_mcp.backends.client import ClientOptions, HttpClient
from llmbench_mcp.domain.address import parse_address
from llmbench_mcp.domain.errors import SetupError, UnreachableError
from tests.backends.raw_server import always, raw_server, read_request

BODY = b'{"a": 1}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + BODY


def certificate(folder: Path, name: str) -> tuple[Path, str]:
    """A self-signed one: a file with key and certificate, and the certificate's PEM text."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.now(UTC) - timedelta(days=1)
    made = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(start).not_valid_after(start + timedelta(days=30))
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(secret + pem)
    return file, pem.decode("ascii")


@asynccontextmanager
async def tls_server(file: Path, *answers: bytes) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    async with raw_server(always(*answers), context) as port:
        yield f"https://127.0.0.1:{port}"


async def streamed(client: HttpClient) -> bytes:
    async with client.stream("/x", {}, stall_s=10) as stream:
        return b"".join([piece async for piece, _ in stream.reads()])


async def test_a_pinned_certificate_is_trusted_whatever_it_calls_itself(tmp_path: Path) -> None:
    file, pem = certificate(tmp_path, "somebody.example")
    async with tls_server(file, ANSWER) as url:
        client = HttpClient(parse_address(url), ClientOptions(certificate=pem))
        assert await streamed(client) == BODY
        assert await client.post_json("/x", {}) == {"a": 1}
        await client.aclose()


@pytest.mark.parametrize("pinned", [True, False])
async def test_any_other_certificate_is_refused(tmp_path: Path, pinned: bool) -> None:
    file, _ = certificate(tmp_path, "127.0.0.1")
    other = certificate(tmp_path, "other")[1] if pinned else None
    async with tls_server(file, ANSWER) as url:
        client = HttpClient(parse_address(url), ClientOptions(certificate=other))
        with pytest.raises(UnreachableError, match="TLS failed"):
            await streamed(client)
        with pytest.raises(UnreachableError, match="TLS failed"):
            await client.post_json("/x", {})
        await client.aclose()


async def test_a_pin_that_is_no_certificate_is_refused_at_once() -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        HttpClient(parse_address("https://127.0.0.1"), ClientOptions(certificate="-----BEGIN nonsense"))


async def test_a_connection_with_tls_is_used_again(tmp_path: Path) -> None:
    """The handshake is dear, so that here the default is to keep it."""
    connections = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await always(ANSWER)(reader, writer)

    file, pem = certificate(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    async with raw_server(handler, context) as port:
        client = HttpClient(parse_address(f"https://127.0.0.1:{port}"), ClientOptions(certificate=pem))
        assert [await streamed(client) for _ in range(3)] == [BODY] * 3
        await client.aclose()
    assert connections == 1


async def test_plain_http_to_a_tls_port_and_the_other_way_round_fail_cleanly(tmp_path: Path) -> None:
    file, pem = certificate(tmp_path, "127.0.0.1")

    async def no_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with tls_server(file, ANSWER) as url, raw_server(no_tls) as plain:
        client = HttpClient(parse_address(url.replace("https", "http")))
        with pytest.raises(UnreachableError):
            await streamed(client)
        await client.aclose()
        client = HttpClient(parse_address(f"https://127.0.0.1:{plain}"), ClientOptions(certificate=pem))
        with pytest.raises(UnreachableError):
            await streamed(client)
        await client.aclose()


async def test_servers_elsewhere_are_asked_through_the_proxy_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        seen.append(head.split("\r\n")[0])
        writer.write(ANSWER)

    async with raw_server(proxy) as port:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("NO_PROXY", "")
        client = HttpClient(parse_address("http://model.example:8000/llm"))
        async with client.stream("/x", {}, stall_s=10) as stream:
            assert [piece async for piece, _ in stream.reads()] == [BODY]
            assert stream.sent_at is not None
        await client.aclose()
    assert [urlsplit(line.split()[1]).netloc for line in seen] == ["model.example:8000"]
