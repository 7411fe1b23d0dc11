"""The registry from the command line: find, register, probe, change, select."""

from __future__ import annotations

from typing import Any

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_server import FakeServer
from llmbench_mcp.testing.replies import error_reply
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.support.catalogues import with_holes


def test_the_same_catalogue_from_the_command_line(cli: Cli) -> None:
    with running(FakeOllama(with_holes())) as fake:
        cli("endpoint", "add", fake.url, "--name", "box")
        first = cli("discover", "--json").json["endpoints"][0]
        before = cli("models", "--json").json
        second = cli("discover", "--json").json["endpoints"][0]
        after = cli("models", "--json").json
        shown = cli("models", "show", "d:cloud")
        refused = cli("assign", "d:cloud", "box")
    assert (first["seen"], len(first["added"]), second["seen"], second["added"]) == (5, 5, 5, [])
    assert any("date" in told for told in first["warnings"])
    assert after["total"] == 5
    assert [timeless(model) for model in after["models"]] == [timeless(model) for model in before["models"]]
    assert "another machine" in shown.out
    assert "another machine" in refused.err


def timeless(model: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name != "last_seen"}


@pytest.mark.parametrize("ports", [1, 2])
def test_a_fresh_machine_needs_one_word_to_find_its_servers(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    ports: int,
) -> None:
    with running(FakeOllama(["a"])) as first, running(FakeOllama(["b"])) as second:
        looked_at = [first.port, second.port][:ports]
        monkeypatch.setenv("LLMBENCH_DISCOVER_PORTS", ",".join(map(str, looked_at)))
        said = cli("discover")
        names = [model["name"] for model in cli("models", "--json").json["models"]]
    assert "found on this machine and added" in said.out
    assert names == ["a", "b"][:ports]


def test_a_look_around_is_asked_for_once_servers_are_known(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(FakeServer(["a"])) as known, running(FakeOllama(["b"])) as other:
        cli("endpoint", "add", known.url, "--name", "mine")
        monkeypatch.setenv("LLMBENCH_DISCOVER_PORTS", str(other.port))
        assert len(cli("discover", "--json").json["endpoints"]) == 1
        found = cli("discover", "--look", "--json").json["endpoints"]
    assert [(report["endpoint_name"], bool(report["new_on"])) for report in found] == [
        ("mine", False),
        (f"ollama-{other.port}", True),
    ]


def test_a_model_is_shown_with_who_says_what_of_it(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    said = cli(
        "models", "set", "alpha", "--can", "vision", "--cannot", "tools", "--family", "greek", "--context", "4096"
    )
    assert "alpha is changed" in said.out
    shown = cli("models", "show", "alpha")
    for told in ("greek", "4096 tokens", "vision", "hand", "mine", "not checked", "set"):
        assert told in shown.out
    document = cli("models", "show", "alpha@mine", "--json").json
    assert document["model"]["capabilities"] == ["vision"]
    assert {"name": "tools", "present": False, "source": "hand"} in document["model"]["known_capabilities"]
    assert document["history"][0]["kind"] == "set"
    cli("models", "set", "alpha", "--unset", "family", "--unset", "vision")
    assert cli("models", "--capability", "vision", "--json").json["total"] == 0
    assert cli("models", "set", "alpha").code == exit_codes.USAGE
    assert "vision" in cli("models", "set", "alpha", "--can", "fly").err


def test_a_model_is_probed_and_what_came_out_is_kept(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    said = cli("models", "probe", "alpha")
    assert said.code == exit_codes.OK
    assert "3 of 3 answered" in said.out
    assert "Status: new" in said.out
    document = cli("models", "probe", "alpha", "--endpoint", "mine", "--vision", "--json").json
    assert [check["name"] for check in document["checks"]] == ["chat", "stability", "tools", "vision"]
    assert (document["is_well"], document["model"]["homes"][0]["tools"]) == (True, "none")
    assert "no call came back" in cli("models", "show", "alpha").out


def test_a_probe_of_a_model_that_is_not_there_fails_and_says_so(cli: Cli) -> None:
    with running(FakeServer(["alpha"], lambda request: error_reply(404, "model 'alpha' not found"))) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        said = cli("models", "probe", "alpha")
    assert said.code == exit_codes.FAILED
    assert "Status: not_available (was new)" in said.out
    assert [model["status"] for model in cli("models", "--json").json["models"]] == ["not_available"]


def test_a_key_that_is_refused_is_the_endpoints_matter(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    server.api_key = "another-secret"
    assert cli("models", "probe", "alpha").code == exit_codes.FAILED
    assert "no access" in cli("endpoint", "list").out
    assert cli("endpoint", "list", "--json").json["endpoints"][0]["state"] == "no_access"
    assert cli("models", "--json").json["models"][0]["status"] == "new"


def test_a_model_is_registered_by_hand_disabled_and_taken_back(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    assert "hidden is registered" in cli("models", "add", "hidden", "mine").out
    cli("discover")
    assert [model["name"] for model in cli("models", "--json").json["models"]] == ["alpha", "hidden"]
    assert "registered by hand" in cli("models", "show", "hidden").out
    assert "status disabled" in cli("models", "disable", "hidden").out
    assert "status new" in cli("models", "enable", "hidden").out
    assert cli("models", "refresh", "hidden").code == exit_codes.OK
    cli("models", "remove", "hidden")
    assert [model["name"] for model in cli("models", "--json").json["models"]] == ["alpha"]
    assert "not registered by hand" in cli("models", "remove", "alpha").err


def test_an_assignment_is_removed_by_either_word(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    for word in ("--remove", "--none"):
        assert cli("assign", "alpha", "--json").json["model"]["status"] == "active"
        assert cli("assign", "alpha", word, "--json").json["model"]["status"] == "new"


def test_a_run_takes_models_by_status(cli: Cli) -> None:
    with running(FakeServer(["alpha", "beta", "nomic-embed"])) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        cli("assign", "alpha", "mine")
        said = cli("run", "start", "--select", "all", "--suite", "smoke", "--dry-run")
        here = cli("run", "start", "--select", "new", "--endpoint", "mine", "--suite", "smoke", "--dry-run", "--json")
    assert "alpha on mine" in said.out
    assert "beta" in said.out.partition("left out")[2]
    assert here.json["dry_run"]["jobs"] == ["beta on mine"]
    assert here.json["dry_run"]["remarks"] == ["left out, does not chat: nomic-embed"]
    assert "unstable_failed" in cli("run", "start", "--select", "odd", "--suite", "smoke", "--dry-run").err


def test_ports_that_are_none_are_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for ports in ("x", "1,99999", "-1"):
        monkeypatch.setenv("LLMBENCH_DISCOVER_PORTS", ports)
        assert "LLMBENCH_DISCOVER_PORTS" in cli("discover").err
