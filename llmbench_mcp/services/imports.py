"""Importing data sets: files become a suite in the data directory, as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llmbench_mcp import __version__
from llmbench_mcp.catalog.imported import Imported, ImportedSuites, Scan, read_tasks
from llmbench_mcp.catalog.importers import registry
from llmbench_mcp.catalog.importers.bundle import Bundle, open_bundle
from llmbench_mcp.catalog.importers.importer import Importer, Wish
from llmbench_mcp.catalog.importers.table import is_table
from llmbench_mcp.catalog.item import Item
from llmbench_mcp.catalog.reserved import reserved_names
from llmbench_mcp.catalog.tasks import NAME
from llmbench_mcp.config import Settings
from llmbench_mcp.domain.errors import ConflictError, InputError, TaskFormatError
from llmbench_mcp.domain.task import Suite, Task
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.scoring.blocks import block_fault

TABLE = "table"
"""The importer of users' own tables; any suite name will do for it."""
_MOST_FAULTY = 0.05
"""Share of items beyond which the file is thought to be wrong, not the items."""


@dataclass(frozen=True, slots=True)
class ImportWish:
    """What to import. ``source`` is a path or an installed package; ``suite`` defaults to the importer's name.

    ``sample``: how many tasks to draw, the same for the same ``seed`` on every machine; ``limit``: only the first so
    many. ``with_marked`` counts the items known to be bad, too. ``licence`` and ``title`` replace the importer's.
    """

    importer: str
    source: str
    suite: str | None = None
    parts: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    sample: int | None = None
    seed: int = 0
    limit: int | None = None
    with_marked: bool = False
    licence: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What an import changed: task counts against the version before, which is None for a new suite.

    ``runs_tests``: the set brings test code, which is run in the trusted process when answers are graded.
    """

    imported: Imported
    before: int | None = None
    added: int = 0
    changed: int = 0
    removed: int = 0
    runs_tests: bool = False

    @property
    def word(self) -> str:
        """``new``, ``updated`` or ``unchanged``."""
        if self.before is None:
            return "new"
        return "unchanged" if self.before == self.imported.suite.version else "updated"


class Imports:
    """Imported suites of a data directory. Everything here blocks on disk; nothing needs the database."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._suites = ImportedSuites(settings.imports_dir)

    def scan(self) -> Scan:
        """The imported suites without their tasks, and the files that cannot be read."""
        return self._suites.scan()

    def remove(self, name: str) -> Imported:
        """Forget an imported suite; runs and their results stay. Raises NotFoundError, StorageError."""
        return self._suites.remove(name)

    def run(self, wish: ImportWish) -> Change:
        """Import, or import again: the version goes up when a task, a mark or the licence changed.

        Raises:
            TaskFormatError: a row is wrong; the message begins ``file:line:``.
            InputError: the source, the parts or the numbers are wrong, or nothing is left.
            ConflictError: the name belongs to a suite or category that is not an import.
            StorageError: the data directory cannot be written.
        """
        _check(wish)
        wish = _resolved(wish)
        importer = registry.importer(wish.importer)
        name = _suite_name(wish, self._settings)
        bundle = open_bundle(wish.source)
        items = _sound(_named(importer.read(bundle, Wish(wish.parts, wish.columns))), importer)
        if wish.with_marked:
            items = [replace(item, marked=None) for item in items]
        chosen = _chosen(items, wish)
        suite = Suite(
            name=name,
            title=wish.title or _title(importer, wish),
            description=importer.description,
            version=1,
            items=(),
            licence=wish.licence or importer.licence,
        )
        return self._save(suite, _origin(wish, bundle, len(items)), chosen)

    def _save(self, suite: Suite, origin: Mapping[str, Any], items: Sequence[Item]) -> Change:
        old, before = self._before(suite.name)
        new = {item.name: _content(suite.name, item) for item in items}
        added, removed = len(new.keys() - old.keys()), len(old.keys() - new.keys())
        changed = sum(new[name] != old[name] for name in new.keys() & old.keys())
        if before is not None:
            same = not (added or removed or changed) and before.suite.licence == suite.licence
            suite = replace(suite, version=before.suite.version + (not same))
        saved = self._suites.save(suite, origin, items)
        runs_tests = any("test_code" in item.validation for item in items)
        return Change(saved, before.suite.version if before else None, added, changed, removed, runs_tests)

    def _before(self, name: str) -> tuple[dict[str, str], Imported | None]:
        """What each task was in the version there is; nothing where there is none or it cannot be read."""
        if name not in self._suites.names():
            return {}, None
        try:
            head = self._suites.get(name)
            stored = list(read_tasks(head.path))
        except TaskFormatError:
            return {}, None
        prefix = len(name) + 1
        return {one.task.id[prefix:]: f"{one.task.content_hash()} {one.marked}" for one in stored}, head


