"""Imported suites: one file each, in a folder of the data directory.

The first line of ``<name>.jsonl`` is the suite: its title, version, licence, where it came from and the names of its
tasks; every further line is a task. So a list of suites reads first lines only, however many tasks there are, and a
file that is replaced as a whole is never half there. A task's id is ``<suite>/<name>``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llmbench_mcp.catalog.item import Answer, Item
from llmbench_mcp.domain.errors import NotFoundError, StorageError, TaskFormatError
from llmbench_mcp.domain.task import Suite, SuiteItem, Task
from llmbench_mcp.domain.text import nearest, one_line

FORMAT = 1
SUFFIX = ".jsonl"
_MAX_HEAD = 32 * 2**20
_KEPT = 2
"""Suites whose tasks are kept at hand."""
_OPTIONAL = ("system", "title", "difficulty", "max_tokens")
_Stamp = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported suite without its tasks. ``marked``: by task name, why it is kept but not asked."""

    suite: Suite
    origin: Mapping[str, Any]
    marked: Mapping[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class Stored:
    """One task as it is stored: what is asked, its right answer, and why it is marked."""

    task: Task
    answer: Answer | None
    marked: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What a folder holds: the suites that can be read, and an error for each that cannot."""

    suites: tuple[Imported, ...] = ()
    problems: tuple[TaskFormatError, ...] = field(default=())


class ImportedSuites:
    """The folder of imported suites; looks at the disk at every call, so that an import shows at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._heads: dict[_Stamp, Imported] = {}
        self._stored: dict[_Stamp, dict[str, Stored]] = {}

    def scan(self) -> Scan:
        """All suites by name. Raises nothing for a bad file: it is in ``problems``."""
        found, problems = [], []
        for path in self._paths():
            try:
                found.append(self._head(path))
            except TaskFormatError as error:
                problems.append(error)
        return Scan(tuple(found), tuple(problems))

    def names(self) -> list[str]:
        """The names of all files, readable or not."""
        return [path.name.removesuffix(SUFFIX) for path in self._paths()]

    def path(self, name: str) -> Path:
        """Where the suite of that name lies or would lie."""
        return self._folder / f"{name}{SUFFIX}"

    def get(self, name: str) -> Imported:
        """One suite. Raises NotFoundError, and TaskFormatError for a bad file."""
        if name not in self.names():
            close = nearest(name, self.names())
            next_step = f"Imported: {', '.join(close)}." if close else "None is imported: suite import."
            raise NotFoundError(f"There is no imported suite '{one_line(name, 80)}'.", next_step, close)
        return self._head(self.path(name))

    def tasks(self, name: str) -> tuple[Task, ...]:
        """The suite's tasks without the marked ones, in order. Raises as ``get``."""
        stored = self._all(self.get(name).path)
        return tuple(one.task for one in stored.values() if one.marked is None)

    def task(self, task_id: str) -> Task | None:
        """The task of that id, marked ones included; None when no imported suite has it. Raises TaskFormatError."""
        suite = task_id.partition("/")[0]
        found = self._all(self.path(suite)).get(task_id) if suite in self.names() else None
        return found.task if found else None

    def remove(self, name: str) -> Imported:
        """Delete a suite's file; results of it stay. Raises NotFoundError and StorageError."""
        try:
            gone = self.get(name)
        except TaskFormatError:
            gone = Imported(Suite(name, name, "", 0, ()), {}, {}, self.path(name))  # what cannot be read can go, too
        try:
            gone.path.unlink()
        except OSError as error:
            raise _unwritable(gone.path, error) from error
        return gone

    def save(self, suite: Suite, origin: Mapping[str, Any], items: Sequence[Item]) -> Imported:
        """Write a suite as a whole, or not at all. Marked items are kept apart from ``suite.items``.

        Raises StorageError.
        """
        path = self.path(suite.name)
        head = {
            "format": FORMAT,
            "suite": {name: getattr(suite, name) for name in ("title", "description", "version", "licence")},
            "origin": dict(origin),
            "marked": {item.name: item.marked for item in items if item.marked is not None},
            "tasks": [item.name for item in items if item.marked is None],
        }
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, (_dump(line) for line in (head, *map(_line, items))))
        except OSError as error:
            raise _unwritable(path, error) from error
        return self._head(path)

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.suffix == SUFFIX and path.name[0] != ".")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"{self._folder} cannot be read: {error.strerror}.", "Mend its permissions.") from error

    def _all(self, path: Path) -> dict[str, Stored]:
        stamp = _stamp(path)
        if stamp not in self._stored:
            while len(self._stored) >= _KEPT:
                self._stored.pop(next(iter(self._stored)))
            self._stored[stamp] = {one.task.id: one for one in read_tasks(path)}
        return self._stored[stamp]

    def _head(self, path: Path) -> Imported:
        stamp = _stamp(path)
        if stamp not in self._heads:
            for old in [one for one in self._heads if one[0] == stamp[0]]:
                del self._heads[old]
            self._heads[stamp] = _read_head(path)
        return self._heads[stamp]


