"""Schedules: standing orders to run suites again, done once at each due time, whoever lives then."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from llmbench_mcp.domain.errors import BenchError, ConflictError, InputError, LeaseLost, NotFoundError, StorageError
from llmbench_mcp.domain.ids import new_id
from llmbench_mcp.domain.ports import Clock
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.schedule import LOCAL, Result, Schedule, ScheduleEvent, cron_of, next_due, zone_of
from llmbench_mcp.domain.text import is_text, nearest, one_line
from llmbench_mcp.services.executors import Executors
from llmbench_mcp.services.quiet_looks import QuietLooks
from llmbench_mcp.services.retests import Retest, Retests
from llmbench_mcp.services.runs import Runs
from llmbench_mcp.store.schedules import ScheduleStore

log = logging.getLogger(__name__)

DUE_LOOK_S = 10.0
"""How often it is looked whether one is due."""
_MOST_NAME = 80
_HISTORY = 20


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """What a schedule is made from; ``when`` and ``zone`` as in ``domain.schedule``."""

    name: str
    when: str
    request: RunRequest
    zone: str = LOCAL
    only_changed: bool = True


class Schedules:
    """Use cases about schedules."""

    def __init__(
        self,
        store: ScheduleStore,
        retests: Retests,
        runs: Runs,
        executors: Executors,
        looks: QuietLooks,
        clock: Clock,
    ) -> None:
        self._store = store
        self._retests = retests
        self._runs = runs
        self._executors = executors
        self._looks = looks
        self._clock = clock

    async def add(self, new: NewSchedule) -> tuple[Schedule, tuple[str, ...]]:
        """Make a schedule; returns it and who would be left out of it now. Its first time is the next that comes.

        Raises:
            InputError: a bad name, time, zone, number or suite, or no model that is named can run.
            ConflictError: the name is taken.
        """
        _check(new)
        zone_of(new.zone)
        due_at = self._next(new.when, new.zone)
        trial = await self._retests.plan(new.request, only_changed=False)
        if trial.planned is None and new.request.select is None:
            raise InputError(f"None of the models can run: {'; '.join(trial.left_out)}", "See model_list (models).")
        request = replace(new.request, idempotency_key=None)
        at = self._clock.utc_now()
        made = Schedule(new_id("sched"), new.name, new.when, new.zone, request, new.only_changed, at, due_at)
        if not await self._store.add(made):
            raise ConflictError(
                f"There is a schedule '{one_line(new.name)}' already.", "Remove it first, or take another name."
            )
        return made, trial.left_out

    async def all(self) -> list[Schedule]:
        """Every schedule, by name."""
        return await self._store.all()

    async def get(self, key: str) -> Schedule:
        """One by name or id. Raises NotFoundError with the nearest names."""
        found = await self._store.all()
        for schedule in found:
            if key in (schedule.id, schedule.name):
                return schedule
        names = [schedule.name for schedule in found]
        hint = f"Nearest: {', '.join(nearest(key, names))}." if names else "Make one with schedule add."
        raise NotFoundError(f"There is no schedule '{one_line(key, 80)}'.", hint, nearest(key, names))

    async def events(self, schedule: Schedule, limit: int = _HISTORY) -> list[ScheduleEvent]:
        """What became of its times, newest first."""
        return await self._store.events(schedule.id, limit)

    async def preview(self, schedule: Schedule) -> Retest:
        """What it would run now, by what is known of the servers; nothing is asked or written."""
        return await self._retests.plan(schedule.request, only_changed=schedule.only_changed)

    async def remove(self, key: str) -> Schedule:
        """Forget a schedule; its runs stay. Raises NotFoundError."""
        schedule = await self.get(key)
        await self._store.remove(schedule.id)
        return schedule

    async def run_now(self, key: str, everything: bool = False) -> Result:
        """Do at once what a schedule does at its time, which it still does then; or run all of it, changed or not.

        Raises:
            NotFoundError: no such schedule. InputError: as ``add``.
        """
        schedule = await self.get(key)
        wanted = replace(schedule, only_changed=schedule.only_changed and not everything)
        result = await self._do(wanted, f"{_keys(schedule)}now:{new_id('run')}")
        if result.outcome == "started":
            await self._store.note(schedule, result)
        return result

    async def wake(self) -> bool:
        """See that an executor lives when a schedule is due; for front ends that start. True: one was started.

        Whatever hinders it keeps nobody from what they came for.
        """
        try:
            return bool(await self._store.due()) and await self._executors.ensure()
        except StorageError as error:
            log.warning("a schedule may be due and cannot be kept: %s", error)
            return False

    async def start_due(self) -> list[tuple[Schedule, Result]]:
        """Deal with every schedule whose time has come. Times that were missed count as one.

        Raises:
            StorageError: what was not dealt with stays due.
        """
        await self._mend_times()
        return [(schedule, await self._deal_with(schedule)) for schedule in await self._store.due()]

    async def _mend_times(self) -> None:
        """Nothing is due later than its next time: else the wall clock, or the local zone, was another once."""
        for schedule in await self._store.all():
            due_at = self._next(schedule.when, schedule.zone)
            if schedule.due_at > due_at:
                await self._store.move(schedule, due_at)

    async def _deal_with(self, schedule: Schedule) -> Result:
        try:
            result = await self._do(schedule, f"{_keys(schedule)}{schedule.due_at}")
        except (StorageError, LeaseLost):
            raise
        except BenchError as error:
            result = Result("failed", None, (str(error),))
        await self._store.settle(schedule, result, self._next(schedule.when, schedule.zone))
        told = one_line("; ".join(result.notes), 500)
        log.info("schedule %s: %s %s %s", schedule.name, result.outcome, result.run_id or "", told)
        return result

    async def _do(self, schedule: Schedule, key: str) -> Result:
        """Under a key nothing is started twice, whoever tries, and nothing beside another run of the schedule."""
        if run_id := await self._store.run_of_key(key):
            return Result("started", run_id)
        if run_id := await self._store.unfinished_run(schedule.id):
            return _skipped(run_id)
        await self._looks.look()
        self._retests.read_suites_anew()
        found = await self._retests.plan(schedule.request, only_changed=schedule.only_changed)
        left_out = tuple(f"left out: {remark}" for remark in found.left_out)
        if found.planned is None:
            return Result("unchanged" if found.unchanged else "failed", None, (*_unchanged(found), *left_out))
        plan = replace(found.planned.plan, request=replace(schedule.request, idempotency_key=key))
        made = ""
        with suppress(ConflictError):  # another process was faster; what it saw to be changed may be more or less
            made = await self._runs.start_planned(replace(found.planned, plan=plan), _keys(schedule))
        run_id = made if made == plan.id else await self._store.run_of_key(key)
        if run_id is None:
            return _skipped(made)
        return Result("started", run_id, (*found.reasons, *_unchanged(found), *left_out))

    def _next(self, when: str, zone: str) -> str:
        now = datetime.fromisoformat(self._clock.utc_now())
        due = next_due(cron_of(when), zone, now)
        return due.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _keys(schedule: Schedule) -> str:
    """How the idempotency keys of its runs begin."""
    return f"schedule:{schedule.id}:"


def _skipped(run_id: str) -> Result:
    return Result("skipped", run_id, (f"run {run_id} of this schedule is not over yet",))


def _unchanged(found: Retest) -> tuple[str, ...]:
    return (f"unchanged: {'; '.join(found.unchanged)}",) if found.unchanged else ()


def _check(new: NewSchedule) -> None:
    if not new.name.strip() or len(new.name) > _MOST_NAME or not is_text(new.name) or one_line(new.name) != new.name:
        raise InputError("The schedule's name is blank, too long or no text.", f"Use up to {_MOST_NAME} characters.")
    if new.request.custom_tasks:
        raise InputError("A schedule runs suites, not own tasks.", "Put them into a suite; see LLMBENCH_TASKS_DIR.")
    if not new.request.suites or not (new.request.models or new.request.select):
        raise InputError("A schedule needs at least one suite and one model or a selection.", "Name them.")
    if new.request.models and new.request.select:
        raise InputError("Models and a selection of models exclude each other.", "Give one of them.")
