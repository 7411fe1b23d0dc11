from __future__ import annotations

import pytest

from llmbench_mcp.domain.credential import check_name, expiry, name_after, stored_name
from llmbench_mcp.domain.errors import InputError

NOW = "2026-11-30T12:00:00.000Z"


@pytest.mark.parametrize(
    "name",
    ["office", "a", "vLLM-box_2.local", "x" * 40, "192.168.1.100-11434", "llamacpp-192.168.1.100", "ollama-11434"],
)
def test_a_plain_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a/b", "ä", "x" * 41, "a\n", "stored:a"])
def test_what_is_no_plain_name_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_name(name)


@pytest.mark.parametrize(
    "key", ["sk-live-1234567890abc", "hf_abcdefghijklmnop", "zz-7f3a9c51d2e8", "ghp_A1b2C3d4E5f6G7", "0a1b2c3d4e5f"]
)
def test_a_key_given_as_a_name_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(InputError, match="looks like a key") as caught:
        check_name(key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "name"), [("box", "box"), ("my box (2)", "my-box-2"), ("***", "endpoint"), ("x" * 60, "x" * 40)]
)
def test_a_name_is_made_of_an_endpoints(endpoint: str, name: str) -> None:
    assert name_after(endpoint) == check_name(name)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("30d", "2026-12-30T12:00:00.000Z"),
        ("12h", "2026-12-01T00:00:00.000Z"),
        ("90 m", "2026-11-30T13:30:00.000Z"),
        ("4w", "2026-12-28T12:00:00.000Z"),
        ("2027-01-31", "2027-01-31T00:00:00.000Z"),
    ],
)
def test_a_time_limit_ends_when_it_says(text: str, end: str) -> None:
    assert expiry(text, NOW) == end


@pytest.mark.parametrize("text", ["", "soon", "0d", "-1d", "2026-11-30", "2026-02-31", "30", "1e3d", "99999d"])
def test_what_is_no_time_limit_or_is_over_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        expiry(text, NOW)


def test_a_stored_reference_is_told_from_others() -> None:
    assert (stored_name("stored:office"), stored_name("env:X"), stored_name(None)) == ("office", None, None)
