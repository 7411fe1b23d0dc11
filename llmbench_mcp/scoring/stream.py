"""Grading JSON lines, the format of ``llmbench-mcp score``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from llmbench_mcp.domain.errors import InputError
from llmbench_mcp.domain.task import Task


def grade_stream(
    lines: Iterable[bytes], jobs: int, find: Callable[[str], Task], min_isolation: str
) -> Generator[dict[str, Any], None, None]:
    """One result a non-empty line, in order: a verdict, or ``{"id", "error": "line N: …"}``.

    ``find`` gives the task a line names, or raises InputError, which becomes that line's error.
    """
    from llmbench_validators import lines as engine
    from llmbench_validators.registry import require_isolation

    def resolve(name: str) -> engine.TaskBlock:
        try:
            task = find(name)
        except InputError as error:
            raise engine.Unreadable(str(error)) from error
        return engine.TaskBlock(task.validation, task.prompt)

    require_isolation(min_isolation)
    return engine.grade_lines(lines, jobs, resolve)


def bounded_lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Lines by a file's ``readline``; of one too long to be graded only enough is kept to be refused."""
    from llmbench_validators.lines import bounded

    return bounded(read)
