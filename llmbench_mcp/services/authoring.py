"""What helps to write tasks: a file to begin with, and the reference answer graded like a model's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import anyio

from llmbench_mcp.catalog.lookup import TaskFinder
from llmbench_mcp.catalog.review import review
from llmbench_mcp.catalog.tasks import NAME
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.attempt import Grade
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import nearest, one_line
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.scoring.references import reference_answer

_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """A task and the verdict on its own right answer; None where the block says none."""

    task_id: str
    seed: int
    grade: Grade | None


def kinds() -> list[str]:
    """The kinds of task that ``new_task`` has a beginning for, sorted."""
    return sorted(entry.name.removesuffix(_SUFFIX) for entry in (files("llmbench_datasets") / "_templates").iterdir())


def new_task(task_id: str, kind: str, folder: Path) -> Path:
    """Write a task file that works, to be changed into one's own; returns its path.

    Raises:
        InputError: an id that cannot be one, or a folder that cannot be written to.
        NotFoundError: no such kind. ConflictError: the file is there already.
    """
    parts = task_id.split("/")
    if len(parts) not in (2, 3) or not all(NAME.fullmatch(part) for part in parts):
        raise InputError(
            f"'{one_line(task_id, 80)}' cannot be a task's id.", "Write category/name, of a-z, 0-9, _ and -."
        )
    if kind not in kinds():
        close = nearest(kind, kinds())
        raise NotFoundError(
            f"There is no kind of task '{one_line(kind, 40)}'.", f"Use one of: {', '.join(kinds())}.", close
        )
    path = folder.joinpath(*parts[:-1], parts[-1] + _SUFFIX)
    text = (files("llmbench_datasets") / "_templates" / f"{kind}{_SUFFIX}").read_text(encoding="utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConflictError(f"{path} is there already.", "Choose another name.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.", "Choose another folder.") from error
    return path


def run_references(wanted: Sequence[str], settings: Settings, seeds: Sequence[int] = ()) -> list[ReferenceRun]:
    """Grade the right answers of tasks, named by id, file or folder; generated ones also as drawn with each seed.

    Blocks while code runs.

    Raises:
        NotFoundError, InputError: a name that leads to no task. TaskFormatError: a bad file.
        ValidatorFault: the sandbox or a validator failed.
    """
    tasks = [task for name in wanted for task in _tasks(name, settings)]
    grader = Grader(min_isolation=settings.min_isolation)
    return anyio.run(_graded, grader, [pair for task in tasks for pair in _draws(task, seeds)])


def _tasks(name: str, settings: Settings) -> Iterator[Task]:
    if Path(name).exists():
        found = review([Path(name)])
        if found.problems:
            problem = found.problems[0]
            raise InputError(f"{problem.path}:{problem.line}: {problem.what}", "See task check.")
        yield from (reviewed.task for reviewed in found.tasks)
    else:
        yield TaskFinder((settings.tasks_dir,) if settings.tasks_dir else ()).find(name)


def _draws(task: Task, seeds: Sequence[int]) -> Iterator[tuple[Task, int]]:
    yield task, 0
    if task.template is not None:
        yield from ((task.template.draw(seed), seed) for seed in seeds)


async def _graded(grader: Grader, draws: Sequence[tuple[Task, int]]) -> list[ReferenceRun]:
    runs = []
    for task, seed in draws:
        answer = reference_answer(task)
        runs.append(ReferenceRun(task.id, seed, await grader.grade(task, answer) if answer else None))
    return runs
