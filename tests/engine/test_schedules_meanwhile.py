"""A schedule has one run at a time, whoever starts it at the same moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.model import DiscoveryReport
from llmbench_mcp.domain.schedule import Result
from llmbench_mcp.services.quiet_looks import QuietLooks
from tests.engine.test_schedules import box_of, weights
from tests.support.calendar import HOUR, at, early_clock, runs, scheduled
from tests.support.rooms import assigned, write_suite
from tests.support.work import URL

_LOOK = QuietLooks.look


@pytest.mark.parametrize("due", [True, False])
async def test_one_started_by_hand_while_its_servers_are_looked_at_is_not_started_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, due: bool
) -> None:
    write_suite(tmp_path, 1)
    clock, looks = early_clock(), 0
    by_hand: list[Result] = []
    async with at(tmp_path, clock, {URL: box_of(weights("m", "d"))}) as app:

        async def look(self: QuietLooks) -> list[DiscoveryReport]:
            nonlocal looks
            looks += 1
            if looks == 1:
                by_hand.append(await app.schedules.run_now("again"))
            return await _LOOK(self)

        await assigned(app, URL)
        schedule = await scheduled(app, only_changed=False)
        monkeypatch.setattr(QuietLooks, "look", look)
        clock.set_by_s += HOUR
        if due:
            ((_, result),) = await app.schedules.start_due()
        else:
            result = await app.schedules.run_now(schedule.name)
        (run,) = await runs(app)
    assert (by_hand[0].outcome, by_hand[0].run_id) == ("started", run.id)
    assert (result.outcome, result.run_id) == ("skipped", run.id)