def _check(wish: ImportWish) -> None:
    for what, number in (("sample", wish.sample), ("limit", wish.limit)):
        if number is not None and number < 1:
            raise InputError(f"{what} is {number}.", "Give a number of at least 1, or leave it out.")
    if wish.sample is not None and wish.limit is not None:
        raise InputError("A sample and a limit exclude each other.", "Give one of them.")


def _resolved(wish: ImportWish) -> ImportWish:
    """The wish with a name of one's own as the suite's, where it is for a table: columns are mapped, or named so."""
    if wish.importer in registry.names() or not (wish.columns or is_table(wish.source)):
        return wish
    return replace(wish, importer=TABLE, suite=wish.suite or wish.importer)


def _suite_name(wish: ImportWish, settings: Settings) -> str:
    name = wish.suite or wish.importer
    if not NAME.fullmatch(name):
        raise InputError(f"'{one_line(name, 60)}' cannot be a suite's name.", "Use a-z, 0-9, _ and - only.")
    if name in reserved_names(settings.tasks_dir):
        raise ConflictError(f"There is a suite or category {name!r} already.", "Choose another name: --as NAME.")
    return name


def _title(importer: Importer, wish: ImportWish) -> str:
    if wish.importer == TABLE:
        return (wish.suite or wish.importer).replace("_", " ").replace("-", " ").capitalize()
    return importer.title + (f" ({', '.join(wish.parts)})" if wish.parts else "")


def _named(items: Iterator[Item]) -> Iterator[Item]:
    """The items, every name fit for a task's id and there once."""
    seen: dict[str, str] = {}
    for item in items:
        if not NAME.fullmatch(item.name):
            raise TaskFormatError(f"{item.where}: '{one_line(item.name, 60)}' cannot be part of a task's id.")
        if item.name in seen:
            what = f"{item.where}: a second item '{item.name}', the first is at {seen[item.name]}."
            raise TaskFormatError(what, "Leave one of them out.")
        seen[item.name] = item.where
        _refuse_unstorable(item)
        yield item


def _refuse_unstorable(item: Item) -> None:
    try:
        json.dumps(
            [item.validation, item.prompt, item.system, item.title], ensure_ascii=False, allow_nan=False
        ).encode()
    except (ValueError, RecursionError) as error:
        what = f"{item.where}: holds half a surrogate pair, a number that is not finite, or a nest too deep."
        raise TaskFormatError(what, "Mend the row or leave it out.") from error


def _sound(items: Iterator[Item], importer: Importer) -> list[Item]:
    """The items, those that could not be graded marked; an error where they are the user's own, or too many."""
    found, faults = [], list[TaskFormatError]()
    for item in items:
        fault = None if item.marked else block_fault(_task("x", item))
        if fault is None:
            found.append(item)
            continue
        faults.append(TaskFormatError(f"{item.where}: {one_line(fault, 300)}.", "Mend the row or leave it out."))
        found.append(replace(item, marked=f"it cannot be graded: {one_line(fault, 200)}"))
    if not found:
        raise InputError("The source holds no items.", "Name another file or another part of it.")
    if faults and (not importer.forgiving or len(faults) > _MOST_FAULTY * len(found)):
        raise faults[0]
    return found


def _chosen(items: Sequence[Item], wish: ImportWish) -> Sequence[Item]:
    """The sample or the first ones of the unmarked; a whole import keeps the marked ones."""
    fair = [item for item in items if item.marked is None]
    if not fair:
        raise InputError("Every item is known to be bad.", "Count them all the same: --with-marked.")
    if wish.limit is not None:
        return fair[: wish.limit]
    if wish.sample is None:
        return items
    if wish.sample > len(fair):
        raise InputError(f"A sample of {wish.sample} was asked of {len(fair)} items.", "Ask for fewer.")
    ranked = sorted(fair, key=lambda item: hashlib.sha256(f"{wish.seed}:{item.name}".encode()).digest())
    drawn = {item.name for item in ranked[: wish.sample]}
    return [item for item in fair if item.name in drawn]


def _origin(wish: ImportWish, bundle: Bundle, count: int) -> dict[str, Any]:
    sources = list(bundle.sources.values())
    origin: dict[str, Any] = {
        "importer": wish.importer,
        "from": bundle.origin,
        "package_version": bundle.version,
        "program_version": __version__,
        "parts": list(wish.parts),
        "items": count,
        "sources": sources,
        "sources_sha256": hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest(),
    }
    if wish.sample is not None:
        origin["sample"] = {"size": wish.sample, "seed": wish.seed}
    further = {"limit": wish.limit, "columns": dict(wish.columns) or None, "with_marked": wish.with_marked or None}
    return origin | {key: value for key, value in further.items() if value is not None}


def _task(suite: str, item: Item) -> Task:
    return Task(f"{suite}/{item.name}", item.prompt, item.validation, item.system, needs=item.needs)


def _content(suite: str, item: Item) -> str:
    plain = json.loads(json.dumps(dict(item.validation)))  # as it will be read again
    return f"{_task(suite, replace(item, validation=plain)).content_hash()} {item.marked}"
