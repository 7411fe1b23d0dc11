"""Grading completions that were made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from llmbench_mcp.config import Settings
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.stream import bounded_lines, grade_stream
from llmbench_mcp.scoring.warmup import settle


class Scoring:
    """The use case of ``score``. Needs neither the database nor the event loop, so that a cold start is short."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._find: Callable[[str], Task] | None = None

    def score(self, read: Callable[[int], bytes], jobs: int) -> Generator[dict[str, Any], None, None]:
        """Grade the lines a file's ``readline`` gives, ``jobs`` at a time; see ``grade_stream``."""
        settle()
        return grade_stream(bounded_lines(read), jobs, self._task, self._settings.min_isolation)

    def _task(self, task_id: str) -> Task:
        if self._find is None:
            from llmbench_mcp.catalog.imported import ImportedSuites
            from llmbench_mcp.catalog.lookup import TaskFinder

            own = self._settings.tasks_dir
            self._find = TaskFinder((own,) if own else (), ImportedSuites(self._settings.imports_dir)).find
        return self._find(task_id)
