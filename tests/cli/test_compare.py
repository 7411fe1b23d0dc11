from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Received
from tests.cli.conftest import Cli
from tests.cli.support import program, running

SUITE = "reasoning_smoke"


def script(request: Received) -> str:
    """One knows a single answer, the other none, and says nothing to some questions."""
    if "2 + 2" in request.prompt and request.model == "[red]knows":
        return "The answer is 4."
    return "I do not know." if request.model == "[red]knows" or "2 + 2" in request.prompt else ""


@pytest.fixture
def two(cli: Cli, data_dir: Path) -> Iterator[None]:
    """Two models that have both answered the suite."""
    models = ("[red]knows", "guesses")
    with running(FakeServer(list(models), script)) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        for model in models:
            cli("assign", model)
        asked = [word for model in models for word in ("--model", model)]
        done = program(data_dir, "run", "start", *asked, "--suite", SUITE, "--wait")
        assert done.code == exit_codes.OK, done.err
        yield


@pytest.mark.usefixtures("two")
def test_two_models_are_compared_for_people_and_for_scripts(cli: Cli) -> None:
    said = cli("compare", "[red]knows", "guesses", "--suite", SUITE)
    assert said.code == exit_codes.OK
    for words in ("a: [red]knows (mine)", "A tie", "Only a 1, only b 0", "p = 1 (exact McNemar)", "two_plus_two"):
        assert words in said.out
    found = cli("compare", "[red]knows", "guesses", "--suite", SUITE, "--json").json
    assert (found["a"]["model"], found["b"]["endpoint"], found["verdict"], found["p"]) == (
        "[red]knows",
        "mine",
        "tie",
        1,
    )
    assert found["items"] == [{"task": "reasoning/two_plus_two", "a": 1.0, "b": 0.0}]

    assert "A range of ranks" in cli("leaderboard").out
    logic = cli("leaderboard", "--exclude-non-logic", "--json").json["entries"]
    assert logic[-1]["model"] == "guesses"
    assert "left out" in logic[-1]["note"]
    assert "no energy is known" in cli("leaderboard", "--rank-by", "efficiency").out
    assert "same results" in cli("compare", "guesses", "guesses", "--suite", SUITE).err


def test_a_comparison_wants_a_suite(cli: Cli) -> None:
    assert cli("compare", "a", "b").code == exit_codes.USAGE
