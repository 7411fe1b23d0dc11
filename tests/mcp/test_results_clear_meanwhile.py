"""What a person agreed to remove is what was told; runs that end before the answer are not part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import ElicitRequestFormParams, ElicitResult

from tests.mcp.bench import BenchClient, Era, open_bench
from tests.mcp.test_results_clear import run_of


async def test_a_run_that_ends_while_the_person_is_asked_is_not_removed_unasked(tmp_path: Path, era: Era) -> None:
    asked: list[str] = []
    async with open_bench(tmp_path) as bench, bench.client(era) as other:

        async def answer(context: Any, params: Any) -> ElicitResult:
            assert isinstance(params, ElicitRequestFormParams)
            asked.append(params.message)
            if len(asked) == 1:
                await run_of(bench, other, "alpha")
            return ElicitResult(action="accept", content={"remove": True})

        async with Client(bench.server, mode=era, elicitation_callback=answer) as raw:
            client = BenchClient(raw)
            await run_of(bench, client, "alpha")
            done = await raw.call_tool("results_clear", {"model": "alpha", "dry_run": False})
            left = (await client.call("run_list"))["total"]
    assert "3 attempts" in asked[0]
    if len(asked) == 1:
        assert (done.is_error, left) == (True, 2)
    else:  # asked anew, of both
        assert "6 attempts" in asked[1]
        assert (done.is_error, left) == (False, 0)
