from __future__ import annotations

import pytest

from llmbench_mcp.backends import openai_wire
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import running


def test_models_are_discovered_listed_and_assigned(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url, "--name", "mine")
    report = cli("discover", "--json").json["endpoints"][0]
    assert (report["endpoint_name"], report["seen"], report["added"]) == ("mine", 1, ["alpha"])
    listed = cli("models", "--json").json
    assert (listed["total"], listed["models"][0]["status"]) == (1, "new")
    assigned = cli("assign", "alpha", "mine", "--json").json["model"]
    assert assigned["assigned_endpoint_id"] == assigned["homes"][0]["endpoint_id"]
    assert "assigned to mine" in cli("assign", "alpha").out
    assert cli("assign", "alpha", "--none", "--json").json["model"]["assigned_endpoint_id"] is None


def test_the_list_of_models_can_be_narrowed(cli: Cli) -> None:
    with running(FakeServer(["alpha", "beta", "gamma"])) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover", "mine")
    assert [m["name"] for m in cli("models", "--text", "BET", "--json").json["models"]] == ["beta"]
    assert cli("models", "--status", "active", "--json").json["total"] == 0
    assert cli("models", "--endpoint", "mine", "--json").json["total"] == 3
    assert "2 of 3 shown" in cli("models", "--limit", "2").out
    assert "No model matches" in cli("models", "--text", "zzz").out


def test_a_model_named_like_markup_is_printed_as_it_stands(cli: Cli) -> None:
    with running(FakeServer(["[red]x", "a\x1b[31mb", "[link=file:///x]y[/link]"])) as fake:
        cli("endpoint", "add", fake.url)
        discovered = cli("discover")
        listed = cli("models")
    assert "[red]x" in discovered.out
    assert "[red]x" in listed.out
    assert "[link=file:///x]y[/link]" in listed.out
    assert "\x1b" not in discovered.out + listed.out


@pytest.mark.parametrize("name", ["", "  ", "a\ud800b", 600 * "x", 7])
def test_a_model_without_a_usable_name_is_left_out_with_a_warning(cli: Cli, name: object) -> None:
    with running(FakeServer([{"id": name}, "alpha"])) as fake:
        cli("endpoint", "add", fake.url)
        report = cli("discover", "--json").json["endpoints"][0]
    assert (report["seen"], report["added"], report["error"]) == (1, ["alpha"], None)
    assert "1 without a usable name" in report["warnings"][0]


def test_a_list_of_models_that_is_cut_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_wire, "_MAX_MODELS", 3)
    with running(FakeServer([f"m{n}" for n in range(5)])) as fake:
        cli("endpoint", "add", fake.url)
        report = cli("discover", "--json").json["endpoints"][0]
    assert report["seen"] == 3
    assert report["warnings"] == ["The server lists 5 models; only the first 3 were taken."]


def test_discovery_with_no_endpoint_says_what_to_do(cli: Cli) -> None:
    said = cli("discover")
    assert said.code == exit_codes.FAILED
    assert "endpoint add" in said.err


def test_discovery_fails_only_when_no_endpoint_answers(cli: Cli, server: FakeServer) -> None:
    with running(FakeServer(["beta"])) as other:
        cli("endpoint", "add", other.url, "--name", "gone")
    said = cli("discover", "--json")
    assert said.code == exit_codes.FAILED
    assert said.json["endpoints"][0]["error"]
    cli("endpoint", "add", server.url, "--name", "mine")
    both = cli("discover")
    assert both.code == exit_codes.OK
    assert "failed" in both.out


def test_an_unknown_model_is_met_with_the_nearest_names(cli: Cli, server: FakeServer) -> None:
    cli("endpoint", "add", server.url)
    cli("discover")
    said = cli("assign", "alpah")
    assert said.code == exit_codes.FAILED
    assert "Nearest: alpha" in said.err


def test_suites_are_listed_and_their_tasks_shown_without_what_grades_them(cli: Cli) -> None:
    names = [suite["name"] for suite in cli("suites", "--json").json["suites"]]
    assert "smoke" in names
    shown = cli("suites", "smoke", "--json").json["suites"][0]
    assert set(shown["tasks"][0]) == {"id", "title", "difficulty", "tags", "weight", "prompt"}
    assert "reasoning/two_plus_two" in cli("suites", "smoke").out


def test_an_unknown_suite_is_met_with_the_nearest_names(cli: Cli) -> None:
    said = cli("suites", "smok")
    assert said.code == exit_codes.FAILED
    assert "smoke" in said.err


def test_devices_are_shown_in_both_forms(cli: Cli) -> None:
    assert cli("gpu", "--json").json["devices"][-1]["id"] == "cpu"
    assert "cpu" in cli("gpu").out
