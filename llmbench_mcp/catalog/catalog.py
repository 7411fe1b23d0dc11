"""The catalog: every task and suite there is, the shipped ones and the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from llmbench_mcp.catalog.folder import load_folder
from llmbench_mcp.catalog.imported import ImportedSuites
from llmbench_mcp.domain.errors import InputError, NotFoundError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import nearest, one_line


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tasks by id and all suites by name; read once, then never changed.

    Imported suites are the exception: they show as soon as they are there, and only their first lines are read until
    one is used. A suite of the folders goes before an imported one of the same name.
    """

    _tasks: Mapping[str, Task]
    _suites: Mapping[str, Suite]
    _imported: ImportedSuites | None = None
    fault: InputError | None = None
    """Why the extra folders could not be read: then only the shipped suites are known, and others raise it."""

    @classmethod
    def load(cls, extra_dirs: Sequence[Path] = (), imported: Path | None = None) -> Catalog:
        """Read the shipped tasks, then each extra folder; blocks on disk, so call it in a worker thread.

        A later folder's suites may use earlier folders' tasks; its names must not repeat theirs. ``imported`` is the
        folder of imported suites.
        Raises TaskFormatError for a bad file and InputError for a folder that cannot be read.
        """
        tasks: dict[str, Task] = {}
        suites: dict[str, Suite] = {}
        for root in (files("llmbench_datasets"), *extra_dirs):
            folder = load_folder(root, known=tasks, others=suites)
            tasks |= folder.tasks
            suites |= {suite.name: suite for suite in folder.suites}
        return cls(tasks, suites, ImportedSuites(imported) if imported else None)

    @classmethod
    def load_readable(cls, extra_dirs: Sequence[Path] = (), imported: Path | None = None) -> Catalog:
        """As ``load``, but an extra folder that cannot be read leaves the shipped suites, with the ``fault``.

        Their names and tasks are theirs alone, so no fault elsewhere can change them. Of other suites nothing is sure:
        one of the folder would go before an imported one of its name.
        """
        try:
            return cls.load(extra_dirs, imported)
        except InputError as fault:
            return replace(cls.load(), fault=fault)

    def suites(self) -> tuple[Suite, ...]:
        """All suites, shipped ones first, in the order of their files; no imported one that cannot be read."""
        scanned = self._imported.scan().suites if self._imported else ()
        return (*self._suites.values(), *(one.suite for one in scanned if one.suite.name not in self._suites))

    def suite(self, name: str) -> Suite:
        """The suite of that name.

        Raises NotFoundError with the nearest names, TaskFormatError for a bad import, the ``fault`` where there is one.
        """
        found = self._suites.get(name)
        if found is not None:
            return found
        if self.fault is not None:
            raise self.fault
        imported = self._imported.names() if self._imported else []
        if self._imported is not None and name in imported:
            return self._imported.get(name).suite
        raise _not_found("suite", name, dict.fromkeys((*self._suites, *imported)))

    def tasks_of(self, suite: Suite) -> tuple[Task, ...]:
        """The suite's tasks in its order."""
        if self._imported is not None and suite.origin is not None:
            return self._imported.tasks(suite.name)
        return tuple(self.task(item.task_id) for item in suite.items)

    def task(self, task_id: str) -> Task:
        """The task of that id. Raises NotFoundError with the nearest ids."""
        found = self._tasks.get(task_id)
        if found is None and self._imported is not None:
            found = self._imported.task(task_id)
        if found is None:
            raise _not_found("task", task_id, self._tasks)
        return found


def _not_found(kind: str, wanted: str, names: Mapping[str, object]) -> NotFoundError:
    close = nearest(wanted, names)
    next_step = f"Nearest: {', '.join(close)}." if close else ""
    return NotFoundError(f"There is no {kind} '{one_line(wanted, 80)}'.", next_step, close)
