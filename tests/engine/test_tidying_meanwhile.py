"""What nobody wants any more is unloaded, unless somebody wants it by the time its turn has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.engine import tidy
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, right, working

_RELEASE: Any = tidy._release


async def test_a_model_loaded_by_hand_just_before_it_is_tidied_away_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, tidied = anyio.Event(), anyio.Event()

    async def never(request: ChatRequest, times: int) -> Completion:
        asked.set()
        await anyio.sleep_forever()
        return right(request, times)

    box = server("m", answer=never, can_load=True)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: box}) as app, working(app):

        async def release(*arguments: Any) -> None:
            await app.residencies.load("m", "box")
            await _RELEASE(*arguments)
            tidied.set()

        monkeypatch.setattr(tidy, "_release", release)
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("m",), ("sums",)))).run.id
        with anyio.fail_after(30):
            await asked.wait()
            await app.runs.cancel(run_id)
            await tidied.wait()
    assert (box.loaded, box.unloads) == (["m"], [])
