from __future__ import annotations

import base64
import json
import logging
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmbench_mcp.credentials.environment import Secret, all_keys, check_reference, resolve
from llmbench_mcp.credentials.redact import PLACEHOLDER, RedactingFormatter, Redactor
from llmbench_mcp.domain.errors import AuthError, InputError

KEY = "zz-LIVE/7f3a9c+51d2e8"


def test_a_secret_never_shows_itself() -> None:
    secret = Secret(KEY)
    shown = f"{secret} {secret!r} {secret!s} {[secret]} {(secret,)}"
    assert KEY not in shown
    assert secret.reveal() == KEY
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_a_reference_is_resolved_from_the_environment() -> None:
    assert resolve("env:LLMBENCH_KEY_A", {"LLMBENCH_KEY_A": f" {KEY}\n"}) == Secret(KEY)
    assert resolve(None, {}) is None


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "   ", "test", "1234567", "with blank inside", "line\nbreak-key"),
        *("password", "Password", "CHANGE_ME", "authorization", "not-needed", "sk-no-key-required", "12345678"),
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ],
)
def test_a_missing_or_useless_key_is_refused_by_its_variable(value: str | None) -> None:
    environment = {} if value is None else {"LLMBENCH_KEY_A": value}
    with pytest.raises(AuthError, match="LLMBENCH_KEY_A") as caught:
        resolve("env:LLMBENCH_KEY_A", environment)
    assert not (value and value.strip()) or value not in str(caught.value)


@pytest.mark.parametrize("value", [KEY, "sk-abc12345", "correct-horse-battery-staple", "AKIAIOSFODNNQXAMPLEB"])
def test_what_could_be_a_key_is_one(value: str) -> None:
    assert resolve("env:LLMBENCH_KEY_A", {"LLMBENCH_KEY_A": value}) == Secret(value)


def test_a_common_word_kept_as_a_key_is_not_taken_out_of_texts() -> None:
    known = {"LLMBENCH_KEY_A": "password", "LLMBENCH_KEY_B": KEY}
    assert all_keys(known) == [Secret(KEY)]


@pytest.mark.parametrize("ref", ["", "env:", "LLMBENCH_KEY_A", "env:A B", "env:A\n", "file:/etc/passwd", KEY])
def test_what_is_no_reference_is_refused_without_repeating_a_key(ref: str) -> None:
    with pytest.raises(InputError) as caught:
        check_reference(ref, by_agent=False)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "LLMBENCH_KEY_", "XLLMBENCH_KEY_A", "HOME"]
)
def test_an_agent_names_only_variables_made_for_it(name: str) -> None:
    assert check_reference(f"env:{name}", by_agent=False) == name
    with pytest.raises(InputError, match="may not be named"):
        check_reference(f"env:{name}", by_agent=True)


def test_an_agent_may_name_a_key_variable() -> None:
    assert check_reference("env:LLMBENCH_KEY_OFFICE_2", by_agent=True) == "LLMBENCH_KEY_OFFICE_2"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY.upper(),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower(),
        quote_plus(KEY),
        json.dumps(KEY),
        KEY.replace("-", "%2D").replace("/", "%252f"),
        "".join(f"%{ord(char):02X}" for char in KEY),
        KEY.replace("+", "\\u002b"),
        KEY.encode().hex(),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"Bearer {KEY}".encode()).decode(),
        base64.b64encode(f"x{KEY}yz".encode()).decode(),
    ],
)
def test_a_known_key_is_replaced_in_every_form(form: str) -> None:
    shown = Redactor([Secret(KEY)]).redact(f"the server said {form!s} and no more")
    assert PLACEHOLDER in shown
    assert KEY.lower() not in shown.lower()
    assert form.strip('"')[4:-4] not in shown
    assert shown.startswith("the server said ")
    assert shown.endswith(" and no more")


@given(
    before=st.binary(max_size=9), after=st.binary(max_size=9), key=st.text("abcXYZ0189-_/+.", min_size=12, max_size=40)
)
def test_a_key_inside_anything_in_base64_is_replaced(before: bytes, after: bytes, key: str) -> None:
    encoded = base64.b64encode(before + key.encode() + after).decode()
    assert PLACEHOLDER in Redactor([Secret(key)]).redact(encoded)


@settings(deadline=None)
@given(
    key=st.text("abcXYZ0189-_/+.%\\u", min_size=8, max_size=30),
    ways=st.lists(st.sampled_from(["{0}", "%{1}", "%25{1}", "%2525{1}", "\\u00{1}"]), min_size=30, max_size=30),
    around=st.text("klm ,;", max_size=5),
)
def test_a_key_whose_characters_are_escaped_in_different_ways_is_replaced(
    key: str, ways: list[str], around: str
) -> None:
    spelled = "".join(way.format(char, f"{ord(char):02x}") for char, way in zip(key, ways, strict=False))
    assert Redactor([Secret(key)]).redact_known(f"{around}{spelled}{around}") == f"{around}{PLACEHOLDER}{around}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer sk-abc12345", "Authorization: Bearer [redacted]"),
        ("GET /v1/models?api_key=abc&x=1", "GET /v1/models?api_key=[redacted]&x=1"),
        ("https://h/p?key=abc123", "https://h/p?key=[redacted]"),
        ("x-api-key: abcdef12345", "x-api-key: [redacted]"),
        ('{"authorization": "abcdef12345"}', '{"authorization": "[redacted]"}'),
    ],
)
def test_unknown_keys_are_recognised_by_their_place(text: str, shown: str) -> None:
    assert Redactor().redact(text) == shown


@pytest.mark.parametrize(
    "text",
    ["a test of the key idea", "Bearer authentication is needed", "monkey=banana", "the token count: 12345678"],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor([Secret("test")]).redact(text) == text


def test_a_models_answer_keeps_what_only_looks_like_a_key() -> None:
    redactor = Redactor()
    resolve_and_know = redactor.remembering(lambda reference: Secret(KEY))
    assert resolve_and_know("env:LLMBENCH_KEY_A") == Secret(KEY)
    answer = 'headers = {"Authorization": "Bearer abc12345"}  # '
    assert redactor.redact_known(answer + KEY) == answer + PLACEHOLDER


def test_a_log_record_is_written_without_keys_its_traceback_included() -> None:
    formatter = RedactingFormatter(Redactor([Secret(KEY)]), "%(name)s: %(message)s")
    try:
        raise ValueError(f"no {KEY} here")
    except ValueError as error:
        trace = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "sent %s", (KEY,), trace)
    text = formatter.format(record)
    assert text.startswith("x: sent [redacted]\n  Traceback")
    assert text.endswith("ValueError: no [redacted] here")
    assert KEY not in text


def test_redacting_a_long_hostile_text_takes_no_time_to_speak_of() -> None:
    hostile = "bearer+" * 100_000 + "authorization " * 50_000 + "%25" * 100_000 + KEY[:-1] * 20_000
    assert Redactor([Secret(KEY)]).redact(hostile)
