from __future__ import annotations

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import Reply
from tests.cli.conftest import Cli
from tests.cli.support import CLOSED_PORT_URL, running, speaking


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_an_address_is_taken_in_every_usual_form(cli: Cli, server: FakeServer, tail: str) -> None:
    added = cli("endpoint", "add", server.url + tail, "--json").json
    assert added["created"]
    assert added["endpoint"]["url"] == server.url


def test_another_form_of_the_same_address_is_the_same_endpoint(cli: Cli, server: FakeServer) -> None:
    first = cli("endpoint", "add", server.url, "--json").json
    second = cli("endpoint", "add", server.url + "/v1", "--json").json
    assert (second["created"], second["endpoint"]["id"]) == (False, first["endpoint"]["id"])
    assert len(cli("endpoint", "list", "--json").json["endpoints"]) == 1


def test_an_address_without_scheme_is_taken_as_http_and_that_is_said(cli: Cli, server: FakeServer) -> None:
    said = cli("endpoint", "add", f"127.0.0.1:{server.port}")
    assert said.code == exit_codes.OK
    assert f"http://127.0.0.1:{server.port}" in said.err
    assert server.url in said.out


def test_a_password_in_an_address_is_refused_and_not_printed(cli: Cli) -> None:
    said = cli("endpoint", "add", "http://user:hush-hush@127.0.0.1:9/v1")
    assert said.code == exit_codes.FAILED
    assert "hush-hush" not in said.out + said.err


def test_a_password_in_an_address_without_scheme_is_not_printed_either(cli: Cli) -> None:
    said = cli("endpoint", "add", "user:hush-hush@127.0.0.1:9")
    assert said.code == exit_codes.FAILED
    assert "hush-hush" not in said.out + said.err


def test_no_server_at_the_address_is_told_with_what_to_do(cli: Cli) -> None:
    said = cli("endpoint", "add", CLOSED_PORT_URL)
    assert said.code == exit_codes.FAILED
    assert "connection refused" in said.err
    assert "Start the server" in said.err
    assert not said.has_traceback


def test_a_web_page_is_no_inference_server(cli: Cli) -> None:
    def page(_: object) -> Reply:
        return Reply(body="<html><title>Log in</title></html>")

    fake = FakeServer()
    fake.routes = {f"GET {path}": page for path in ("/", "/v1/models", "/props", "/health")}
    with running(fake):
        said = cli("endpoint", "add", fake.url, "--json")
    assert said.code == exit_codes.FAILED
    assert set(said.json) == {"error"}
    assert set(said.json["error"]) == {"kind", "what", "next"}
    assert fake.url in said.json["error"]["what"]
    assert cli("endpoint", "list", "--json").json == {"endpoints": []}


def test_a_port_taken_by_something_that_speaks_no_http_is_told(cli: Cli) -> None:
    with speaking(b"SSH-2.0-OpenSSH_9.9\r\n") as url:
        said = cli("endpoint", "add", url)
    assert said.code == exit_codes.FAILED
    assert said.err.startswith("error: ")
    assert not said.has_traceback


def test_a_key_is_taken_from_the_environment_and_never_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMBENCH_KEY_TEST", "zz-secret-1234567890")
    with running(FakeServer(["alpha"], api_key="zz-secret-1234567890")) as fake:
        refused = cli("endpoint", "add", fake.url)
        added = cli("endpoint", "add", fake.url, "--credential-env", "LLMBENCH_KEY_TEST", "--json")
        listed = cli("endpoint", "list", "--json")
    assert refused.code == exit_codes.FAILED
    assert added.json["endpoint"]["credential_ref"] == "env:LLMBENCH_KEY_TEST"
    assert listed.json["endpoints"][0]["reachable"] is True
    assert "zz-secret" not in added.out + added.err + listed.out


def test_a_key_given_in_place_of_a_variables_name_is_refused_and_not_repeated(cli: Cli) -> None:
    said = cli("endpoint", "add", CLOSED_PORT_URL, "--credential-env", "sk-live-1234567890abc")
    assert said.code == exit_codes.FAILED
    assert "sk-live" not in said.out + said.err


def test_a_variable_that_is_not_set_is_named(cli: Cli, server: FakeServer) -> None:
    said = cli("endpoint", "add", server.url, "--credential-env", "LLMBENCH_KEY_ABSENT")
    assert said.code == exit_codes.FAILED
    assert "LLMBENCH_KEY_ABSENT" in said.err


def test_a_list_says_which_servers_answer_now(cli: Cli) -> None:
    with running(FakeServer(["alpha"])) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        assert "reachable" in cli("endpoint", "list").out
    gone = cli("endpoint", "list")
    assert gone.code == exit_codes.OK
    assert "unreachable" in gone.out
    assert "not looked at" not in cli("endpoint", "list", "--no-look").out


def test_a_new_name_for_a_known_address_renames_it(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "demo")
    assert cli("endpoint", "add", server.url, "--name", "box").out == "Renamed demo to box.\n"
    assert cli("endpoint", "add", server.url, "--name", "box").out.startswith("Refreshed endpoint box")


def test_an_endpoint_can_be_removed_once(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    assert cli("endpoint", "remove", "mine", "--json").json["removed"]["name"] == "mine"
    again = cli("endpoint", "remove", "mine", "--json")
    assert (again.code, again.json["error"]["kind"]) == (exit_codes.FAILED, "not_found")


def test_a_name_that_looks_like_markup_is_printed_as_it_stands(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "[red]x[/red]")
    assert "[red]x[/red]" in cli("endpoint", "list").out
