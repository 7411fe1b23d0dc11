from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from llmbench_mcp.backends.embedded.launcher import _unused
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.cli.client_config import client_config
from llmbench_mcp.config import load_settings
from llmbench_mcp.domain.errors import SetupError
from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import CLOSED_PORT_URL, finish, program, running, spawn
from tests.cli.test_runs import ONE_RIGHT, TASKS, answer, held

SUITE = ("--suite", "reasoning_smoke")


def test_a_demo_on_ones_own_server_ends_with_ranking_tasks_and_the_block_to_paste(data_dir: Path) -> None:
    with running(FakeServer(["[red]alpha"], answer=answer)) as fake:
        said = program(data_dir, "demo", "--endpoint", fake.url, *SUITE, COLUMNS="200")
    assert said.code == exit_codes.OK, said.err
    for words in (
        "First look at reasoning",
        "[red]alpha",
        ONE_RIGHT,
        "reasoning/two_plus_two",
        "passed",
        "wrong_answer",
        str(data_dir / "llmbench.db"),
        '"mcpServers"',
        f'"LLMBENCH_DATA_DIR": "{data_dir}"',
        "what did that benchmark find?",
    ):
        assert words in said.out
    assert f"{TASKS} of {TASKS} over" in said.err
    assert not said.has_traceback


def test_a_demo_in_json_is_one_document(data_dir: Path) -> None:
    with running(FakeServer(["alpha", "beta"], answer=answer)) as fake:
        said = program(data_dir, "demo", "--endpoint", fake.url, *SUITE, "--model-name", "beta", "--json")
    document = said.json
    assert document["run"]["state"] == "completed"
    assert document["leaderboard"]["entries"][0]["model"] == "beta"
    assert len(document["attempts"]) == TASKS
    assert document["client_config"]["mcpServers"]["llmbench"]["env"] == {
        "LLMBENCH_DATA_DIR": str(data_dir),
        "LLMBENCH_IDLE_EXIT_S": "0.2",  # as every program of these tests
    }


def test_several_models_must_be_chosen_from(cli: Cli) -> None:
    with running(FakeServer(["alpha", "beta"])) as fake:
        said = cli("demo", "--endpoint", fake.url, *SUITE)
        unknown = cli("demo", "--endpoint", fake.url, *SUITE, "--model-name", "gamma")
    assert said.code == exit_codes.FAILED
    assert "alpha, beta" in said.err
    assert "--model-name" in said.err
    assert "Nearest" in unknown.err


def test_a_server_without_models_is_told(cli: Cli) -> None:
    with running(FakeServer([])) as fake:
        said = cli("demo", "--endpoint", fake.url, *SUITE, "--json")
    assert (said.code, said.json["error"]["kind"]) == (exit_codes.FAILED, "input")


def test_no_server_at_the_address_is_told(cli: Cli) -> None:
    said = cli("demo", "--endpoint", CLOSED_PORT_URL, *SUITE)
    assert said.code == exit_codes.FAILED
    assert "connection refused" in said.err


def test_an_unknown_suite_is_refused_before_anything_is_started(cli: Cli) -> None:
    said = cli("demo", "--suite", "nope", "--json")
    assert (said.code, said.json["error"]["kind"]) == (exit_codes.FAILED, "not_found")


def test_a_port_is_only_for_serving_and_must_be_free(cli: Cli) -> None:
    assert cli("demo", "--port", "8080").code == exit_codes.USAGE
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"Port {port} is in use"):
            _unused(port)
    assert _unused(port) == port


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_file_that_is_no_model_is_refused(cli: Cli, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    said = cli("demo", "--model", str(path))
    assert said.code == exit_codes.FAILED
    assert "GGUF" in said.err or "gguf" in said.err


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_a_demo_cancels_its_run(cli: Cli, data_dir: Path, sign: signal.Signals) -> None:
    with running(FakeServer(["alpha"], answer=answer)) as fake, held(fake) as asked:
        process = spawn(data_dir, "demo", "--endpoint", fake.url, *SUITE)
        assert asked.wait(60)
        process.send_signal(sign)
        said = finish(process)
        assert said.code == exit_codes.INTERRUPTED
        assert "was cancelled" in said.err
        assert not said.has_traceback
        assert cli("run", "list", "--json").json["runs"][0]["state"] == "cancelled"


def test_the_block_to_paste_finds_all_that_was_found_here_and_holds_no_secret(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    settings = {"LLMBENCH_TASKS_DIR": os.path.relpath(tmp_path / "tasks"), "LLMBENCH_CO_RESIDENCY": "1"}
    others = {
        "LLMBENCH_KEY_OFFICE": "zz-LIVE-4711-demo",
        "LLMBENCH_TOKEN": "a-secret-token",
        "LLMBENCH_KEEP_DAYS": "90",
    }
    serving = {"LLMBENCH_HTTP_DRAIN_S": "3"}
    with running(FakeServer(["alpha"], answer=answer)) as fake:
        said = program(data_dir, "demo", "--endpoint", fake.url, *SUITE, "--json", **settings, **others, **serving)
    env = said.json["client_config"]["mcpServers"]["llmbench"]["env"]
    assert env.pop("LLMBENCH_IDLE_EXIT_S") == "0.2"
    tasks = Path(env.pop("LLMBENCH_TASKS_DIR"))
    assert tasks.is_absolute()
    assert tasks.samefile(tmp_path / "tasks")
    assert env == {"LLMBENCH_DATA_DIR": str(data_dir), "LLMBENCH_CO_RESIDENCY": "1"}


def test_the_block_to_paste_names_the_data_directory_only_when_it_is_not_the_usual_one(tmp_path: Path) -> None:
    usual = client_config(load_settings({}))["mcpServers"]["llmbench"]
    assert "env" not in usual
    assert Path(usual["command"]).is_absolute()
    other = client_config(load_settings({}, data_dir=tmp_path))["mcpServers"]["llmbench"]
    assert other["env"] == {"LLMBENCH_DATA_DIR": str(tmp_path)}
