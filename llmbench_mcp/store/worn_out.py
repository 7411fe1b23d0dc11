"""Attempts that executor after executor did not outlive."""

from __future__ import annotations

from llmbench_mcp.store.database import Transaction
from llmbench_mcp.store.tally import tally_failed

MOST_INTERRUPTIONS = 10
"""So many ends of an executor in the middle of one attempt are no chance: that attempt may be what ends them."""

_FAILURE = "validator_error"
"""The word for what went wrong on our side."""
_WHEN = {"generating": "while the model was answering", "grading": "while the answer was being graded"}


async def give_up_worn_out(transaction: Transaction, now: str) -> None:
    """Of the attempts in flight whose executor is gone for the last of so many times, one ends in an error.

    One at a time, and first what was being graded or had begun last: the others may only have been beside it, and then
    nothing ends the next executor.
    """
    for attempt in await transaction.all("attempts_worn_out", MOST_INTERRUPTIONS):
        message = (
            f"The executor ended {attempt['interrupted'] + 1} times {_WHEN[attempt['state']]}, so this is not tried "
            "again. Its log may tell why; run_retry (run retry) asks once more."
        )
        await transaction.run("attempt_give_up", attempt["id"], _FAILURE, message, now)
        await tally_failed(transaction, attempt["job_id"], _FAILURE, [attempt])
