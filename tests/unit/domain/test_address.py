from __future__ import annotations

import pytest

from llmbench_mcp.domain.address import is_agent_reachable, parse_address
from llmbench_mcp.domain.errors import InputError


@pytest.mark.parametrize(
    ("typed", "base"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080//v1//", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/models/", "http://127.0.0.1:8080"),
        ("  http://127.0.0.1:8080 ", "http://127.0.0.1:8080"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),  # no scheme means http
        ("gpubox.lan:8000/v1", "http://gpubox.lan:8000"),
        ("localhost", "http://localhost:80"),
        ("HTTPS://API.Example.COM./v1", "https://api.example.com:443"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),  # IPv6 keeps its brackets
        ("http://127.0.0.1:8080/llm/api/v1/", "http://127.0.0.1:8080/llm/api"),
        ("http://127.0.0.1:8080/v1beta", "http://127.0.0.1:8080/v1beta"),
        ("http://0xbox.lan", "http://0xbox.lan:80"),
        ("http://10.box", "http://10.box:80"),
    ],
)
def test_every_form_of_an_address_becomes_one(typed: str, base: str) -> None:
    assert parse_address(typed).base == base


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "empty"),
        ("http://", "no host"),
        ("ftp://127.0.0.1/", "'ftp'"),
        ("file:///etc/passwd", "'file'"),
        ("http://127.0.0.1:99999", "bad host or port"),
        ("http://127.0.0.1:0", "port 0"),
        ("http://[::1", "bad host or port"),
        ("http://127.0.0.1:8080/v1?key=1", "query"),
        ("http://2130706433:19100", "'2130706433' is no IPv4 address"),
        ("http://0x7f000001", "IPv4"),
        ("http://127.1:80", "IPv4"),
        ("http://0177.0.0.1", "IPv4"),
        ("http://0x7F.0.0.1", "IPv4"),
        ("http://256.1.1.1", "IPv4"),
        ("http://1.2.3.4.5", "IPv4"),
        ("http://１２７.0.0.1", "IPv4"),  # noqa: RUF001 - full-width digits on purpose
        (f"http://{100_000 * 'a'}:1", "100009 characters"),
        (f"{1000 * 's'}://host", "'sss.*…' is not served"),
        ("http://a b", "blanks"),
        ("http://a\x00b", "blanks"),
    ],
)
def test_what_is_no_address_is_refused_with_a_hint(typed: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        parse_address(typed)
    assert refused.value.next_step
    assert len(str(refused.value)) < 300


def test_a_password_in_an_address_is_refused_without_being_shown() -> None:
    with pytest.raises(InputError) as refused:
        parse_address("http://user:s3cretpw@127.0.0.1:8080/v1")
    assert "s3cretpw" not in str(refused.value)


@pytest.mark.parametrize(
    ("ips", "near"),
    [
        (["127.0.0.1"], True),
        (["::1"], True),
        (["192.168.1.20"], True),
        (["10.0.0.5", "fd00::5"], True),
        (["169.254.169.254"], False),  # cloud metadata
        (["fe80::1"], False),
        (["0.0.0.0"], False),
        (["8.8.8.8"], False),
        (["127.0.0.1", "8.8.8.8"], False),  # one far address among near ones
        (["::ffff:169.254.169.254"], False),
        ([], False),
    ],
)
def test_agents_reach_only_this_machine_and_private_networks(ips: list[str], near: bool) -> None:
    assert is_agent_reachable(ips) is near
