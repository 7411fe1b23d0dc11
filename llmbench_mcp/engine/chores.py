"""What is done beside the work while an executor lives: a chore that fails ends no job, and is tried again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from llmbench_mcp.domain.errors import LeaseLost, StorageError
from llmbench_mcp.domain.ports import Clock

log = logging.getLogger(__name__)

_AGAIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Chore:
    """``work`` is done at once and then every ``every_s`` seconds; 0: never."""

    name: str
    every_s: float
    work: Callable[[], Awaitable[object]]


async def see_to(chore: Chore, clock: Clock) -> None:
    """Until cancelled. Raises LeaseLost; everything else is logged, and the chore tried again later."""
    while chore.every_s:
        wait_s = chore.every_s
        try:
            await chore.work()
        except* LeaseLost:
            raise
        except* StorageError as group:
            log.error("%s has to wait: %s", chore.name, _first(group))
            wait_s = min(wait_s, _AGAIN_S)
        except* Exception:
            log.exception("%s failed for a reason of our own", chore.name)
        await clock.sleep(wait_s)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
