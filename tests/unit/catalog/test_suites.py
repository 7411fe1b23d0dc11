"""Suites and the catalog as a whole: the shipped content, and folders of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llmbench_validators import coding, reasoning
from llmbench_validators.types import Completion

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.catalog.lookup import TaskFinder
from llmbench_mcp.domain.errors import InputError, NotFoundError, TaskFormatError

TASK = "PROMPT:\nWhat is one and one?\n\nVALIDATION:\n```yaml\ntype: reasoning\nexpected_answer: 2\n```\n"
SUITE = "- name: mine\n  title: Mine\n  description: A test.\n  version: 1\n  tasks:\n"


def folder(root: Path, suites: str = "", **tasks: str) -> Path:
    """A user's folder: ``maths__sum=...`` becomes ``maths/sum.md``."""
    for name, text in tasks.items():
        file = root / (name.replace("__", "/") + ".md")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if suites:
        (root / "suites.yaml").write_text(suites, encoding="utf-8")
    return root


def refusal(root: Path) -> str:
    with pytest.raises(TaskFormatError) as caught:
        Catalog.load([root])
    return str(caught.value).replace(str(root) + "/", "")


def test_the_first_look_has_tasks_of_two_kinds_and_its_halves_are_suites_too() -> None:
    catalog = Catalog.load()
    smoke, coding, reasoning = (catalog.suite(name) for name in ("smoke", "coding_smoke", "reasoning_smoke"))
    assert smoke.title == "First look"
    assert smoke.items == coding.items + reasoning.items
    assert {task.category for task in catalog.tasks_of(coding)} == {"coding"}
    assert {task.category for task in catalog.tasks_of(reasoning)} == {"reasoning"}
    assert [suite.name for suite in catalog.suites()][:3] == ["smoke", "coding_smoke", "reasoning_smoke"]
    assert smoke.source.endswith("suites.yaml")


def test_every_shipped_task_is_complete() -> None:
    catalog = Catalog.load()
    for task in catalog.tasks_of(catalog.suite("smoke")):
        assert task.title
        assert task.expected
        assert task.max_tokens is not None
        assert task.licence == "MIT"
        if task.category == "coding":
            assert len(task.validation["base_tests"]) >= 5, task.id
            assert len(task.validation["hidden_tests"]) >= 3, task.id


def test_every_reference_solution_passes_every_test_of_its_task() -> None:
    catalog = Catalog.load()
    for task in catalog.tasks_of(catalog.suite("coding_smoke")):
        solution = f"```python\n{task.validation['reference_solution']}```"
        verdict = coding.validate(task.validation, Completion(solution))
        assert verdict.passed, (task.id, verdict.findings)
        assert verdict.stages["hidden"].total >= 3


def test_every_expected_answer_passes_its_own_reasoning_task() -> None:
    catalog = Catalog.load()
    for task in catalog.tasks_of(catalog.suite("reasoning_smoke")):
        answer = task.validation["expected_answer"]
        assert reasoning.validate(task.validation, Completion(f"Answer: {answer}", prompt=task.prompt)).passed, task.id
        assert not reasoning.validate(task.validation, Completion(task.prompt)).passed, task.id


def test_no_hidden_test_value_appears_in_its_tasks_prompt() -> None:
    catalog = Catalog.load()
    for task in catalog.tasks_of(catalog.suite("coding_smoke")):
        for test in task.validation["hidden_tests"]:
            shown = [json.dumps(test["args"])[1:-1], *map(json.dumps, test["args"])]
            assert not [value for value in shown if len(value) > 1 and value in task.prompt], task.id


def test_no_hidden_test_repeats_one_that_can_be_seen() -> None:
    catalog = Catalog.load()
    for task in catalog.tasks_of(catalog.suite("coding_smoke")):
        spec = task.validation
        seen = [test["args"] for test in (*spec["base_tests"], *spec["edge_tests"])]
        assert not [test for test in spec["hidden_tests"] if test["args"] in seen], task.id


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    catalog = Catalog.load()
    with pytest.raises(NotFoundError) as caught:
        catalog.suite("coding-smoke")
    assert caught.value.nearest[0] == "coding_smoke"
    with pytest.raises(NotFoundError, match=r"no task 'coding/is_evn'.*coding/is_even"):
        catalog.task("coding/is_evn")


def test_a_folder_of_ones_own_adds_tasks_and_suites_that_may_use_the_shipped_tasks(tmp_path: Path) -> None:
    suites = SUITE + "    - maths/sum\n    - {task: coding/is_even, weight: 2.5}\n"
    root = folder(tmp_path, suites, maths__sum=TASK, maths__README="# not a task", _private__x="ignored")
    catalog = Catalog.load([root])
    suite = catalog.suite("mine")
    assert [(item.task_id, item.weight) for item in suite.items] == [("maths/sum", 1.0), ("coding/is_even", 2.5)]
    assert catalog.tasks_of(suite)[0].prompt == "What is one and one?"
    assert catalog.suites()[-1] == suite


