from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmbench_mcp.testing.fake_server import FakeServer
from tests.cli.conftest import Cli
from tests.cli.support import program
from tests.unit.imports.support import APPLES, DOUBLE, lines


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "own.csv"
    file.write_text("question,answer\nWhat is 2 + 2?,4\nCapital of Peru?,Lima\n", encoding="utf-8")
    return file


def test_without_a_name_the_importers_are_listed(cli: Cli) -> None:
    assert "humaneval_plus" in cli("suite", "import").out
    rows = cli("suite", "import", "--json").json["importers"]
    assert {"name": "gsm8k", "title": "GSM8K", "licence": "MIT", "split": "test (when not given), train"} in rows


def test_an_import_says_what_it_took_and_what_comes_next(cli: Cli, tmp_path: Path) -> None:
    file = lines(tmp_path / "HumanEval.jsonl", DOUBLE, {**DOUBLE, "task_id": "HumanEval/47"})

    said = cli("suite", "import", "humaneval", str(file))

    assert said.code == 0
    assert said.out.startswith("Imported humaneval: 1 task and 1 marked as bad. Licence: MIT.")
    assert "run start --model MODEL --suite humaneval" in said.out
    assert "Marked, not counted: 47: an example in the prompt is wrong" in said.err
    assert "trust where it is from" in said.err


def test_importing_again_says_what_changed(cli: Cli, tmp_path: Path) -> None:
    file = lines(tmp_path / "test.jsonl", APPLES)
    cli("suite", "import", "gsm8k", str(file))
    assert cli("suite", "import", "gsm8k", str(file)).out.startswith("Suite gsm8k is as it was, version 1: 1 task.")
    lines(file, {**APPLES, "question": "How many?"}, APPLES)

    said = cli("suite", "import", "gsm8k", str(file)).out

    assert said.startswith("Updated gsm8k from version 1 to 2: 2 tasks; 1 added, 1 changed, 0 removed.")


