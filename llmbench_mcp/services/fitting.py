"""Which tasks a model's context is long enough for: the others are left out and said, not asked and failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmbench_mcp.domain.chat import Sampling
from llmbench_mcp.domain.model import Model
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import one_line

_SHORT = 1_000
"""Tokens up to which nothing is reckoned: only a long prompt can be too long."""
_ROOM = 64
"""Tokens that an answer needs at least, with the marks of a chat template."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The tasks that fit, and what is to be said of the others; empty where there are none."""

    tasks: tuple[Task, ...]
    left_out: int = 0
    remark: str = ""


def fitting(model: Model, suite: str, tasks: Sequence[Task], sampling: Sampling) -> Fit:
    """The tasks whose prompt fits the context asked for, or else the model's; all where neither is known."""
    context = sampling.context_length or model.context_length
    if context is None:
        return Fit(tuple(tasks))
    fit = tuple(task for task in tasks if _needed(task) <= context)
    left_out = len(tasks) - len(fit)
    if not left_out:
        return Fit(fit)
    longest = max(map(_needed, tasks))
    name = one_line(model.name, 80)
    what = f"{left_out} of {len(tasks)} tasks of {suite} need up to {longest} tokens of context, {name} has {context}"
    return Fit(fit, left_out, f"left out as too long: {what}")


def _needed(task: Task) -> int:
    tokens = task.prompt_tokens
    return 0 if tokens <= _SHORT else tokens + _ROOM
