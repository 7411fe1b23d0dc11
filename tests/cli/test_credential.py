"""``credential``: keys go in by hand or by pipe, and never come out again."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import CLOSED_PORT_URL, Result, environment, running
from tests.support.keyrings import MemoryKeyring, using

KEY = "zz-LIVE-cli7f3a9c51d2e8"
Piped = Callable[..., Result]


@pytest.fixture
def piped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Piped:
    """A command with text on its standard input; keys go into the vault."""
    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "vault")

    def call(text: str, *argv: str) -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return cli(*argv)

    return call


def test_a_key_from_a_pipe_is_stored_and_told_by_state_only(piped: Piped, cli: Cli, data_dir: Path) -> None:
    stored = piped(f"{KEY}\n", "credential", "set", "office", "--origin", "http://10.0.0.5:8000/v1", "--expires", "30d")
    assert stored.code == exit_codes.OK
    assert "for http://10.0.0.5:8000 only" in stored.out
    assert "endpoint add http://10.0.0.5:8000 --credential stored:office" in stored.out
    (listed,) = cli("credential", "list", "--json").json["credentials"]
    assert (listed["reference"], listed["state"], listed["place"]) == ("stored:office", "set", "vault")
    assert (listed["origin"], listed["used_by"]) == ("http://10.0.0.5:8000", [])
    assert listed["expires_at"] > listed["set_at"]
    assert cli("credential", "status", "office", "--json").json["credential"] == listed
    said = stored.out + stored.err + cli("credential", "list").out + cli("credential", "status", "office").out
    assert KEY not in said
    assert [path for path in data_dir.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_stored_key_opens_its_server_and_no_other(piped: Piped, cli: Cli) -> None:
    with running(FakeServer(["alpha"], api_key=KEY)) as mine, running(FakeServer(["alpha"])) as other:
        piped(KEY, "credential", "set", "office")
        added = cli("endpoint", "add", mine.url, "--name", "box", "--credential", "stored:office", "--json")
        refused = cli("endpoint", "add", other.url, "--credential", "stored:office")
        probed = cli("endpoint", "probe", other.url, "--credential", "stored:office")
        listed = cli("endpoint", "list", "--json").json["endpoints"]
    assert added.json["endpoint"]["credential_ref"] == "stored:office"
    (known,) = cli("credential", "list", "--json").json["credentials"]
    assert (known["origin"], known["used_by"]) == (mine.url, ["box"])
    for said in (refused, probed):
        assert said.code == exit_codes.FAILED
        assert f"belongs to {mine.url} and is never sent to {other.url}" in said.err
    assert other.requests == []
    assert [(row["reachable"], row["credential_state"]) for row in listed] == [(True, "set")]


def test_a_key_can_be_set_for_an_endpoint_that_is_there(piped: Piped, cli: Cli) -> None:
    with running(FakeServer(["alpha"])) as box:
        cli("endpoint", "add", box.url, "--name", "box")
        box.api_key = KEY
        assert cli("endpoint", "list", "--json").json["endpoints"][0]["state"] == "no_access"
        stored = piped(KEY, "credential", "set", "office", "--endpoint", "box", "--json").json["credential"]
        (endpoint,) = cli("endpoint", "list", "--json").json["endpoints"]
    assert (stored["origin"], stored["used_by"]) == (box.url, ["box"])
    assert (endpoint["state"], endpoint["credential_ref"]) == ("reachable", "stored:office")


def test_an_endpoints_credential_is_changed_and_taken_away(
    piped: Piped, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_BOX", KEY)
    with running(FakeServer(["alpha"])) as box:
        cli("endpoint", "add", box.url, "--name", "box")
        piped(KEY, "credential", "set", "office")
        changed = [
            cli("endpoint", "set", "box", *words, "--json").json["endpoint"]["credential_ref"]
            for words in (
                ["--credential", "stored:office"],
                ["--credential", "env:LLMBENCH_KEY_BOX"],
                ["--no-credential"],
            )
        ]
    assert changed == ["stored:office", "env:LLMBENCH_KEY_BOX", None]
    assert cli("endpoint", "set", "box").code == exit_codes.USAGE
    for wrong in (KEY, "stored:nobody"):
        said = cli("endpoint", "set", "box", "--credential", wrong)
        assert said.code == exit_codes.FAILED
        assert KEY not in said.out + said.err


def test_a_forgotten_key_is_gone_from_the_vault_and_from_its_endpoints(piped: Piped, cli: Cli, data_dir: Path) -> None:
    with running(FakeServer(["alpha"], api_key=KEY)) as box:
        piped(KEY, "credential", "set", "office")
        cli("endpoint", "add", box.url, "--name", "box", "--credential", "stored:office")
        vault = (data_dir / "credentials" / "vault").read_bytes()
        gone = cli("credential", "forget", "office", "--json").json["forgotten"]
        (endpoint,) = cli("endpoint", "list", "--json").json["endpoints"]
    assert gone["used_by"] == ["box"]
    assert (endpoint["credential_ref"], endpoint["state"]) == (None, "no_access")
    assert len((data_dir / "credentials" / "vault").read_bytes()) < len(vault)
    assert cli("credential", "list", "--json").json == {"credentials": []}
    assert "No credential named 'office'" in cli("credential", "forget", "office").err


def test_a_key_entered_anew_keeps_its_origin_and_replaces_the_old_one(piped: Piped, cli: Cli) -> None:
    with running(FakeServer(["alpha"], api_key=KEY)) as box:
        piped("zz-WRONG-7f3a9c51d2e8", "credential", "set", "office", "--origin", box.url)
        refused = cli("endpoint", "add", box.url, "--credential", "stored:office")
        piped(KEY, "credential", "set", "office")
        added = cli("endpoint", "add", box.url, "--credential", "stored:office")
        moved = piped(KEY, "credential", "set", "office", "--origin", CLOSED_PORT_URL)
    assert "refused access" in refused.err
    assert added.code == exit_codes.OK
    assert f"belongs to {box.url}, not to {CLOSED_PORT_URL}" in moved.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Nothing was entered"),
        ("tiny-7", "fewer than 8"),
        ("password", "word or number"),
        ("zz-LIVE 7f3a9c51d2e8", "no key has"),
        (f"{KEY}\n{KEY}", "no key has"),
        ("zz-LIVE-é7f3a9c51", "no key has"),
        ("zz-" + "aB3" * 2000, "more than 4096"),
    ],
)
def test_what_is_no_key_is_refused_and_not_repeated(piped: Piped, cli: Cli, text: str, told: str) -> None:
    said = piped(text, "credential", "set", "office")
    assert said.code == exit_codes.FAILED
    assert told in said.err
    assert not text.strip() or text not in said.out + said.err
    assert cli("credential", "list", "--json").json == {"credentials": []}


def test_a_key_is_not_taken_from_the_arguments(piped: Piped) -> None:
    as_name = piped("", "credential", "set", "sk-live-1234567890abc")
    too_many = piped("", "credential", "set", "office", KEY)
    assert (as_name.code, too_many.code) == (exit_codes.FAILED, exit_codes.USAGE)
    assert "looks like a key" in as_name.err
    assert "sk-live" not in as_name.err


def test_wrong_options_are_told_before_a_key_is_asked_for(piped: Piped) -> None:
    assert "no time limit" in piped(KEY, "credential", "set", "office", "--expires", "soon").err
    assert "There is no endpoint" in piped(KEY, "credential", "set", "office", "--endpoint", "nobody").err
    assert "user name or password" in piped(KEY, "credential", "set", "office", "--origin", "http://a:b@c").err


def test_an_expired_key_is_told_and_not_sent(piped: Piped, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(FakeServer(["alpha"], api_key=KEY)) as box:
        piped(KEY, "credential", "set", "office", "--expires", "1d")
        cli("endpoint", "add", box.url, "--name", "box", "--credential", "stored:office")
        asked = len(box.requests)
        monkeypatch.setattr("llmbench_mcp.domain.clock.SystemClock.utc_now", lambda clock: "2100-01-01T00:00:00.000Z")
        said = cli("endpoint", "list", "--json").json["endpoints"][0]
        assert len(box.requests) == asked
    assert said["credential_state"] == "expired"
    assert "expired at" in said["error"]
    assert "credential set office" in said["error"]
    assert cli("credential", "status", "office", "--json").json["credential"]["state"] == "expired"


def test_the_systems_keyring_is_used_where_there_is_one(
    piped: Piped, cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = MemoryKeyring()
    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "auto")
    with using(ring), running(FakeServer(["alpha"], api_key=KEY)) as box:
        assert piped(KEY, "credential", "set", "office", "--json").json["credential"]["place"] == "keyring"
        assert cli("endpoint", "add", box.url, "--credential", "stored:office").code == exit_codes.OK
        assert list(ring.kept.values()) == [KEY]
        ring.kept.clear()
        lost = cli("credential", "status", "office", "--json").json["credential"]
        assert lost["problem"] == "It is no longer in the keyring."
        assert "no longer in the keyring" in cli("endpoint", "list", "--json").json["endpoints"][0]["error"]
        assert cli("credential", "forget", "office").code == exit_codes.OK
    assert not (data_dir / "credentials").exists()


def test_variables_that_endpoints_use_are_listed_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_BOX", KEY)
    with running(FakeServer(["alpha"], api_key=KEY)) as box:
        cli("endpoint", "add", box.url, "--name", "box", "--credential-env", "LLMBENCH_KEY_BOX")
    (there,) = cli("credential", "list", "--json").json["credentials"]
    monkeypatch.delenv("LLMBENCH_KEY_BOX")
    (gone,) = cli("credential", "list", "--json").json["credentials"]
    assert (there["reference"], there["place"], there["state"]) == ("env:LLMBENCH_KEY_BOX", "environment", "set")
    assert (gone["state"], gone["used_by"]) == ("not set", ["box"])


def test_the_doctor_says_where_keys_go_and_which_are_of_no_use(
    piped: Piped, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> tuple[str, str]:
        (check,) = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "credentials"]
        return check["state"], check["found"]

    piped(KEY, "credential", "set", "office", "--expires", "1d")
    assert told() == ("ok", "1 known; the next one entered goes into the vault")
    monkeypatch.setattr("llmbench_mcp.domain.clock.SystemClock.utc_now", lambda clock: "2100-01-01T00:00:00.000Z")
    monkeypatch.setenv("LLMBENCH_CREDENTIAL_STORE", "keyring")
    with using(MemoryKeyring()):
        state, found = told()
    assert state == "warn"
    assert "keyring (" in found
    assert "stored:office (expired)" in found


def test_a_key_typed_at_a_terminal_is_not_echoed(cli: Cli, data_dir: Path) -> None:
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "llmbench_mcp", "credential", "set", "office", "--json"],
        env=environment(data_dir, LLMBENCH_CREDENTIAL_STORE="vault"),
        stdin=side,
        stdout=subprocess.PIPE,
        stderr=side,
        start_new_session=True,
        text=True,
    )
    os.close(side)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(main, 1000)
    os.write(main, KEY.encode() + b"\n")
    out, _ = process.communicate(timeout=60)
    with suppress(OSError):  # the other side is closed
        while more := os.read(main, 1000):
            shown += more
    os.close(main)
    assert '"state": "set"' in out
    assert shown.endswith(b"(not shown): \r\n")
    assert KEY not in out
    assert cli("credential", "status", "office", "--json").json["credential"]["problem"] is None
