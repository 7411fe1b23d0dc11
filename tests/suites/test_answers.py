"""Tasks that are not code: of each, right answers pass and plausible wrong ones fail.

``answers/<category>/<task>.yaml`` holds ``right`` and ``wrong``: texts, or messages with tool calls as an answer's
``tool_calls`` are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llmbench_datasets
import pytest
import yaml
from llmbench_validators.registry import grade
from llmbench_validators.types import Completion

from llmbench_mcp.catalog.catalog import Catalog

TASKS = Path(llmbench_datasets.__file__).parent
ANSWERS = Path(__file__).parent / "answers"
CATEGORIES = ("instruction_following", "planning", "structured_output")
FILES = sorted(ANSWERS.rglob("*.yaml"))


@cache
def catalog() -> Catalog:
    return Catalog.load(())


def answers_of(path: Path) -> tuple[str, Mapping[str, list[Any]]]:
    """The task's id and its answers."""
    return path.relative_to(ANSWERS).with_suffix("").as_posix(), yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_right_answers_pass_and_wrong_ones_fail(path: Path) -> None:
    task_id, answers = answers_of(path)
    task = catalog().task(task_id)
    assert len(answers["right"]) >= 1
    assert len(answers["wrong"]) >= 2
    for text in answers["right"]:
        verdict = grade(task.validation, Completion(text))
        assert (verdict.passed, verdict.score) == (True, 1.0), (text, verdict.findings)
    for text in answers["wrong"]:
        assert not grade(task.validation, Completion(text)).passed, text


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_task_of_a_category_has_answers_to_be_judged(category: str) -> None:
    tasks = {path.stem for path in (TASKS / category).glob("*.md")}
    assert tasks == {path.stem for path in FILES if path.parent.name == category}
    assert len(tasks) >= 15
