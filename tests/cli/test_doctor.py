from __future__ import annotations

from pathlib import Path

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.checks import isolation_check
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import running

CHECKS = [
    "python",
    "log folder",
    "isolation",
    "embedded server",
    "database",
    "executor",
    "devices",
    "endpoints",
    "suites",
]


def test_a_sound_installation_passes_every_check(cli: Cli) -> None:
    said = cli("doctor", "--json")
    assert said.code == exit_codes.OK
    assert [check["name"] for check in said.json["checks"]] == CHECKS
    assert all(check["state"] != "fail" for check in said.json["checks"])


def test_a_broken_data_directory_fails_with_what_to_do_and_the_rest_is_still_checked(cli: Cli, data_dir: Path) -> None:
    data_dir.write_text("not a folder", encoding="utf-8")
    said = cli("doctor", "--json")
    by_name = {check["name"]: check for check in said.json["checks"]}
    assert said.code == exit_codes.FAILED
    assert by_name["database"]["state"] == "fail"
    assert by_name["database"]["todo"]
    assert by_name["isolation"]["state"] in ("ok", "warn")


def test_a_silent_endpoint_is_a_warning_that_names_it(cli: Cli) -> None:
    with running(FakeServer()) as fake:
        cli("endpoint", "add", fake.url, "--name", "gone")
    said = cli("doctor")
    assert said.code == exit_codes.OK
    assert "gone" in said.out
    assert "warn" in said.out


def test_weak_isolation_is_a_warning_with_what_it_means() -> None:
    report = {"level": "partial", "guarantees": {"network": False, "files": True}, "mechanisms": {}, "reason": None}
    refused = isolation_check(report, "full")
    assert (refused.state, "network" in refused.found) == ("warn", True)
    assert "refused" in refused.todo
    assert "run all the same" in isolation_check(report, "process").todo
