"""Attempts that executor after executor did not outlive."""

from __future__ import annotations

from itertools import groupby

from llmbench_mcp.store.database import Row, Transaction
from llmbench_mcp.store.tally import tally_failed

MOST_INTERRUPTIONS = 10
"""So many ends of an executor in the middle of one attempt are no chance: that attempt may be what ends them."""

_WHY = {
    "generating": ("provider_error", "while the model was answering"),
    "grading": ("validator_error", "while the answer was being graded"),
}


async def give_up_worn_out(transaction: Transaction, now: str) -> None:
    """Attempts in flight whose executor is gone, for the last of so many times, end in an error; the rest can go on."""
    rows = await transaction.all("attempts_worn_out", MOST_INTERRUPTIONS)
    for (job_id, state), group in groupby(sorted(rows, key=_job_and_state), key=_job_and_state):
        attempts, (failure, when) = list(group), _WHY[state]
        message = (
            f"The executor ended {MOST_INTERRUPTIONS} times {when}, so this is not tried again. "
            "Its log may tell why; run_retry asks once more."
        )
        for attempt in attempts:
            await transaction.run("attempt_give_up", attempt["id"], failure, message, now)
        await tally_failed(transaction, job_id, failure, attempts)


def _job_and_state(row: Row) -> tuple[str, str]:
    return row["job_id"], row["state"]