def test_a_table_of_ones_own_becomes_a_suite_under_its_name(cli: Cli, table: Path) -> None:
    columns = "prompt=question, expected=answer"

    made = cli("suite", "import", "capitals", str(table), "--map", columns, "--title", "Mine", "--json").json

    assert (made["suite"], made["tasks"], made["version"], made["licence"]) == ("capitals", 2, 1, "unknown")
    assert cli("suites", "capitals", "--json").json["suites"][0]["title"] == "Mine"
    assert "capitals/row_0002" in cli("suites", "capitals").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "prompt,expected,note\nWhat is 2 + 2?,4,a\nCapital of Peru?,Lima,b\n"),
        ("Q.TSV", "prompt\texpected\nWhat is 2 + 2?\t4\nCapital of Peru?\tLima\n"),
        ("q.jsonl", '{"prompt": "What is 2 + 2?", "expected": "4"}\n{"prompt": "Capital?", "expected": "Lima"}\n'),
    ],
)
def test_a_table_whose_columns_are_called_as_fields_needs_no_map(
    cli: Cli, tmp_path: Path, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    made = cli("suite", "import", "capitals", str(file), "--json")

    assert made.code == 0, made.err
    assert (made.json["suite"], made.json["tasks"], made.json["origin"]["importer"]) == ("capitals", 2, "table")
    assert cli("suites", "capitals", "--json").json["suites"][0]["title"] == "Capitals"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.csv", "question,answer\nWhat is 2 + 2?,4\n"),
        ("own.csv", "prompt,answer\nWhat is 2 + 2?,4\n"),
        ("own.csv", "prompt,expected\n"),
        ("own.csv", ""),
        ("own.jsonl", "prompt,expected\nWhat is 2 + 2?,4\n"),
        ("nowhere/own.csv", None),
    ],
)
def test_a_table_that_does_not_say_which_column_is_what_is_refused_with_how_to_say_it(
    cli: Cli, tmp_path: Path, name: str, text: str | None
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")

    said = cli("suite", "import", "capitals", str(file))

    assert (said.code, said.has_traceback) == (1, False)
    assert "There is no importer 'capitals'" in said.err
    assert "--map prompt=question,expected=answer" in said.err
    assert "suite import table FILE --as NAME" in said.err


@pytest.mark.parametrize("text", ["question,answer\nWhat is 2 + 2?,4\n", '"question","answer"\n"What?","4"\n'])
def test_an_importer_of_json_lines_that_is_given_csv_says_so(cli: Cli, tmp_path: Path, text: str) -> None:
    file = tmp_path / "q.csv"
    file.write_text(text, encoding="utf-8")

    said = cli("suite", "import", "gsm8k", str(file))

    assert said.code == 1
    assert "q.csv:1: is not valid JSON: this importer reads JSON lines, and the file is CSV by its name." in said.err
    assert "suite import table FILE --as NAME" in said.err
    assert "Fetch the file again" not in said.err


def test_imported_suites_are_listed_with_licence_size_and_source(cli: Cli, tmp_path: Path) -> None:
    file = lines(tmp_path / "HumanEval.jsonl", DOUBLE, {**DOUBLE, "task_id": "HumanEval/47"})
    cli("suite", "import", "humaneval", str(file), "--as", "functions", "--licence", "MIT (copy)")

    row = next(row for row in cli("suite", "list", "--json").json["suites"] if row["name"] == "functions")
    table = cli("suite", "list").out

    assert (row["tasks"], row["licence"], row["imported"], list(row["marked"])) == (1, "MIT (copy)", True, ["47"])
    assert row["origin"]["sources"][0]["rows"] == 2
    assert "MIT (copy)" in table
    assert "built in" in table
    assert "functions" in cli("suites").out


def test_the_list_of_all_suites_shows_no_tasks_of_imported_ones(cli: Cli, tmp_path: Path) -> None:
    cli("suite", "import", "gsm8k", str(lines(tmp_path / "test.jsonl", APPLES)))

    row = next(row for row in cli("suites", "--json").json["suites"] if row["name"] == "gsm8k")

    assert (row["imported_tasks"], "tasks" in row) == (1, False)


def test_answers_and_tests_of_imported_tasks_are_never_shown(cli: Cli, tmp_path: Path) -> None:
    cli("suite", "import", "humaneval", str(lines(tmp_path / "HumanEval.jsonl", DOUBLE)))
    shown = [
        cli(*words)
        for words in (["suites", "humaneval"], ["suites", "humaneval", "--json"], ["suite", "list", "--json"])
    ]

    assert all("number * 2" not in one.out and "candidate" not in one.out for one in shown)


def test_a_suite_can_be_removed(cli: Cli, tmp_path: Path) -> None:
    cli("suite", "import", "gsm8k", str(lines(tmp_path / "test.jsonl", APPLES)))

    assert cli("suite", "remove", "gsm8k").out.startswith("Removed suite gsm8k. Results of it stay: llmbench-mcp lead")
    gone = cli("suite", "remove", "gsm8k")
    assert (gone.code, "There is no imported suite 'gsm8k'" in gone.err) == (1, True)
    assert "gsm8k" not in cli("suite", "list").out


def test_results_of_a_removed_suite_are_still_ranked(cli: Cli, table: Path, data_dir: Path, server: FakeServer) -> None:
    cli("suite", "import", "capitals", str(table), "--map", "prompt=question,expected=answer")
    cli("endpoint", "add", server.url, "--name", "mine")
    cli("discover")
    cli("assign", "alpha")
    nothing = cli("leaderboard", "capitals").out
    assert "Start a run: llmbench-mcp run start --suite capitals --model MODEL" in nothing
    done = program(data_dir, "run", "start", "--model", "alpha", "--suite", "capitals", "--wait")
    assert done.code == 0, done.err
    cli("suite", "remove", "capitals")

    said, board = cli("leaderboard", "capitals"), cli("leaderboard", "--json").json

    assert "50 %" in said.out
    assert "Note: the suite is no longer here; tasks are taken as last asked, all of weight 1." in said.out
    assert (board["suite"], board["entries"][0]["pass_rate"]) == ("capitals", 0.5)
    assert "no longer here" in board["remark"]
    assert cli("leaderboard", "capital").code == 1


def test_a_bad_row_is_told_with_its_place_and_nothing_stays(cli: Cli, table: Path, data_dir: Path) -> None:
    table.write_text("question,answer\nWhat is 2 + 2?,4\nCapital of Peru?,\n", encoding="utf-8")

    said = cli("suite", "import", "capitals", str(table), "--map", "prompt=question,expected=answer")

    assert (said.code, said.has_traceback) == (1, False)
    assert "own.csv:3: has no expected answer." in said.err
    assert not (data_dir / "suites").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gsm8k",), "Missing argument 'PATH_OR_PACKAGE'"),
        (("own", "x.csv", "--map", "prompt"), "--map wants pairs"),
        (("gsm8k", "x.jsonl", "--sample", "many"), "Invalid value for '--sample'"),
        (("gsm8k", "x.jsonl", "--map", "=b"), "--map wants pairs"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(cli: Cli, words: tuple[str, ...], said: str) -> None:
    result = cli("suite", "import", *words)

    assert result.code == 2
    assert said in result.err


def test_imported_tasks_can_be_checked_and_used_for_grading(cli: Cli, tmp_path: Path) -> None:
    cli("suite", "import", "gsm8k", str(lines(tmp_path / "test.jsonl", APPLES)))
    given = lines(tmp_path / "in.jsonl", {"id": "a", "task": "gsm8k/0000", "completion": "#### 1007"})

    assert cli("task", "check", "gsm8k").err.startswith("1 task checked, 0 problems")
    assert json.loads(cli("score", str(given)).out)["passed"] is True


def test_an_imported_file_that_cannot_be_read_is_told_and_hides_nothing(
    cli: Cli, data_dir: Path, tmp_path: Path
) -> None:
    cli("suite", "import", "gsm8k", str(lines(tmp_path / "test.jsonl", APPLES)))
    (data_dir / "suites" / "broken.jsonl").write_text("{", encoding="utf-8")

    said = cli("suite", "list")

    assert "gsm8k" in said.out
    assert "broken.jsonl:1: is no valid JSON. Import the suite again." in said.err
    assert "broken.jsonl:1" in cli("doctor").out
