"""What a ranking is over: a suite as it stands, or one that is gone as its results remember it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmbench_mcp.domain.errors import NotFoundError
from llmbench_mcp.domain.run import CUSTOM_SUITE
from llmbench_mcp.domain.task import Suite, SuiteItem, Task
from llmbench_mcp.services.suites import Suites, SuiteView
from llmbench_mcp.store.leaderboard import LeaderboardStore

_GONE = "the suite is no longer here"
_CUSTOM = "these tasks came with runs"
_HOW = "tasks are taken as last asked, all of weight 1"


@dataclass(frozen=True, slots=True)
class Remembered:
    """How results know a suite that is gone: content hash by task id, and what to say of it."""

    hashes: Mapping[str, str]
    remark: str


async def ranked_suite(suites: Suites, store: LeaderboardStore, name: str) -> tuple[SuiteView, Remembered | None]:
    """The suite; where there is none any more but results are, one that holds no more than its tasks' ids.

    Raises NotFoundError: no such suite, and none that has results.
    """
    try:
        return await suites.get(name), None
    except NotFoundError:
        found = await store.last_asked(name)
        if found is None:
            raise
        items = tuple(SuiteItem(task_id) for task_id in found.hashes)
        tasks = tuple(Task(task_id, "", {}) for task_id in found.hashes)
        remark = f"{_CUSTOM if name == CUSTOM_SUITE else _GONE}; {_HOW}"
        if found.changed:
            remark += f"; {found.changed} had other content before, and results of that are left out"
        return SuiteView(Suite(name, name, "", found.version, items), tasks), Remembered(found.hashes, remark)
