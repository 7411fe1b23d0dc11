"""Answers to the shipped reasoning tasks as models phrase them: the right ones pass, a wrong one fails."""

from __future__ import annotations

import functools

import pytest
from llmbench_validators import registry
from llmbench_validators.types import Completion, Verdict

from llmbench_mcp.catalog.catalog import Catalog

RIGHT: dict[str, tuple[str, str, str]] = {
    "reasoning/two_plus_two": ("2 + 2 is 4.", "The answer is **4**.", "Four."),
    "reasoning/capital_of_france": (
        "The capital of France is Paris.",
        "Paris",
        "**Answer:** Paris",
    ),
    "reasoning/four_animals": (
        "An eagle has feathers and lays eggs, so it is a bird.\n\nAnswer: C",
        "Only the eagle is a bird; the dog is a mammal.\n**Answer:** C)",
        "A frog is an amphibian and a salmon is a fish. The answer is (C) eagle.",
    ),
    "reasoning/three_times_five": ("3 x 5 is 15.", "3 x 5 = 15", "The product is fifteen: 3 x 5 = **15**."),
    "reasoning/first_month": (
        "The month of January is the first one of the year.",
        "The first month is **January**.",
        "january",
    ),
    "reasoning/pencil_boxes": (
        "7 x 12 = 84 pencils are bought and 15 x 4 = 60 given away.\n84 - 60 = 24\n\nAnswer: 24",
        "84 - 60 leaves 24.\n**Answer:** 24 pencils",
        "\\[ 84 - 60 = \\boxed{24} \\]",
    ),
    "reasoning/bus_and_train": (
        "The bus arrives at 11:20, the train leaves at 11:40 and is due at 12:30.\nAnswer: 12:42",
        "9:45 + 1:35 = 11:20, then 11:40, 12:30 and 12 minutes more.\n\n**Answer:** 12:42 PM",
        "She waits until 11:40. The final answer is 12:42.",
    ),
    "reasoning/shared_cake": (
        "4/5 are left, then 8/15, then half of it.\nAnswer: 4/15",
        "After Ben 8/15 remain.\n\n**Answer:** $\\frac{4}{15}$",
        "\\(\\frac{4}{5} \\cdot \\frac{2}{3} \\cdot \\frac{1}{2} = \\frac{8}{30}\\), so\nAnswer: 8/30",
    ),
    "reasoning/leaking_tank": (
        "80 litres are gained in 10 minutes, 40 are missing, 40 / 12 = 10/3.\nAnswer: 40/3",
        "10 minutes and 3 1/3 minutes.\n**Answer:** 13 1/3 minutes",
        "40 / 12 = 3.33\nAnswer: 13.33",
    ),
    "reasoning/rope_cuts": (
        "3.5 m = 350 cm, 350 / 25 = 14 pieces, one cut less than pieces.\nAnswer: 13",
        "14 pieces need 13 cuts; the weight is not needed.\n\n**Answer:** 13 cuts",
        "There are 14 pieces of 25 cm. Therefore the answer is thirteen.",
    ),
    "reasoning/museum_visit": (
        "The family ticket costs 34 euros and two guides 6 euros: 40 euros.\nAnswer: B",
        "34 + 2 x 3 = 40, less than 28 + 12 + 6 = 46.\n\n**Answer:** B) 40 euros",
        "Single tickets cost 40 euros without guides. The family ticket is cheaper.\nAnswer: 40 euros",
    ),
}
WRONG = {
    "reasoning/two_plus_two": "2 + 2 is 5.",
    "reasoning/capital_of_france": "The capital of France is Lyon, not Paris.",
    "reasoning/four_animals": "An eagle can fly, and so can a frog.\nAnswer: D",
    "reasoning/three_times_five": "3 x 5 is 35.",
    "reasoning/first_month": "The first month of the year is March.",
    "reasoning/pencil_boxes": "7 x 12 = 84, and 84 - 24 = 60.\nAnswer: 60",
    "reasoning/bus_and_train": "The train is due at 12:30.\nAnswer: 12:30",
    "reasoning/shared_cake": "After Ben 8/15 remain.\nAnswer: 8/15",
    "reasoning/leaking_tank": "120 / 8 = 15\nAnswer: 15",
    "reasoning/rope_cuts": "350 / 25 = 14 pieces, so 13 cuts make 13 pieces.\nAnswer: 14",
    "reasoning/museum_visit": "2 x 14 + 2 x 6 + 6 = 46, which is more than 40 euros.\nAnswer: C",
}


@functools.cache
def catalog() -> Catalog:
    return Catalog.load()


def graded(task: str, text: str) -> Verdict:
    asked = catalog().task(task)
    return registry.grade(asked.validation, Completion(text, finish_reason="stop", prompt=asked.prompt))


def test_every_shipped_reasoning_task_has_right_answers_and_a_wrong_one() -> None:
    assert list(RIGHT) == list(WRONG) == [item.task_id for item in catalog().suite("reasoning_smoke").items]


@pytest.mark.parametrize(("task", "text"), [(task, text) for task, texts in RIGHT.items() for text in texts])
def test_a_right_answer_passes_in_several_phrasings(task: str, text: str) -> None:
    verdict = graded(task, text)
    assert verdict.passed, verdict
    assert verdict.score == 1.0


@pytest.mark.parametrize(("task", "text"), WRONG.items())
def test_a_wrong_answer_fails_although_it_mentions_the_right_one_or_comes_near_it(task: str, text: str) -> None:
    verdict = graded(task, text)
    assert not verdict.passed
    assert verdict.failure == "wrong_answer"
