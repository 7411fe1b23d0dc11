"""``task new``, ``task run-reference``, ``task schema`` and ``suites --reliability``."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it has no type information
import pytest
from llmbench_validators.block_schemas import schema

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.catalog.lookup import TaskFinder
from llmbench_mcp.cli import exit_codes
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.services.authoring import kinds
from tests.cli.conftest import Cli
from tests.unit.validators.code_support import needs_full_isolation

KINDS = kinds()


def written(cli: Cli, folder: Path, kind: str) -> Path:
    made = cli("task", "new", f"own/{kind}", "--type", kind, "--dir", str(folder), "--json")
    assert made.code == exit_codes.OK
    return Path(made.json["path"])


def test_there_is_a_beginning_for_every_validator_and_for_generated_tasks() -> None:
    assert set(KINDS) >= {"generated", "reasoning", "coding", "tool_use", "planning", "keyword", "exact", "json_schema"}


@needs_full_isolation
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_task_is_sound_and_its_right_answer_passes(cli: Cli, tmp_path: Path, kind: str) -> None:
    path = written(cli, tmp_path, kind)
    assert cli("task", "check", str(path)).code == exit_codes.OK
    run = cli("task", "run-reference", str(path), "--draws", "2", "--json")
    assert run.code == exit_codes.OK
    references = run.json["references"]
    assert [one["seed"] for one in references] == ([0, 1, 2] if kind == "generated" else [0])
    if kind not in ("json_schema", "instructions"):
        assert all(one["grade"]["passed"] for one in references)


def test_a_file_that_is_there_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    path = written(cli, tmp_path, "exact")
    path.write_text("mine", encoding="utf-8")
    again = cli("task", "new", "own/exact", "--type", "exact", "--dir", str(tmp_path))
    assert again.code != exit_codes.OK
    assert "is there already" in again.err
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("../up/x",), "cannot be a task's id"),
        (("own",), "cannot be a task's id"),
        (("own/X",), "cannot be a task's id"),
        (("own/x", "--type", "exat"), "There is no kind of task 'exat'."),
    ],
)
def test_what_cannot_be_a_new_task_is_refused(cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    found = cli("task", "new", *words, "--dir", str(tmp_path / "in"))
    assert found.code != exit_codes.OK
    assert said in found.err
    assert not (tmp_path / "in").exists()


@needs_full_isolation
def test_a_right_answer_that_does_not_pass_is_told_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    path = written(cli, tmp_path, "coding")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("return sum(jars) + len(jars)", "return sum(jars)"), encoding="utf-8")
    found = cli("task", "run-reference", str(path))
    assert found.code == exit_codes.FAILED
    assert "base test 1" in " ".join(found.out.split())


def test_a_reference_of_a_task_that_there_is_not_is_refused(cli: Cli) -> None:
    missing = cli("task", "run-reference", "own/nobody")
    assert missing.code != exit_codes.OK
    assert "There is no task 'own/nobody'." in missing.err


def test_a_generated_task_that_some_seeds_spoil_is_a_problem(cli: Cli, tmp_path: Path) -> None:
    path = written(cli, tmp_path, "generated")
    spoilt = path.read_text(encoding="utf-8").replace("{from: 3, to: 9}", "{from: 0, to: 3}")
    spoilt = spoilt.replace("to: rows * jars - 1", "to: 3 // rows").replace("require: [rows != jars]", "")
    path.write_text(spoilt, encoding="utf-8")
    found = cli("task", "check", str(path))
    assert found.code == exit_codes.FAILED
    assert "drawn with seed" in found.out


def test_variables_that_change_no_prompt_are_a_problem(cli: Cli, tmp_path: Path) -> None:
    path = written(cli, tmp_path, "generated")
    text = "VARIABLES:\n```yaml\nn: {from: 1, to: 99}\n```\nPROMPT:\nSay one.\n\nEXPECTED:\none\n"
    path.write_text(text, encoding="utf-8")
    assert "VARIABLES changes nothing in it" in cli("task", "check", str(path)).out


SHIPPED = [TaskFinder().find(item.task_id) for suite in Catalog.load().suites() for item in suite.items]


def test_every_shipped_block_fits_the_schema_that_editors_get() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    for task in {task.id: task for task in SHIPPED}.values():
        assert validator.is_valid(_block(task)), task.id


def _block(task: Task) -> object:
    return json.loads(json.dumps({key: value for key, value in task.validation.items() if key != "hidden_tests"}))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasonning", "expected_answer": 1},
        {"type": "reasoning", "expected_anwser": 1},
        {"type": "reasoning", "expected_answer": 1, "answer_type": "integer"},
        {"type": "coding", "base_tests": [{"args": [1], "expected": 2}]},
        {"type": "coding", "function_name": "f", "base_tests": [{"arg": [1], "expected": 2}]},
        {"type": "planning", "rubric": [{"criterion": "x"}]},
        {"type": "instructions", "instructions": [{"id": "nothing:known"}]},
    ],
)
def test_a_misspelt_block_does_not_fit_the_schema(block: dict[str, object]) -> None:
    assert not jsonschema.Draft202012Validator(schema()).is_valid(block)


def test_the_schema_is_printed_whole_and_for_one_validator(cli: Cli) -> None:
    assert cli("task", "schema").json == schema()
    assert cli("task", "schema", "exact").json["properties"]["type"] == {"const": "exact"}
    assert "Nearest: exact" in cli("task", "schema", "exat").err


def test_a_suite_says_how_well_it_tells_models_apart(cli: Cli) -> None:
    found = cli("suites", "smoke", "--reliability", "--json").json["reliability"]
    assert 0.8 < found["separation"] < 1
    assert "told apart" in " ".join(cli("suites", "smoke", "--reliability").out.split())
    assert cli("suites", "speed", "--reliability", "--json").json["reliability"] is None
    assert cli("suites", "--reliability").code == exit_codes.USAGE


def test_a_seed_for_all_suites_of_a_run_is_the_seed_in_their_names() -> None:
    from llmbench_mcp.domain.variants import drawn_name

    request = RunRequest(("m",), tuple(drawn_name(name, 7) for name in ("long_context", "other@3")))
    assert request.suites == ("long_context@7", "other@3")