def read_tasks(path: Path) -> Iterator[Stored]:
    """The tasks of an imported suite's file, marked ones included. Raises TaskFormatError."""
    suite = path.name.removesuffix(SUFFIX)
    licence = _read_head(path).suite.licence
    with _opened(path) as stream:
        for number, raw in enumerate(stream, 1):
            if number > 1:
                yield _stored(suite, licence, _parsed(path, number, raw), f"{path}:{number}")


def _stored(suite: str, licence: str | None, line: Mapping[str, Any], where: str) -> Stored:
    try:
        task = Task(
            id=f"{suite}/{line['name']}",
            prompt=line["prompt"],
            validation=line["validation"],
            tags=tuple(line.get("tags", ())),
            needs=tuple(line.get("needs", ())),
            licence=licence,
            **{key: line[key] for key in _OPTIONAL if key in line},
        )
        given = line.get("answer")
        answer = None if given is None else Answer(given["text"], tuple(given["tool_calls"]))
    except (KeyError, TypeError) as error:
        raise TaskFormatError(f"{where}: is no task as an import writes it.", "Import the suite again.") from error
    return Stored(task, answer, line.get("marked"), int(where.rpartition(":")[2]))


def _line(item: Item) -> dict[str, Any]:
    line: dict[str, Any] = {"name": item.name, "prompt": item.prompt, "validation": item.validation}
    line |= {key: value for key in _OPTIONAL if (value := getattr(item, key)) not in (None, "", "medium")}
    line |= {key: list(value) for key in ("tags", "needs") if (value := getattr(item, key))}
    if item.answer is not None:
        line["answer"] = {"text": item.answer.text, "tool_calls": list(item.answer.tool_calls)}
    return line | ({"marked": item.marked} if item.marked is not None else {})


def _read_head(path: Path) -> Imported:
    with _opened(path) as stream:
        head = _parsed(path, 1, stream.readline(_MAX_HEAD))
    name = path.name.removesuffix(SUFFIX)
    try:
        if head["format"] != FORMAT:
            raise TaskFormatError(f"{path}:1: has the form {head['format']}, not {FORMAT}.", "Import the suite again.")
        facts, origin = head["suite"], head["origin"]
        items = tuple(SuiteItem(f"{name}/{task}") for task in head["tasks"])
        suite = Suite(
            name=name,
            title=facts["title"],
            description=facts["description"],
            version=facts["version"],
            items=items,
            source=str(path),
            licence=facts["licence"],
            origin=origin,
        )
        return Imported(suite, origin, dict(head["marked"]), path)
    except (KeyError, TypeError) as error:
        raise TaskFormatError(f"{path}:1: is no suite as an import writes it.", "Import the suite again.") from error


def _parsed(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise TaskFormatError(f"{path}:{number}: is no valid JSON.", "Import the suite again.") from error
    if not isinstance(value, dict):
        raise TaskFormatError(f"{path}:{number}: must be an object.", "Import the suite again.")
    return value


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise TaskFormatError(f"{path}:1: cannot be read: {error.strerror}.", "Mend its permissions.") from error


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write(path: Path, lines: Iterator[bytes]) -> None:
    """Beside the old file first, then in its place in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(lines)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:  # also a cancelled import leaves no half file; raised on
        with suppress(OSError):
            os.unlink(name)
        raise


def _stamp(path: Path) -> _Stamp:
    try:
        facts = path.stat()
    except OSError as error:
        raise TaskFormatError(f"{path}:1: cannot be read: {error.strerror}.", "Mend its permissions.") from error
    return str(path), facts.st_mtime_ns, facts.st_size


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} cannot be written: {error.strerror}.", "Free the disk or mend its permissions.")
