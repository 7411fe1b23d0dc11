"""The exam: good answers get full marks, and each pillar finds out what was broken on its account.

``exam/good/<task>.py`` is a right module written in another way than the reference solution. ``exam/<task>.yaml``
lists broken answers: the task's own reference solution with ``edits`` (pairs of old and new text) or other
``tests``, the ``pillar`` they were written for, and the points each pillar then gives. An answer's own tests that
notice the fault cost points of test coverage integrity too; every other pillar is left whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from llmbench_validators.registry import grade
from llmbench_validators.types import Completion

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.blocks import block_fault
from tests.unit.validators.code_support import needs_full_isolation

ANSWERS = Path(__file__).parent / "exam"
COVERAGE = "test coverage integrity"
TASKS = ("lfu_cache", "webhook_receiver", "automation_script", "data_pipeline", "speech_client", "mcp_server")
FULL = 20.0


@dataclass(frozen=True)
class Sample:
    """One broken answer and what it is worth."""

    task: str
    name: str
    pillar: str
    scores: Mapping[str, float]
    edits: tuple[tuple[str, str], ...] = ()
    tests: str | None = None

    def answer(self, reference: str) -> str:
        for old, new in self.edits:
            assert reference.count(old) == 1, old
            reference = reference.replace(old, new)
        if self.tests is None:
            return reference
        opening = f"```python test_{self.task}.py\n"
        return reference.partition(opening)[0] + opening + self.tests + "```\n"


def samples() -> list[Sample]:
    return [
        Sample(
            task,
            entry["name"],
            entry["pillar"],
            entry["scores"],
            tuple(map(tuple, entry.get("edits", ()))),
            entry.get("tests"),
        )
        for task in TASKS
        for entry in yaml.safe_load((ANSWERS / f"{task}.yaml").read_text(encoding="utf-8"))
    ]


@cache
def tasks() -> dict[str, Task]:
    catalog = Catalog.load(())
    return {task.id.partition("/")[2]: task for task in catalog.tasks_of(catalog.suite("exam"))}


def block_for(sample: Sample) -> dict[str, Any]:
    """The task's block; putting faults into the code takes long, and is left out where something else is tried."""
    block = tasks()[sample.task].validation
    pillars = {name: list(checks) for name, checks in block["pillars"].items()}
    if COVERAGE in pillars and sample.pillar != COVERAGE:
        pillars[COVERAGE] = [check for check in pillars[COVERAGE] if "mutation" not in check]
    return {**block, "pillars": pillars}


def test_the_exam_has_six_tasks_with_five_pillars_of_their_own() -> None:
    assert tuple(tasks()) == TASKS
    for name, task in tasks().items():
        pillars = task.validation["pillars"]
        assert len(pillars) == 5, name
        assert (task.max_tokens or 0) >= 16_000, name
        assert (task.licence, bool(task.title), bool(task.expected)) == ("MIT", True, True), name
        assert block_fault(task) is None
    named = Counter(pillar for task in tasks().values() for pillar in task.validation["pillars"])
    assert set(named.values()) == {1}


def test_every_pillar_has_at_least_three_broken_answers() -> None:
    count = Counter((sample.task, sample.pillar) for sample in samples())
    for name, task in tasks().items():
        for pillar in task.validation["pillars"]:
            assert count[name, pillar] >= 3, (name, pillar)
    assert len({(sample.task, sample.name) for sample in samples()}) == len(samples())


def written_otherwise(name: str) -> str:
    """The other right module, with the tests of the reference solution."""
    block = tasks()[name].validation
    module = (ANSWERS / "good" / f"{name}.py").read_text(encoding="utf-8")
    _, opening, tests = block["reference_solution"].partition("```python test_")
    return f"```python {block['module']}\n{module}```\n{opening}{tests}"


@needs_full_isolation
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("reference", [True, False], ids=["reference", "other"])
def test_a_good_answer_gets_full_marks(name: str, reference: bool) -> None:
    block = tasks()[name].validation
    text = block["reference_solution"] if reference else written_otherwise(name)
    verdict = grade(block, Completion(text, prompt=tasks()[name].prompt))

    assert verdict.passed, verdict.findings
    assert verdict.score >= 0.95
    assert verdict.subscores == dict.fromkeys(block["pillars"], FULL), verdict.findings


@needs_full_isolation
@pytest.mark.parametrize("sample", samples(), ids=lambda sample: f"{sample.task}: {sample.name}")
def test_a_broken_answer_loses_the_pillar_it_breaks(sample: Sample) -> None:
    block = block_for(sample)
    verdict = grade(block, Completion(sample.answer(block["reference_solution"])))

    assert dict(verdict.subscores) == sample.scores, verdict.findings
    assert verdict.subscores[sample.pillar] < FULL - 1
    assert all(points == FULL for name, points in verdict.subscores.items() if name not in (sample.pillar, COVERAGE))
    assert (verdict.passed, verdict.failure) == (False, "missed_criteria")
    assert any(finding.startswith(f"{sample.pillar}: ") for finding in verdict.findings)