def test_hidden_tests_of_ones_own_are_merged(tmp_path: Path) -> None:
    root = folder(tmp_path, maths__sum=TASK)
    (root / "hidden" / "maths").mkdir(parents=True)
    (root / "hidden" / "maths" / "sum.json").write_text('[{"args": [1], "expected": 2}]')
    task = Catalog.load([root]).task("maths/sum")
    assert task.validation["hidden_tests"] == [{"args": [1], "expected": 2}]


def test_hidden_tests_without_a_task_are_refused(tmp_path: Path) -> None:
    root = folder(tmp_path, maths__sum=TASK)
    (root / "hidden" / "maths").mkdir(parents=True)
    (root / "hidden" / "maths" / "sun.json").write_text('[{"args": [1], "expected": 2}]')
    assert refusal(root).startswith("hidden/maths/sun.json:1: hidden tests for 'maths/sun', but there is no such")


def test_a_task_id_that_exists_already_is_refused(tmp_path: Path) -> None:
    root = folder(tmp_path, coding__is_even=TASK)
    assert refusal(root).startswith("coding/is_even.md:1: a task 'coding/is_even' exists already.")


def test_a_file_name_that_cannot_be_an_id_is_refused(tmp_path: Path) -> None:
    assert refusal(folder(tmp_path, **{"maths__Sum of two": TASK})).startswith(
        "maths/Sum of two.md:1: 'Sum of two' cannot be part of a task id."
    )


def test_a_category_may_have_groups_and_a_group_hidden_tests(tmp_path: Path) -> None:
    suites = SUITE + "    - maths/hard/sum\n"
    root = folder(tmp_path, suites, maths__hard__sum=TASK, maths__hard__README="# not a task")
    secret = root / "hidden" / "maths" / "hard" / "sum.json"
    secret.parent.mkdir(parents=True)
    secret.write_text('[{"args": [1], "expected": 2}]')
    task = Catalog.load([root]).task("maths/hard/sum")
    assert (task.category, task.title) == ("maths", "Sum")
    assert task.validation["hidden_tests"] == [{"args": [1], "expected": 2}]
    assert TaskFinder([root]).find("maths/hard/sum") == task


def test_a_folder_below_a_group_is_refused(tmp_path: Path) -> None:
    root = folder(tmp_path, maths__hard__deep__sum=TASK)
    assert refusal(root).startswith("maths/hard/deep:1: is a folder too deep.")


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        Catalog.load([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("suites", "message"),
    [
        (SUITE + "    - maths/sun\n", "suites.yaml:6: there is no task 'maths/sun'. Nearest: maths/sum"),
        (SUITE + "    - maths/sum\n    - maths/sum\n", "suites.yaml:7: task 'maths/sum' is in this suite already."),
        (SUITE + "    - {task: maths/sum, weight: 0}\n", "suites.yaml:6: weight must be above 0, not 0."),
        (SUITE + "    - {task: maths/sum, weight: x}\n", "suites.yaml:6: weight must be a number, not 'x'."),
        (SUITE + "    - {task: maths/sum, heft: 1}\n", "suites.yaml:6: an entry of tasks has an unknown key 'heft'."),
        (SUITE + "    - {weight: 1}\n", "suites.yaml:6: an entry of tasks lacks task."),
        (SUITE + "    []\n", "suites.yaml:6: the suite has no tasks."),
        (SUITE + "    7\n", "suites.yaml:6: tasks must be a list."),
        ("- name: mine\n  title: Mine\n", "suites.yaml:1: the suite lacks description, version, tasks."),
        (SUITE.replace("mine", "smoke"), "suites.yaml:1: a suite named 'smoke' exists already."),
        (SUITE + "    - maths/sum\n" + SUITE, "suites.yaml:7: a suite named 'mine' exists already."),
        (SUITE.replace("mine", "Mine!"), "suites.yaml:1: 'Mine!' cannot be a suite's name."),
        (SUITE.replace("version: 1", "version: one"), "suites.yaml:4: version must be a whole number"),
        (SUITE.replace("title", "titel"), "suites.yaml:2: a suite has an unknown key 'titel'."),
        ("mine: {}\n", "suites.yaml:1: a suite file must be a list."),
    ],
)
def test_a_bad_suite_file_is_refused_at_its_line(tmp_path: Path, suites: str, message: str) -> None:
    assert refusal(folder(tmp_path, suites, maths__sum=TASK)).startswith(message)


def test_loading_twice_gives_the_same_hashes() -> None:
    first, second = Catalog.load(), Catalog.load()
    for task in first.tasks_of(first.suite("smoke")):
        assert task.content_hash() == second.task(task.id).content_hash()
