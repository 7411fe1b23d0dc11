"""Finding what is wrong with task files before a model is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from llmbench_mcp.catalog.review import Problem, Reviewed, review
from llmbench_mcp.config import Settings
from llmbench_mcp.scoring.blocks import block_fault, reference_fault, shown_secrets


@dataclass(frozen=True, slots=True)
class Report:
    """How many tasks could be read, and every problem, in the order of the files."""

    tasks: int
    problems: tuple[Problem, ...]


def check_tasks(paths: Sequence[Path], settings: Settings) -> Report:
    """Check task files and folders: format, blocks, reference solutions, secrets. Without paths: all there are.

    Blocks while reference solutions run.

    Raises:
        InputError: a path that leads to no task.
        ValidatorFault: the sandbox or a validator failed, which says nothing about the tasks.
    """
    found = review(paths, (settings.tasks_dir,) if settings.tasks_dir else ())
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="task-check") as pool:
        lists = pool.map(lambda task: list(_problems(task, settings.min_isolation)), found.tasks)
        problems = [*found.problems, *(problem for some in lists for problem in some)]
    return Report(len(found.tasks), tuple(sorted(problems)))


def _problems(reviewed: Reviewed, min_isolation: str) -> Iterator[Problem]:
    task = reviewed.task
    fault = block_fault(task)
    if fault is not None:
        yield reviewed.problem(fault, fault)
    elif (weak := reference_fault(task, min_isolation)) is not None:
        yield reviewed.problem(weak.where, weak.what)
    for shown in shown_secrets(task):
        yield reviewed.problem(shown.where, shown.what)
