"""Tasks that are not code: of each, right answers pass and plausible wrong ones fail.

``answers/<category>/<task>.yaml`` holds ``right`` and ``wrong``: texts, or calls as ``{tool_calls: [...]}``, or of a
task in turns the model's side of the conversation as ``{turns: [...]}`` of either.
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
CATEGORIES = ("instruction_following", "planning", "structured_output", "tool_use")
FILES = sorted(ANSWERS.rglob("*.yaml"))


@cache
def catalog() -> Catalog:
    return Catalog.load(())


def answers_of(path: Path) -> tuple[str, Mapping[str, list[Any]]]:
    """The task's id and its answers."""
    return path.relative_to(ANSWERS).with_suffix("").as_posix(), yaml.safe_load(path.read_text(encoding="utf-8"))


def completion(answer: Any) -> Completion:
    """As the model would have given it."""
    texts = [{"text": one} if isinstance(one, str) else one for one in turns_of(answer)]
    said: list[dict[str, Any]] = [{"text": "", **one} for one in texts]
    last = said[-1]
    return Completion(last["text"], tuple(last.get("tool_calls", ())), "stop", earlier=tuple(said[:-1]))


def turns_of(answer: Any) -> list[Any]:
    return answer["turns"] if isinstance(answer, Mapping) and "turns" in answer else [answer]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_right_answers_pass_and_wrong_ones_fail(path: Path) -> None:
    task_id, answers = answers_of(path)
    task = catalog().task(task_id)
    assert len(answers["right"]) >= 1
    assert len(answers["wrong"]) >= 2
    for text in answers["right"]:
        verdict = grade(task.validation, completion(text))
        assert (verdict.passed, verdict.score) == (True, 1.0), (text, verdict.findings)
    for text in answers["wrong"]:
        assert not grade(task.validation, completion(text)).passed, text


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_task_of_a_category_has_answers_to_be_judged(category: str) -> None:
    tasks = {path.stem for path in (TASKS / category).glob("*.md")}
    assert tasks == {path.stem for path in FILES if path.parent.name == category}
    assert len(tasks) >= 15
