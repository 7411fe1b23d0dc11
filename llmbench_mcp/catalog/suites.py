"""Suite files: named, weighted, versioned lists of tasks, and suites made of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from llmbench_mcp.catalog.block import Block, parse_block
from llmbench_mcp.catalog.source import Source, quoted
from llmbench_mcp.catalog.tasks import NAME
from llmbench_mcp.domain.task import SpeedLimits, Suite, SuiteItem
from llmbench_mcp.domain.text import nearest

KEYS = ("name", "title", "description", "version", "tasks", "includes", "limits")
NEEDED = ("name", "title", "description", "version")
ITEM_KEYS = ("task", "weight")
EXAMPLE = """A suite file is a list like:
- {name: my_suite, title: My suite,
   description: What it shows in a sentence., version: 1,
   tasks: [coding/is_even, coding/add_numbers]}"""
"""A next step whose last three lines are a whole suite file, also when written as one."""
INCLUDE_KEYS = ("suite", "weight")
LIMIT_KEYS = ("ttft_s", "itl_s")


def parse_suites(
    source: Source, known: Collection[str], others: Mapping[str, Suite] | None = None
) -> tuple[Suite, ...]:
    """Read a suite file: a YAML list of suites.

    ``known`` are the task ids a suite may name; ``others`` the suites from elsewhere, by name: their names are taken,
    and they may be included, as may those of this file (one that itself includes others must stand above).

    Raises TaskFormatError, ``path:line: what is wrong``.
    """
    block = parse_block(source, source.text)
    entries = [_complete(entry) for entry in (block.items("a suite file", EXAMPLE) if block else ())]
    suites = dict(others or {})
    found = {}
    for place in sorted(range(len(entries)), key=lambda place: "includes" in entries[place]):
        suite = _suite_of(source, entries[place], known, suites)
        found[place] = suites[suite.name] = suite
    return tuple(found[place] for place in range(len(entries)))


def _suite_of(source: Source, fields: Mapping[str, Block], known: Collection[str], there: Mapping[str, Suite]) -> Suite:
    return Suite(
        name=_name(fields["name"], there),
        title=fields["title"].text("title"),
        description=fields["description"].text("description").strip(),
        version=fields["version"].whole("version"),
        items=_items(fields["tasks"], known) if "tasks" in fields else _included(fields["includes"], there),
        source=source.path,
        limits=_limits(fields.get("limits")),
    )


def _complete(entry: Block) -> dict[str, Block]:
    fields = entry.fields(KEYS, "a suite", EXAMPLE)
    needed = NEEDED if "includes" in fields else (*NEEDED, "tasks")
    missing = [key for key in needed if key not in fields]
    if missing:
        raise entry.error(f"the suite lacks {', '.join(missing)}.", EXAMPLE)
    if "tasks" in fields and "includes" in fields:
        raise entry.error("the suite needs either tasks or includes.", "List task ids, or suites to include.")
    return fields


def _included(block: Block, suites: Mapping[str, Suite]) -> tuple[SuiteItem, ...]:
    """The tasks of other suites, each suite with its share of the whole, however many tasks it has.

    Weights are scaled so that they are 1 on average. A task of two suites has both its weights.
    """
    parts: list[tuple[Suite, float]] = []
    for entry in block.items("includes"):
        part = _include(entry, suites)
        if part[0].name in {suite.name for suite, _ in parts}:
            raise entry.error(f"suite {quoted(part[0].name)} is included already.")
        parts.append(part)
    if not parts:
        raise block.error("the suite includes nothing.", "List at least one suite.")
    count = sum(len(suite.items) for suite, _ in parts)
    whole = sum(share for _, share in parts)
    weights: dict[str, float] = {}
    for suite, share in parts:
        own = sum(item.weight for item in suite.items)
        for item in suite.items:
            weight = share / whole * count * item.weight / own
            weights[item.task_id] = weights.get(item.task_id, 0.0) + weight
    return tuple(SuiteItem(task_id, round(weight, 6)) for task_id, weight in weights.items())


def _include(entry: Block, suites: Mapping[str, Suite]) -> tuple[Suite, float]:
    if isinstance(entry.plain(), str):
        return _suite(entry, suites), 1.0
    fields = entry.fields(INCLUDE_KEYS, "an entry of includes")
    if "suite" not in fields:
        raise entry.error("an entry of includes lacks suite.", "Write a name, or {suite: name, weight: 2}.")
    weight = fields["weight"].positive("weight") if "weight" in fields else 1.0
    return _suite(fields["suite"], suites), weight


def _suite(block: Block, suites: Mapping[str, Suite]) -> Suite:
    name = block.text("a suite's name")
    if name not in suites:
        close = ", ".join(nearest(name, suites, 3))
        hint = f"Nearest: {close}." if close else "A suite that includes others stands below them."
        raise block.error(f"there is no suite {quoted(name)} to include.", hint)
    return suites[name]


def _limits(block: Block | None) -> SpeedLimits:
    if block is None:
        return SpeedLimits()
    fields = block.fields(LIMIT_KEYS, "limits")
    return SpeedLimits(**{key: value.positive(key) for key, value in fields.items()})


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
