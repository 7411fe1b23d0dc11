"""What monitoring asks of the database: cheap however long the history is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llmbench_mcp.domain.run import JobState, RunState
from llmbench_mcp.store.database import Database, Row

SpeedKey = tuple[str, str, str, str]
"""suite, identity, sampling, endpoint id: what the sums of speeds are kept by."""


@dataclass(frozen=True, slots=True)
class JobTally:
    """One job's running totals. ``tokens`` of prompts and answers; ``is_open``: its run goes on."""

    id: str
    endpoint: str
    model: str
    state: JobState
    created_at: str
    is_open: bool
    planned: int
    done: int
    errors: int
    passed: int
    tokens: int
    key: SpeedKey


@dataclass(frozen=True, slots=True)
class FailureTally:
    """How often a job met one kind of failure."""

    job_id: str
    created_at: str
    endpoint: str
    failure: str
    count: int


@dataclass(frozen=True, slots=True)
class SpeedSums:
    """Sums over attempts: tokens per second with their number, seconds to the first token with theirs."""

    decode_sum: float = 0.0
    decode_n: int = 0
    ttft_sum: float = 0.0
    ttft_n: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """Everything at one moment: open runs by state, attempts being asked or graded, and what belongs to runs that are
    open or ended lately."""

    runs: dict[RunState, int]
    in_flight: int
    jobs: list[JobTally]
    failures: list[FailureTally]
    speeds: dict[SpeedKey, tuple[str, str, SpeedSums]]
    """By key: endpoint, model and sums."""
    job_speeds: Mapping[str, SpeedSums] = field(default_factory=dict)
    """By job, its part of those sums, of the jobs it was asked of."""


class MetricsStore:
    """Reading figures for monitoring."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, since: str, parts_of: Sequence[str] = ()) -> Look:
        """The present state; what ended before ``since`` (ISO 8601 UTC) is left out.

        Args:
            parts_of: jobs whose part of the sums of speeds is wanted, too: a look through their attempts.
        """
        runs, flight, jobs, failures, speeds, *parts = await self._database.look(
            ("metrics_runs",),
            ("metrics_in_flight",),
            ("metrics_jobs", since),
            ("metrics_failures", since),
            ("metrics_speeds", since),
            *(("metrics_job_speeds", job_id) for job_id in parts_of),
        )
        return Look(
            {row["state"]: row["n"] for row in runs},
            flight[0]["n"],
            [_job(row) for row in jobs],
            [FailureTally(row["id"], row["created_at"], row["endpoint"], row["failure"], row["n"]) for row in failures],
            {_key(row): (row["endpoint"], row["model"], _sums(row)) for row in speeds},
            {job_id: _sums(rows[0]) for job_id, rows in zip(parts_of, parts, strict=True)},
        )


_JOB_FACTS = ("id", "endpoint", "model", "state", "created_at", "planned", "done", "errors", "passed", "tokens")


def _job(row: Row) -> JobTally:
    facts = {name: row[name] for name in _JOB_FACTS}
    return JobTally(is_open=row["run_state"] in ("queued", "running", "paused"), key=_key(row), **facts)


def _key(row: Row) -> SpeedKey:
    return row["suite"], row["identity_key"], row["sampling_key"], row["endpoint_id"]


def _sums(row: Row) -> SpeedSums:
    return SpeedSums(row["decode_sum"], row["decode_n"], row["ttft_sum"], row["ttft_n"])
