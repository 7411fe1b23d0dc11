"""Grading stored completions again: no model is asked, no device is used."""

from __future__ import annotations

import logging

from llmbench_mcp.domain.attempt import Where
from llmbench_mcp.engine.attempt import Asked, grade
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.regrading import RegradeStore
from llmbench_mcp.store.work import WorkStore

log = logging.getLogger(__name__)

_BATCH = 20


async def regrade(store: RegradeStore, work: WorkStore, grader: Grader, where: Where) -> int:
    """Grade a few of the completions that wait; returns how many, 0 when none does.

    Raises:
        StorageError, LeaseLost: as the store.
    """
    waiting = await store.next(_BATCH)
    for stored in waiting:
        task = await work.task(stored.attempt.task_hash)
        outcome = await grade(Asked(stored.attempt, task, stored.completion, None), grader, where)
        await store.finish(stored, outcome)
        log.info("%s %s graded again", stored.attempt.run_id, stored.attempt.task_id)
    return len(waiting)
