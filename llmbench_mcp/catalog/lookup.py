"""One task by its id, read without the rest of the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from llmbench_mcp.catalog.folder import HIDDEN, task_ids
from llmbench_mcp.catalog.imported import ImportedSuites
from llmbench_mcp.catalog.source import read_source
from llmbench_mcp.catalog.tasks import NAME, parse_hidden, parse_task
from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.task import Task
from llmbench_mcp.domain.text import nearest, one_line


class TaskFinder:
    """Finds tasks in the shipped folder and in further ones; blocks on disk at the first call for each id."""

    def __init__(self, extra_dirs: Sequence[Traversable] = (), imported: ImportedSuites | None = None) -> None:
        self._roots: tuple[Traversable, ...] = (files("llmbench_datasets"), *extra_dirs)
        self._imported = imported
        self._found: dict[str, Task] = {}

    def find(self, task_id: str) -> Task:
        """The task of that id.

        Raises NotFoundError with the nearest ids, TaskFormatError for a bad file, InputError for a missing folder.
        """
        if task_id not in self._found:
            self._found[task_id] = self._read(task_id)
        return self._found[task_id]

    def _read(self, task_id: str) -> Task:
        parts = task_id.split("/")
        if len(parts) in (2, 3) and all(NAME.fullmatch(part) for part in parts) and parts[0] != HIDDEN:
            for root in self._roots:
                if (task := read_task(root, task_id)) is not None:
                    return task
            if self._imported is not None and (task := self._imported.task(task_id)) is not None:
                return task
        raise self._missing(task_id)

    def _missing(self, task_id: str) -> NotFoundError:
        close = nearest(task_id[:200], [name for root in self._roots for name in task_ids(root)])
        next_step = f"Nearest: {', '.join(close)}." if close else ""
        return NotFoundError(f"There is no task '{one_line(task_id, 80)}'.", next_step, close)


def read_task(root: Traversable, task_id: str) -> Task | None:
    """The task with its hidden tests, None when ``root`` has no such file. Raises TaskFormatError."""
    file, tests = root / f"{task_id}.md", root / HIDDEN / f"{task_id}.json"
    if not file.is_file():
        return None
    hidden = parse_hidden(read_source(tests)) if tests.is_file() else None
    return parse_task(task_id, read_source(file), hidden)
