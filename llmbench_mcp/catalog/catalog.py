"""The catalog: every task and suite there is, the shipped ones and the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from llmbench_mcp.catalog.folder import load_folder
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import nearest, one_line


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tasks by id and all suites by name; read once, then never changed."""

    _tasks: Mapping[str, Task]
    _suites: Mapping[str, Suite]

    @classmethod
    def load(cls, extra_dirs: Sequence[Path] = ()) -> Catalog:
        """Read the shipped tasks, then each extra folder; blocks on disk, so call it in a worker thread.

        A later folder's suites may use earlier folders' tasks; its names must not repeat theirs.
        Raises TaskFormatError for a bad file and InputError for a folder that cannot be read.
        """
        tasks: dict[str, Task] = {}
        suites: dict[str, Suite] = {}
        for root in (files("llmbench_datasets"), *extra_dirs):
            folder = load_folder(root, known=tasks, taken=suites)
            tasks |= folder.tasks
            suites |= {suite.name: suite for suite in folder.suites}
        return cls(tasks, suites)

    def suites(self) -> tuple[Suite, ...]:
        """All suites, shipped ones first, in the order of their files."""
        return tuple(self._suites.values())

    def suite(self, name: str) -> Suite:
        """The suite of that name. Raises NotFoundError with the nearest names."""
        found = self._suites.get(name)
        if found is None:
            raise _not_found("suite", name, self._suites)
        return found

    def tasks_of(self, suite: Suite) -> tuple[Task, ...]:
        """The suite's tasks in its order."""
        return tuple(self.task(item.task_id) for item in suite.items)

    def task(self, task_id: str) -> Task:
        """The task of that id. Raises NotFoundError with the nearest ids."""
        found = self._tasks.get(task_id)
        if found is None:
            raise _not_found("task", task_id, self._tasks)
        return found


def _not_found(kind: str, wanted: str, names: Mapping[str, object]) -> NotFoundError:
    close = nearest(wanted, names)
    next_step = f"Nearest: {', '.join(close)}." if close else ""
    return NotFoundError(f"There is no {kind} '{one_line(wanted, 80)}'.", next_step, close)
