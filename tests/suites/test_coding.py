"""The coding suite: right answers pass whichever way they are written, plausible wrong ones fail.

``coding_wrong/<task>/<mistake>.py`` are answers that must fail, ``coding_right/<task>.py`` right ones written in
another way than the reference solution; for tasks of several files they are Markdown.
"""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.blocks import LEAST_REFERENCE_SCORE, block_fault, shown_secrets
from tests.unit.validators.code_support import needs_full_isolation

HERE = Path(__file__).parent
SUITE = "coding_suite"
STAGES = {"coding": {"base", "random", "edge", "hidden"}, "coding_multifile": {"integration", "hidden"}}
WEIGHTS = {"easy": 1, "medium": 2, "hard": 3}
FAULTS = ("wrong_answer", "runtime_error", "timeout", "memory_limit", "hardcoded")


@functools.cache
def tasks() -> dict[str, Task]:
    catalog = Catalog.load()
    return {task.id: task for task in catalog.tasks_of(catalog.suite(SUITE))}


def answers(folder: str) -> list[Path]:
    return sorted(path for path in (HERE / folder).rglob("*") if path.suffix in (".py", ".md"))


def graded(task: str, path: Path) -> Verdict:
    text = path.read_text(encoding="utf-8")
    fenced = f"```python\n{text}```" if path.suffix == ".py" else text
    return registry.grade(tasks()[task].validation, Completion(fenced, prompt=tasks()[task].prompt))


def named(path: Path, folder: str) -> str:
    return path.relative_to(HERE / folder).with_suffix("").as_posix()


def test_there_are_thirty_tasks_of_three_levels_that_weigh_more_the_harder_they_are() -> None:
    assert len(tasks()) == 30
    assert Counter(task.difficulty for task in tasks().values()) == {"easy": 8, "medium": 12, "hard": 10}
    assert {task.category for task in tasks().values()} == {"coding"}
    for item in Catalog.load().suite(SUITE).items:
        assert item.weight == WEIGHTS[tasks()[item.task_id].difficulty], item.task_id


def test_every_task_is_complete_and_gives_no_hidden_test_away() -> None:
    for task in tasks().values():
        assert task.title, task.id
        assert task.expected, task.id
        assert task.tags, task.id
        assert (task.max_tokens or 0) >= 400, task.id
        assert task.licence == "MIT", task.id
        assert (block_fault(task), shown_secrets(task)) == (None, []), task.id


def test_no_hidden_test_repeats_one_that_can_be_seen() -> None:
    for task in tasks().values():
        spec = task.validation
        seen = [test["args"] for test in (*spec.get("base_tests", ()), *spec.get("edge_tests", ()))]
        assert len(spec["hidden_tests"]) >= 2, task.id
        assert not [test for test in spec["hidden_tests"] if test.get("args") in seen], task.id


@needs_full_isolation
@pytest.mark.parametrize("task", tasks())
def test_the_reference_solution_scores_high_in_every_stage(task: str) -> None:
    spec = tasks()[task].validation
    verdict = registry.grade(spec, Completion(spec["reference_solution"], prompt=tasks()[task].prompt))
    assert verdict.passed, verdict.findings
    assert verdict.score >= LEAST_REFERENCE_SCORE
    assert set(verdict.stages) == STAGES[spec["type"]]
    assert min(stage.total for stage in verdict.stages.values()) >= (3 if spec["type"] == "coding" else 2)


@needs_full_isolation
@pytest.mark.parametrize("path", answers("coding_right"), ids=lambda path: named(path, "coding_right"))
def test_a_right_answer_written_another_way_passes(path: Path) -> None:
    verdict = graded(f"coding/{named(path, 'coding_right')}", path)
    assert verdict.passed, verdict.findings


@needs_full_isolation
@pytest.mark.parametrize("path", answers("coding_wrong"), ids=lambda path: named(path, "coding_wrong"))
def test_a_wrong_answer_fails(path: Path) -> None:
    verdict = graded(f"coding/{named(path.parent, 'coding_wrong')}", path)
    assert not verdict.passed
    assert verdict.failure in FAULTS, verdict.findings
    assert verdict.score < 1


def test_every_task_has_a_wrong_answer_of_each_kind_and_another_right_one() -> None:
    for task in tasks():
        name = task.removeprefix("coding/")
        mistakes = {path.stem for path in (HERE / "coding_wrong" / name).iterdir()}
        assert {"off_by_one", "hardcoded"} <= mistakes, task
        assert mistakes & {"stateless", "state_sharing"}, task
        assert list((HERE / "coding_right").glob(f"{name}.*")), task
