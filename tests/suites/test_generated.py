"""Every shipped task that is generated, over many seeds: sound, right answers pass, wrong ones fail, prompts differ."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
from llmbench_validators.registry import grade
from llmbench_validators.types import Completion

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.variants import Template

SEEDS = (0, 1, 2, 3, 2**40 + 1)


@lru_cache
def catalog() -> Catalog:
    return Catalog.load()


def generated(suite: str) -> list[Task]:
    return [task for task in catalog().tasks_of(catalog().suite(suite)) if task.template]


def values(task: Task, seed: int) -> Any:
    assert isinstance(task.template, Template)
    return task.template.values(seed)


def said(answer: object) -> Completion:
    text = ", ".join(answer) if isinstance(answer, list) else str(answer)
    return Completion(f"I looked for it.\n<answer>{text}</answer>")


LONG = [task.id for task in generated("long_context")]


def test_the_suite_of_long_texts_asks_one_thing_several_and_a_sum_at_five_lengths() -> None:
    assert len(LONG) == 20
    tokens = [task.prompt_tokens for task in generated("long_context")]
    assert tokens == sorted(tokens, key=lambda count: round(count, -3))
    assert min(tokens) > 1700
    assert 30_000 < max(tokens) < 32_768
    assert {task.difficulty for task in generated("long_context")} == {"easy", "medium", "hard"}


@pytest.mark.parametrize("task_id", LONG)
def test_in_every_draw_the_answer_passes_and_one_made_of_false_friends_fails(task_id: str) -> None:
    task = catalog().task(task_id)
    for seed in SEEDS:
        drawn, hay = task.template.draw(seed), values(task, seed)["hay"]  # type: ignore[union-attr]  # generated
        assert grade(drawn.validation, said(hay["answer"])).passed
        assert not grade(drawn.validation, said(hay["wrong"])).passed
        assert not grade(drawn.validation, Completion("I cannot find it.")).passed


@pytest.mark.parametrize("task_id", LONG)
def test_seeds_make_different_texts_and_questions_of_the_same_length(task_id: str) -> None:
    drawn = [catalog().task(task_id).template.draw(seed) for seed in SEEDS]  # type: ignore[union-attr]  # generated
    assert len({task.prompt for task in drawn}) == len(SEEDS)
    assert len({task.prompt.rpartition("</chronicle>")[2] for task in drawn}) == len(SEEDS)
    assert len({task.content_hash() for task in drawn}) == len(SEEDS)
    lengths = [len(task.prompt) for task in drawn]
    assert max(lengths) - min(lengths) < 500


@pytest.mark.parametrize("task_id", [name for name in LONG if "needle" in name])
def test_a_single_fact_lies_in_its_half_and_its_false_friends_differ_in_one_detail(task_id: str) -> None:
    task = catalog().task(task_id)
    for seed in SEEDS:
        hay = values(task, seed)["hay"]
        place = hay["text"].index(f"is {hay['answer'].lower()}.") / len(hay["text"])
        assert place < 0.6 if task_id.endswith("early") else place > 0.4
        locker, town = hay["question"].removesuffix("?").split("locker ")[1].split(" in ")
        assert hay["text"].count("The pass word of locker") >= 7
        assert hay["text"].count(f"The pass word of locker {locker} in {town} is") == 1
        assert hay["text"].count(f"locker {locker} in ") > 1
        assert hay["text"].count(f" in {town} is") > 1


def test_facts_that_belong_together_lie_far_apart() -> None:
    for seed in SEEDS:
        hay = values(catalog().task("long_context/list_32k"), seed)["hay"]
        places = sorted(hay["text"].index(f"a chest of {item}.") / len(hay["text"]) for item in hay["answer"])
        assert [int(place * 4.02) for place in places] == pytest.approx([0, 1, 2, 3], abs=1)
        assert places[-1] - places[0] > 0.4


SPEED = generated("speed")


@pytest.mark.parametrize("task", SPEED, ids=lambda task: task.id)
def test_a_speed_task_is_what_its_name_says(task: Task) -> None:
    assert task.load is not None
    prompt, out, at_once = task.id.removeprefix("speed/").split("_")
    tokens = int(prompt[1:].removesuffix("k")) * (1000 if prompt.endswith("k") else 1)
    assert task.prompt_tokens + 15 == pytest.approx(tokens, rel=0.12)
    assert (task.max_tokens, task.load.concurrency) == (int(out[1:]), int(at_once[1:]))
    assert task.load.requests >= min(2 * task.load.concurrency, 3)


def test_speed_is_measured_over_the_whole_range() -> None:
    loads = [task.load for task in SPEED if task.load]
    assert {load.concurrency for load in loads} == {1, 2, 4, 8, 16, 32}
    assert {task.max_tokens for task in SPEED} == {128, 256, 512, 1024}
    assert len({task.prompt[:40] for task in SPEED}) == len(SPEED)


@pytest.mark.parametrize("task", SPEED, ids=lambda task: task.id)
def test_an_answer_cut_off_at_its_budget_is_a_measured_one_and_a_short_one_is_not(task: Task) -> None:
    budget = task.max_tokens or 0
    assert grade(task.validation, Completion("and then " * (budget // 3), finish_reason="length")).passed
    assert not grade(task.validation, Completion("The end.", finish_reason="stop")).passed


def test_the_full_suite_holds_all_four_roles_by_their_shares() -> None:
    full = catalog().suite("full_suite")
    shares: dict[str, float] = {}
    for item in full.items:
        role = item.task_id.split("/", 1)[0]
        shares[role] = shares.get(role, 0.0) + item.weight / len(full.items)
    assert shares == pytest.approx({"coding": 0.3, "reasoning": 0.3, "tool_use": 0.2, "planning": 0.2}, abs=1e-4)
