"""Finding what is wrong with task files before a model is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from llmbench_mcp.catalog.imported import SUFFIX, Stored, read_tasks
from llmbench_mcp.catalog.review import Problem, Review, Reviewed, review
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.scoring.blocks import answer_fault, block_fault, reference_fault, shown_secrets


@dataclass(frozen=True, slots=True)
class Report:
    """How many tasks could be read, and every problem, in the order of the files."""

    tasks: int
    problems: tuple[Problem, ...]


def check_tasks(paths: Sequence[Path], settings: Settings) -> Report:
    """Check task files and folders: format, blocks, reference solutions, secrets. Without paths: all there are.

    A path may be an imported suite, its file or its name; without paths, imported ones are left out.
    Blocks while reference solutions run.

    Raises:
        InputError: a path that leads to no task.
        ValidatorFault: the sandbox or a validator failed, which says nothing about the tasks.
    """
    imports = [file for path in paths if (file := imported_file(path, settings)) is not None]
    others = [path for path in paths if imported_file(path, settings) is None]
    found = review(others, (settings.tasks_dir,) if settings.tasks_dir else ()) if others or not paths else Review()
    stored = [(file, one) for file in imports for one in read_tasks(file)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="task-check") as pool:
        lists = [
            *pool.map(lambda task: list(_problems(task, settings.min_isolation)), found.tasks),
            *pool.map(lambda pair: list(stored_problems(pair[0], pair[1], settings.min_isolation)), stored),
        ]
        problems = [*found.problems, *(problem for some in lists for problem in some)]
    return Report(len(found.tasks) + len(stored), tuple(sorted(problems)))


def imported_file(path: Path, settings: Settings) -> Path | None:
    """The file of an imported suite that a path or a name means; None when it means none."""
    if path.suffix == SUFFIX:
        return path
    named = settings.imports_dir / f"{path}{SUFFIX}"
    return named if not path.exists() and path.name == str(path) and named.is_file() else None


def stored_problems(file: Path, stored: Stored, min_isolation: str) -> Iterator[Problem]:
    """What is wrong with a task of an imported suite: its block, or that its right answer fails. Not of marked ones."""
    if stored.marked is not None:
        return
    fault = block_fault(stored.task)
    if fault is None and stored.answer is not None:
        fault = answer_fault(stored.task, stored.answer.text, stored.answer.tool_calls, min_isolation)
    if fault is not None:
        yield Problem(str(file), stored.line, f"{stored.task.id}: {fault}")


def _problems(reviewed: Reviewed, min_isolation: str) -> Iterator[Problem]:
    task = reviewed.task
    fault = block_fault(task)
    if fault is not None:
        yield reviewed.problem(fault, fault)
    elif (weak := reference_fault(task, min_isolation)) is not None:
        yield reviewed.problem(weak.where, weak.what)
    else:
        yield from _problems_of_draws(reviewed, min_isolation)
    for shown in shown_secrets(task):
        yield reviewed.problem(shown.where, shown.what)


_SEEDS = (1, 2, 3, 4, 5)


def _problems_of_draws(reviewed: Reviewed, min_isolation: str) -> Iterator[Problem]:
    """Of a generated task: draws that cannot be made or graded, or that do not differ."""
    task = reviewed.task
    if task.template is None:
        return
    prompts = {task.prompt}
    for seed in _SEEDS:
        try:
            drawn = task.template.draw(seed)
        except TaskFormatError as error:
            yield Problem(str(reviewed.file), 1, error.what)
            return
        prompts.add(drawn.prompt)
        weak = reference_fault(drawn, min_isolation)
        if (fault := block_fault(drawn) or (weak.what if weak else None)) is not None:
            yield reviewed.problem(fault, f"drawn with seed {seed}: {fault}")
    if len(prompts) == 1:
        yield Problem(str(reviewed.file), 1, "every seed draws the same prompt: VARIABLES changes nothing in it")
