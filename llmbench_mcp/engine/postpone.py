"""Jobs that may not start yet: their server is down, their device is in use, their results cannot be stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from llmbench_mcp.domain.errors import EndpointError, RateLimitedError
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.engine.scheduler import Held

_OUTAGE_WAITS_S = (5.0, 10.0, 20.0, 40.0, 60.0)


@dataclass(slots=True)
class _Outage:
    """``began``: monotonic seconds, so that a jump of the wall clock neither ends nor prolongs it."""

    began: float
    count: int = 0


class Waiting:
    """Remembers who waits until when. In memory only: after a restart every job is tried at once.

    Args:
        outage_limit_s: how long a server may be down before its job is given up.
    """

    def __init__(self, clock: Clock, outage_limit_s: float) -> None:
        self._clock = clock
        self._outage_limit_s = outage_limit_s
        self._until: dict[str, float] = {}
        self._outages: dict[str, _Outage] = {}

    def held(self) -> Held:
        """For the scheduler: who waits now, and whose server failed before."""
        now = self._clock.monotonic()
        self._until = {job_id: until for job_id, until in self._until.items() if until > now}
        return Held(self._until.keys(), self._outages.keys())

    def hold_back(self, job_id: str, seconds: float) -> None:
        """Not before ``seconds`` from now."""
        self._until[job_id] = self._clock.monotonic() + seconds

    def well(self, job_id: str) -> None:
        """Forget the job's outage: it went on, or ended."""
        self._outages.pop(job_id, None)

    def keep(self, job_ids: Collection[str]) -> None:
        """Forget all other jobs: one that was cancelled in an outage may be told to go on a day later."""
        self._outages = {job_id: outage for job_id, outage in self._outages.items() if job_id in job_ids}
        self._until = {job_id: until for job_id, until in self._until.items() if job_id in job_ids}

    def outage(self, job_id: str, cause: EndpointError, answered: bool) -> tuple[float, float | None]:
        """An outage: (how long it lasts by now, how long the job is held back; None when it is to be given up).

        Args:
            answered: the server had worked since the last outage, so this is a new one.
        """
        now = self._clock.monotonic()
        outage = self._outages.setdefault(job_id, _Outage(now))
        if answered:
            outage.began = now
        lasted = now - outage.began
        if lasted > self._outage_limit_s:
            self.well(job_id)  # told to try again, the job starts with a fresh clock
            return lasted, None
        wait = max(_OUTAGE_WAITS_S[min(outage.count, len(_OUTAGE_WAITS_S) - 1)], self._asked_for(cause))
        outage.count += 1
        self.hold_back(job_id, wait)
        return lasted, wait

    def _asked_for(self, cause: EndpointError) -> float:
        """What the server asked for, as far as an outage may last at all."""
        wanted = cause.retry_after_s if isinstance(cause, RateLimitedError) else None
        return min(wanted or 0.0, self._outage_limit_s)
