"""One folder of tasks and suites: which files it holds and what they say.

::

    <category>/<name>.md            a task; its id is <category>/<name>
    <category>/<group>/<name>.md    a task one folder deeper; its id is <category>/<group>/<name>
    hidden/<id>.json                that task's hidden tests
    suites.yaml                     the folder's suites
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from llmbench_mcp.catalog.source import Source, quoted, read_source
from llmbench_mcp.catalog.suites import parse_suites
from llmbench_mcp.catalog.tasks import NAME, parse_hidden, parse_task
from llmbench_mcp.domain.errors import InputError, TaskFormatError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import one_line

HIDDEN = "hidden"
SUITES = "suites.yaml"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder's tasks by id and its suites, in file order."""

    tasks: dict[str, Task]
    suites: tuple[Suite, ...]


def load_folder(root: Traversable, known: Collection[str] = (), others: Mapping[str, Suite] | None = None) -> Folder:
    """Read a whole folder.

    ``known`` are task ids from elsewhere that its suites may use and its tasks may not take; ``others`` are
    suites from elsewhere, likewise. Raises TaskFormatError for a bad file, InputError for a missing folder.
    """
    top = _top(root)
    hidden = dict(_files(top, HIDDEN, ".json"))
    tasks: dict[str, Task] = {}
    for task_id, file in _task_files(top):
        if task_id in known:
            raise _at(file, f"a task {quoted(task_id)} exists already.", "Rename the file.")
        tests = hidden.pop(task_id, None)
        secret = parse_hidden(read_source(tests)) if tests else None
        tasks[task_id] = parse_task(task_id, read_source(file), secret)
    for task_id, file in hidden.items():
        raise _at(file, f"hidden tests for {quoted(task_id)}, but there is no such task.", "Rename the file.")
    return Folder(tasks, _suites(top, {*known, *tasks}, others or {}))


def task_ids(root: Traversable) -> list[str]:
    """The ids of a folder's tasks. Raises TaskFormatError for a bad name, InputError for a missing folder."""
    return [task_id for task_id, _ in task_files(root)]


def task_files(root: Traversable) -> Iterator[tuple[str, Traversable]]:
    """The task files of a folder by id; raises as :func:`task_ids`."""
    return _task_files(_top(root))


def hidden_files(root: Traversable) -> Iterator[tuple[str, Traversable]]:
    """The hidden-test files of a folder by the id of their task; raises as :func:`task_ids`."""
    return _files(_top(root), HIDDEN, ".json")


def _top(root: Traversable) -> list[Traversable]:
    try:
        return _sorted(root)
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"The task folder {one_line(str(root))} cannot be read: {reason}."
        raise InputError(what, "Name one that is there (LLMBENCH_TASKS_DIR).") from error


def _suites(top: list[Traversable], known: Collection[str], others: Mapping[str, Suite]) -> tuple[Suite, ...]:
    file = next((entry for entry in top if entry.name == SUITES), None)
    return parse_suites(read_source(file), known, others) if file else ()


def _task_files(top: list[Traversable]) -> Iterator[tuple[str, Traversable]]:
    for entry in top:
        if entry.is_dir() and entry.name != HIDDEN:
            yield from _named(entry, ".md")


def _files(top: list[Traversable], name: str, suffix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in top:
        if entry.name == name and entry.is_dir():
            for category in _sorted(entry):
                if category.is_dir():
                    yield from _named(category, suffix)


def _named(category: Traversable, suffix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in _sorted(category):
        if entry.is_dir():
            for file in _suffixed(entry, suffix):
                yield _id(file, (category.name, entry.name, file.name.removesuffix(suffix))), file
        elif _is_suffixed(entry, suffix):
            yield _id(entry, (category.name, entry.name.removesuffix(suffix))), entry


def _suffixed(group: Traversable, suffix: str) -> Iterator[Traversable]:
    for entry in _sorted(group):
        if entry.is_dir():
            raise _at(entry, "is a folder too deep.", "Tasks are <category>/<name>.md or <category>/<group>/<name>.md.")
        if _is_suffixed(entry, suffix):
            yield entry


def _is_suffixed(entry: Traversable, suffix: str) -> bool:
    return entry.name.endswith(suffix) and entry.name.casefold() != "readme.md"


def _id(file: Traversable, parts: Sequence[str]) -> str:
    for part in parts:
        if not NAME.fullmatch(part):
            raise _at(file, f"{quoted(part)} cannot be part of a task id.", "Use a-z, 0-9, _ and - only.")
    return "/".join(parts)


def _sorted(directory: Traversable) -> list[Traversable]:
    """The entries by name, without hidden and private ones (``.git``, ``__pycache__``)."""
    return sorted(
        (entry for entry in directory.iterdir() if not entry.name.startswith((".", "_"))),
        key=lambda entry: entry.name,
    )


def _at(file: Traversable, what: str, next_step: str) -> TaskFormatError:
    return Source(str(file), "").error(1, what, next_step)
