"""Suite files: named, weighted, versioned lists of tasks."""

from __future__ import annotations

from collections.abc import Collection

from llmbench_mcp.catalog.block import Block, parse_block
from llmbench_mcp.catalog.source import Source, quoted
from llmbench_mcp.catalog.tasks import NAME
from llmbench_mcp.domain.task import Suite, SuiteItem
from llmbench_mcp.domain.text import nearest

KEYS = ("name", "title", "description", "version", "tasks")
ITEM_KEYS = ("task", "weight")


def parse_suites(source: Source, known: Collection[str], taken: Collection[str] = ()) -> tuple[Suite, ...]:
    """Read a suite file: a YAML list of suites.

    ``known`` are the task ids a suite may name, ``taken`` the suite names that exist elsewhere.
    Raises TaskFormatError, ``path:line: what is wrong``.
    """
    block = parse_block(source, source.text)
    suites: dict[str, Suite] = {}
    for entry in block.items("a suite file") if block else ():
        fields = _complete(entry)
        suite = Suite(
            name=_name(fields["name"], {*taken, *suites}),
            title=fields["title"].text("title"),
            description=fields["description"].text("description").strip(),
            version=fields["version"].whole("version"),
            items=_items(fields["tasks"], known),
            source=source.path,
        )
        suites[suite.name] = suite
    return tuple(suites.values())


def _complete(entry: Block) -> dict[str, Block]:
    fields = entry.fields(KEYS, "a suite")
    missing = [key for key in KEYS if key not in fields]
    if missing:
        raise entry.error(f"the suite lacks {', '.join(missing)}.")
    return fields


def _name(block: Block, taken: Collection[str]) -> str:
    name = block.text("name")
    if not NAME.fullmatch(name):
        raise block.error(f"{quoted(name)} cannot be a suite's name.", "Use a-z, 0-9, _ and - only.")
    if name in taken:
        raise block.error(f"a suite named {quoted(name)} exists already.", "Choose another name.")
    return name


def _items(block: Block, known: Collection[str]) -> tuple[SuiteItem, ...]:
    items: dict[str, SuiteItem] = {}
    for entry in block.items("tasks"):
        item = _item(entry, known)
        if item.task_id in items:
            raise entry.error(f"task {quoted(item.task_id)} is in this suite already.")
        items[item.task_id] = item
    if not items:
        raise block.error("the suite has no tasks.", "List at least one task id.")
    return tuple(items.values())


def _item(entry: Block, known: Collection[str]) -> SuiteItem:
    if isinstance(entry.plain(), str):
        return SuiteItem(_task_id(entry, known))
    fields = entry.fields(ITEM_KEYS, "an entry of tasks")
    if "task" not in fields:
        raise entry.error("an entry of tasks lacks task.", "Write an id, or {task: id, weight: 2}.")
    weight = fields["weight"].positive("weight") if "weight" in fields else 1.0
    return SuiteItem(_task_id(fields["task"], known), weight)


def _task_id(block: Block, known: Collection[str]) -> str:
    task_id = block.text("a task id")
    if task_id not in known:
        close = ", ".join(nearest(task_id, known, 3))
        raise block.error(f"there is no task {quoted(task_id)}.", f"Nearest: {close}." if close else "")
    return task_id
