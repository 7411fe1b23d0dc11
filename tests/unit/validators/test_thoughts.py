from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmbench_validators import thoughts

TAGS = [
    "<think>",
    "</think>",
    "<thinking>",
    "[THINK]",
    "[/THINK]",
    "<|think|>",
    "◁think▷",
    "◁/think▷",
    "\n",
    " ",
    '"',
    "x",
]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>No.</think>Yes.", "Yes."),
        ("<think>No.</think>\n<reasoning>Hm.</reasoning>\nYes.", "\n\nYes."),
        ("<think>a</think><think>b</think>Yes.", "Yes."),
        ("Yes.\n[THINK]No.[/THINK] And more.", "Yes.\n And more."),
        ("◁think▷No.◁/think▷Yes.", "Yes."),
        ("<|begin_of_thought|>No.<|end_of_thought|>Yes.", "Yes."),
        ("<scratchpad>\nNo.\n</scratchpad>\nYes.", "\nYes."),
        ("<|channel|>analysis<|message|>No.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes."),
        ("No, or yes.</think>Yes.", "Yes."),
        ("No.\n</think>\n\nYes.", "\n\nYes."),
        ('text.split("</think>")[1]', 'text.split("</think>")[1]'),
        ("Write `</think>` at the end.", "Write `</think>` at the end."),
        ("The tag <think> opens it.", "The tag <think> opens it."),
        ("Yes.", "Yes."),
    ],
)
def test_reasoning_is_left_out(text: str, answer: str) -> None:
    assert thoughts.answer(text) == (answer, False)


@pytest.mark.parametrize(
    "text", ["<think>It is", "Yes.\n<think>Or no", "<think>a</thinking>b", "<|channel|>analysis<|message|>Hm"]
)
def test_reasoning_that_is_never_closed_is_left_open(text: str) -> None:
    assert thoughts.answer(text)[1]


@given(st.lists(st.sampled_from(TAGS), max_size=30).map("".join))
def test_any_mixture_of_tags_is_read(text: str) -> None:
    kept, _ = thoughts.answer(text)
    assert len(kept) <= len(text)
