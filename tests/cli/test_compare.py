from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from llmbench_mcp.testing.fake_server import FakeServer, Received
from tests.cli.conftest import Cli
from tests.cli.support import program, running
from tests.support.rooms import write_suite

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


KNOWS = {"alpha": 8, "beta": 2, "gamma": 8, "delta": 7}
"""By model, up to which question it answers right."""


def sums(request: Received) -> str:
    number = request.prompt.strip().rsplit(" ", 1)[-1]
    return number if number.isdigit() and int(number) <= KNOWS[request.model] else "0"  # a warm-up has no number


@pytest.fixture
def four(cli: Cli, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Four models that can be asked the suite ``sums``."""
    write_suite(tmp_path, 8)
    monkeypatch.setenv("LLMBENCH_TASKS_DIR", str(tmp_path / "tasks"))
    with running(FakeServer(list(KNOWS), sums)) as fake:
        cli("endpoint", "add", fake.url, "--name", "mine")
        cli("discover")
        for model in KNOWS:
            cli("assign", model)

        def ask(*models: str, **parameters: str) -> None:
            words = [word for model in models for word in ("--model", model)]
            words += [word for name, value in parameters.items() for word in ("--param", f"{name}={value}")]
            tasks = {"LLMBENCH_TASKS_DIR": str(tmp_path / "tasks")}
            done = program(data_dir, "run", "start", *words, "--suite", "sums", "--wait", **tasks)
            assert done.code == exit_codes.OK, done.err

        yield ask


def test_ranking_and_comparison_both_tell_how_many_comparisons_they_stand_for(
    cli: Cli, four: Callable[..., None]
) -> None:
    four(*KNOWS)
    ranking = cli("leaderboard", "sums")
    limit = "each of the 4 ranked rows is tested against the 3 others"
    assert f"Ranks: {limit}" in ranking.out
    assert "p < 0.0167 (5 % / 3); two compared alone, at p < 0.05" in ranking.out
    assert "See: llmbench-mcp compare A B --suite sums" in ranking.out
    assert limit in cli("leaderboard", "sums", "--json").json["basis"]

    pair = cli("compare", "alpha", "beta", "--suite", "sums")
    assert "alpha (a) is better." in pair.out
    assert "p = 0.03125" in pair.out
    assert "Note: this comparison stands alone, at p < 0.05; in the leaderboard" in pair.out
    (remark,) = cli("compare", "alpha", "beta", "--suite", "sums", "--json").json["remarks"]
    assert limit in remark
    assert "stands alone" not in cli("compare", "alpha", "gamma", "--suite", "sums").out


def test_two_models_alone_have_nothing_to_correct_for(cli: Cli, four: Callable[..., None]) -> None:
    four("alpha", "beta")
    assert "tested against" not in cli("leaderboard", "sums").out
    assert "stands alone" not in cli("compare", "alpha", "beta", "--suite", "sums").out


def test_two_runs_are_told_to_be_compared_alone(cli: Cli, four: Callable[..., None]) -> None:
    four("alpha")
    four("beta")
    beta, alpha = (found["id"] for found in cli("run", "list", "--json").json["runs"])
    remarks = cli("compare", alpha, beta, "--suite", "sums", "--json").json["remarks"]
    assert remarks == ["this comparison stands alone: of many such, some differ by chance"]


def test_parameters_of_one_model_that_are_tied_are_not_sent_to_a_comparison(
    cli: Cli, four: Callable[..., None]
) -> None:
    four("alpha", temperature="0,0.7")
    said = cli("leaderboard", "sums").out
    assert "those rows cannot be told apart" in said
    assert "compare" not in said


def test_a_comparison_wants_a_suite(cli: Cli) -> None:
    assert cli("compare", "a", "b").code == exit_codes.USAGE
