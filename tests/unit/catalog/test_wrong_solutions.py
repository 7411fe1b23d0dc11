"""Wrong answers to the shipped coding tasks: their tests must catch each of them."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import yaml
from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

from llmbench_mcp.catalog.catalog import Catalog

WRONG: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("wrong_solutions.yaml").read_text(encoding="utf-8")
)
MISTAKES = ("off_by_one", "edge_ignored", "hardcoded")
TRIES = [pytest.param(task, mistake, id=f"{task}-{mistake}") for task in WRONG for mistake in MISTAKES]


@functools.cache
def catalog() -> Catalog:
    return Catalog.load()


def graded(task: str, code: str) -> Verdict:
    return registry.grade(catalog().task(task).validation, Completion(f"```python\n{code}```"))


def test_every_shipped_coding_task_has_a_wrong_solution_of_each_kind() -> None:
    assert set(WRONG) == {item.task_id for item in catalog().suite("coding_smoke").items}
    for task, solutions in WRONG.items():
        assert tuple(solutions) == MISTAKES, task


@pytest.mark.parametrize(("task", "mistake"), TRIES)
def test_a_wrong_solution_fails(task: str, mistake: str) -> None:
    verdict = graded(task, WRONG[task][mistake])
    assert not verdict.passed
    assert verdict.failure in ("wrong_answer", "runtime_error", "hardcoded"), verdict.findings
    assert verdict.score < 1


@pytest.mark.parametrize("task", WRONG)
def test_listing_the_visible_tests_earns_less_than_half(task: str) -> None:
    assert graded(task, WRONG[task]["hardcoded"]).score < 0.5


@pytest.mark.parametrize("task", WRONG)
def test_an_ignored_edge_case_still_earns_a_part_of_the_score(task: str) -> None:
    """Such an answer is nearly right; a task on which it earns nothing could not tell it from nonsense."""
    assert graded(task, WRONG[task]["edge_ignored"]).score > 0.2


@pytest.mark.parametrize("task", WRONG)
def test_the_reference_solution_scores_high(task: str) -> None:
    reference = catalog().task(task).validation["reference_solution"]
    verdict = graded(task, reference)
    assert verdict.passed, verdict.findings
    assert verdict.score >= 0.95
