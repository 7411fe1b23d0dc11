from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmbench_mcp.cli import exit_codes
from tests.cli.conftest import Cli
from tests.unit.validators.code_support import needs_full_isolation

CODING = """\
PROMPT:
Write `triple(n)`.{prompt}

VALIDATION:
```yaml
type: coding
function_name: triple
reference_solution: |
  def triple(n):
      return {body}
base_tests:
  - {{args: [2], expected: 6}}
  - {{args: [5], expected: 15}}
{more}```
"""
PLAIN = """\
PROMPT:
Say yes.

VALIDATION:
```yaml
{block}
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks" / "own").mkdir(parents=True)
    return tmp_path / "tasks"


def coding(folder: Path, prompt: str = "", body: str = "3 * n", more: str = "") -> Path:
    file = folder / "own" / "triple.md"
    file.write_text(CODING.format(prompt=prompt, body=body, more=more))
    return file


def hidden(folder: Path, text: str) -> Path:
    file = folder / "hidden" / "own" / "triple.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def block(folder: Path, *lines: str) -> Path:
    """A task whose block begins in line 6."""
    file = folder / "own" / "plain.md"
    file.write_text(PLAIN.format(block="\n".join(lines)))
    return file


@needs_full_isolation
def test_the_shipped_tasks_are_sound(cli: Cli) -> None:
    said = cli("task", "check")
    assert (said.code, said.out) == (exit_codes.OK, "")
    assert "0 problems" in said.err


@needs_full_isolation
def test_a_sound_task_is_passed_as_a_file_a_category_and_a_folder(cli: Cli, folder: Path) -> None:
    file = coding(folder)
    for path in (file, file.parent, folder):
        said = cli("task", "check", str(path))
        assert (said.code, said.out, said.err) == (exit_codes.OK, "", "1 task checked, 0 problems.\n")


@needs_full_isolation
def test_a_task_in_a_group_is_found_from_every_side_and_its_hidden_tests_count(cli: Cli, folder: Path) -> None:
    file = coding(folder)
    group = folder / "own" / "hard"
    group.mkdir()
    file = file.rename(group / "triple.md")
    secret = folder / "hidden" / "own" / "hard" / "triple.json"
    secret.parent.mkdir(parents=True)
    secret.write_text('[{"args": [731], "expected": 1}]')
    for path in (file, group, folder):
        said = cli("task", "check", str(path))
        assert said.code == exit_codes.FAILED
        assert "hidden: 1 of 1 tests failed" in said.out
        assert said.err.startswith("1 task checked")


@pytest.mark.parametrize(
    ("lines", "number", "what"),
    [
        (["type: exact", "expected: yes", "colour: red"], 8, "unknown key 'colour'"),
        (["type: exact"], 6, "expected is missing"),
        (["type: frobnicate"], 6, "'frobnicate' is no validator"),
        (["type: reasoning", "expected_answer: 4", "tolerance: much"], 8, "tolerance must be a number"),
        (
            ["type: planning", "rubric:", "  - {criterion: A, keywords: [a]}", "  - {criterion: B, keywords: []}"],
            9,
            "empty",
        ),
        (["type: instructions", "instructions:", "  - id: keywords:existence", "    keywords: []"], 9, "at least one"),
        (["type: tool_use", "tools: [f]", "expected_calls:", "  - function: g"], 9, "'g' is none of f"),
        (["type: json_schema", "schema:", "  type: 5"], 8, "schema is wrong"),
        (["type: exact", "expected: [yes"], 8, "is not valid YAML"),
    ],
)
def test_a_wrong_block_is_told_with_its_line(cli: Cli, folder: Path, lines: list[str], number: int, what: str) -> None:
    file = block(folder, *lines)
    said = cli("task", "check", str(file))
    assert said.code == exit_codes.FAILED
    assert said.out.startswith(f"{file}:{number}: ")
    assert what in said.out.replace("must be a list with at least one text, not []", "empty at least one")


def test_every_problem_is_a_line(cli: Cli, folder: Path) -> None:
    block(folder, "type: exact")
    (folder / "own" / "other.md").write_text("Hello\n")
    (folder / "suites.yaml").write_text("- name: mine\n")
    hidden(folder, "[]")
    said = cli("task", "check", str(folder))
    assert [line.removeprefix(f"{folder}/").split(" ")[0] for line in said.out.splitlines()] == [
        "hidden/own/triple.json:1:",
        "own/other.md:1:",
        "own/plain.md:6:",
        "suites.yaml:1:",
    ]


@needs_full_isolation
@pytest.mark.parametrize(
    ("body", "more", "number"),
    [("n + 4", "", 8), ("n / 0", "", 8), ("3 * n", "edge_tests:\n  - {args: [1], expected: 4}\n", 8)],
)
def test_a_reference_solution_that_fails_its_tests_is_told(
    cli: Cli, folder: Path, body: str, more: str, number: int
) -> None:
    file = coding(folder, body=body, more=more)
    said = cli("task", "check", str(file))
    assert said.code == exit_codes.FAILED
    assert said.out.startswith(f"{file}:{number}: the reference solution scores 0.")


@needs_full_isolation
def test_hidden_tests_that_the_reference_fails_are_told_without_their_values(cli: Cli, folder: Path) -> None:
    coding(folder)
    hidden(folder, '[{"args": [7123], "expected": 4444}]')
    said = cli("task", "check", str(folder))
    assert "hidden: 1 of 1 tests failed" in said.out
    assert "7123" not in said.out
    assert "4444" not in said.out


@needs_full_isolation
@pytest.mark.parametrize(
    ("prompt", "test"),
    [
        (" For example, `triple( 71)` is 213.", '{"args": [71], "expected": 213}'),
        (" 'go, and go again' becomes 'the same'.", '{"args": ["go, and go again"], "expected": "the same"}'),
    ],
)
def test_a_hidden_test_in_the_prompt_is_told_by_its_line(cli: Cli, folder: Path, prompt: str, test: str) -> None:
    coding(folder, prompt=prompt)
    file = hidden(folder, f'[\n  {{"args": [8], "expected": 24}},\n  {test}\n]\n')
    said = cli("task", "check", str(folder))
    assert f"{file}:3: hidden test 2 stands in the prompt" in said.out


def test_a_malformed_hidden_test_is_told_by_its_line_and_not_shown(cli: Cli, folder: Path) -> None:
    coding(folder)
    file = hidden(folder, '[\n  {"args": [8], "expected": 24},\n  {"args": 5551, "expected": 1}\n]\n')
    said = cli("task", "check", str(folder))
    assert said.out == f"{file}:3: hidden_tests[1]: is malformed\n"


def test_a_name_that_exists_already_is_told(cli: Cli, folder: Path, tmp_path: Path) -> None:
    file = block(folder, "type: exact", "expected: yes")
    other = tmp_path / "more" / "own" / "plain.md"
    other.parent.mkdir(parents=True)
    other.write_text(file.read_text())
    taken = folder / "reasoning" / "two_plus_two.md"
    taken.parent.mkdir()
    taken.write_text(file.read_text())
    said = cli("task", "check", str(file), str(other), str(taken), str(file))
    assert f"{other}:1: a task 'own/plain' exists already, in {file}" in said.out
    assert f"{taken}:1: a task 'reasoning/two_plus_two' exists already, among the shipped tasks" in said.out
    assert len(said.out.splitlines()) == 2


def test_a_path_that_leads_to_no_task_is_an_error(cli: Cli, tmp_path: Path) -> None:
    said = cli("task", "check", str(tmp_path / "none.md"))
    assert said.code == exit_codes.FAILED
    assert "is no task file" in said.err


def test_json_holds_every_problem(cli: Cli, folder: Path) -> None:
    file = block(folder, "type: exact")
    said = cli("task", "check", str(file), "--json")
    assert said.code == exit_codes.FAILED
    assert json.loads(said.out) == {
        "ok": False,
        "tasks": 1,
        "problems": [{"path": str(file), "line": 6, "what": "exact: expected is missing"}],
    }
