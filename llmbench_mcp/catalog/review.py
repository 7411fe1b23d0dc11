"""Task files read one by one, so that a bad one does not hide the faults of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from llmbench_mcp.catalog import sections
from llmbench_mcp.catalog.block import parse_block
from llmbench_mcp.catalog.folder import HIDDEN, SUITES, hidden_files, task_files, task_ids
from llmbench_mcp.catalog.lookup import read_task
from llmbench_mcp.catalog.places import line_of
from llmbench_mcp.catalog.source import read_source
from llmbench_mcp.catalog.suites import parse_suites
from llmbench_mcp.catalog.tasks import NAME
from llmbench_mcp.domain.errors import InputError, TaskFormatError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import one_line

_PLACED = re.compile(r"(.+?):(\d+): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What is wrong at a line of a file."""

    path: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A task that could be read, and the files it came from."""

    task: Task
    file: Traversable
    hidden: Traversable

    def problem(self, where: str, what: str) -> Problem:
        """A problem at the value that ``where`` names, a key or a validator's message."""
        if where.startswith("hidden_tests"):
            tests = read_source(self.hidden)
            block = parse_block(tests, tests.text)
            line = line_of(block, where.removeprefix("hidden_tests")) if block else 1
            return Problem(str(self.hidden), line, what)
        source = read_source(self.file)
        section = sections.split(source).sections.get("VALIDATION")
        if section is None:
            return Problem(str(self.file), 1, what)
        text, offset = sections.fenced(source, section)
        block = parse_block(source, text, offset)
        return Problem(str(self.file), line_of(block, where) if block else offset, what)


@dataclass(frozen=True, slots=True)
class Review:
    """What was read, and what could not be."""

    tasks: list[Reviewed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """One task file of the folder ``root``."""

    root: Traversable
    id: str

    @property
    def file(self) -> Traversable:
        return self.root / f"{self.id}.md"


def review(paths: Sequence[Path], extra_dirs: Sequence[Path] = ()) -> Review:
    """Read the files and folders named; without any, the shipped tasks and those of ``extra_dirs``.

    A folder is a task folder or one of its categories. Raises InputError for a path that is neither there nor of
    these kinds.
    """
    shipped = files("llmbench_datasets")
    found = Review()
    places: dict[_Place, None] = {}
    wanted: Sequence[Traversable] = paths or (shipped, *extra_dirs)
    for path in wanted:
        try:
            places.update(dict.fromkeys(_places(path, found)))
        except TaskFormatError as error:
            found.problems.append(_problem(error))
    taken = {} if _is_shipped(shipped, places) else dict.fromkeys(task_ids(shipped), "among the shipped tasks")
    for place in places:
        _read(place, taken, found)
    return found


def _is_shipped(shipped: Traversable, places: dict[_Place, None]) -> bool:
    return any(_is_same(place.root, shipped) for place in places)


def _is_same(one: Traversable, other: Traversable) -> bool:
    return Path(str(one)).resolve() == Path(str(other)).resolve()


def _read(place: _Place, taken: dict[str, str], found: Review) -> None:
    if place.id in taken:
        found.problems.append(Problem(str(place.file), 1, f"a task {place.id!r} exists already, {taken[place.id]}"))
    taken[place.id] = f"in {place.file}"
    try:
        task = read_task(place.root, place.id)
    except TaskFormatError as error:
        found.problems.append(_problem(error))
        return
    if task is not None:
        hidden = place.root / HIDDEN / f"{place.id}.json"
        found.tasks.append(Reviewed(task, place.file, hidden))


def _places(path: Traversable, found: Review) -> Iterator[_Place]:
    if path.is_dir():
        yield from _folder(path, found)
    elif isinstance(path, Path) and path.name == SUITES and path.is_file():
        _review_suites(path.parent, found)
    elif isinstance(path, Path) and path.suffix == ".md" and path.is_file():
        yield _single(path.resolve())
    else:
        raise InputError(
            f"{one_line(str(path))} is no task file, suite file or task folder.",
            "Name a .md file, a suites.yaml or a folder of them.",
        )


def _single(path: Path) -> _Place:
    root = _root(path)
    parts = (*path.parent.relative_to(root).parts, path.stem)
    for part in parts:
        if not NAME.fullmatch(part):
            what = f"'{one_line(part, 60)}' cannot be part of a task id."
            raise TaskFormatError(f"{path}:1: {what}", "Use a-z, 0-9, _ and - only, in <category>/<name>.md.")
    return _Place(root, "/".join(parts))


def _root(path: Path) -> Path:
    """The task folder a task's file belongs to: two levels up, or three when only there are suites or hidden tests."""
    near, far = path.parents[1], path.parents[min(2, len(path.parents) - 1)]
    return far if _is_task_folder(far) and not _is_task_folder(near) else near


def _is_task_folder(root: Path) -> bool:
    return (root / SUITES).is_file() or (root / HIDDEN).is_dir()


def _folder(root: Traversable, found: Review) -> Iterator[_Place]:
    if isinstance(root, Path) and not all(map(_is_readme, root.glob("*.md"))):
        found_here = sorted((*root.glob("*.md"), *root.glob("*/*.md")))
        yield from (_single(file.resolve()) for file in found_here if not _is_readme(file))
        return
    ids = [task_id for task_id, _ in task_files(root)]
    for task_id in ids:
        yield _Place(root, task_id)
    for task_id, file in hidden_files(root):
        if task_id not in ids:
            found.problems.append(Problem(str(file), 1, f"hidden tests for {task_id!r}, but there is no such task."))
    if (root / SUITES).is_file():
        _review_suites(root, found)


def _is_readme(file: Path) -> bool:
    return file.name.casefold() == "readme.md"


def _review_suites(root: Traversable, found: Review) -> None:
    shipped = files("llmbench_datasets")
    ids, others = set(task_ids(root)), dict[str, Suite]()
    try:
        if not _is_same(root, shipped):
            known = task_ids(shipped)
            others = {suite.name: suite for suite in parse_suites(read_source(shipped / SUITES), known)}
            ids |= set(known)
        parse_suites(read_source(root / SUITES), ids, others)
    except TaskFormatError as error:
        found.problems.append(_problem(error))


def _problem(error: TaskFormatError) -> Problem:
    match = _PLACED.fullmatch(str(error))
    path, line, what = (match[1], int(match[2]), match[3]) if match else ("", 1, str(error))
    return Problem(path, line, " ".join(what.split()))
