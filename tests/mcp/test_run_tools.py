from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from llmbench_mcp.testing.fake_server import Received
from llmbench_mcp.testing.replies import Gate, Reply, text_reply
from tests.mcp.bench import Bench, BenchClient, Era, open_bench, right
from tests.support.waiting import until


class Held:
    """Answers rightly, but keeps task 2's answer back until the gate opens."""

    def __init__(self) -> None:
        self.gate = Gate()

    def __call__(self, request: Received) -> Reply | str | None:
        answer = right(request)
        if answer == "4":
            return Reply(
                steps=(self.gate, *(text_reply(answer, model=request.model).steps or ())),
                content_type="text/event-stream",
            )
        return answer


async def start(bench: Bench, client: BenchClient, **more: Any) -> str:
    await client.set_up(bench.fake, "alpha")
    started = await client.call("run_start", models=["alpha"], suites=["sums"], **more)
    return str(started["run_id"])


async def test_a_run_goes_from_discovery_to_the_leaderboard(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        started = await client.call("run_start", models=["alpha"], suites=["sums"])
        assert (started["created"], started["planned_attempts"]) == (True, 3)
        assert started["next"] == f"run_status run_id={started['run_id']} wait_s=30"
        status = await client.finish(started["run_id"])
        assert (status["state"], status["done"], status["passed"], status["errors"]) == ("completed", 3, 3, 0)
        assert (status["total"], status["failures"], status["interrupted"]) == (1, {}, 0)
        (job,) = status["jobs"]
        assert (job["model"], job["endpoint"], job["suite"], job["state"]) == ("alpha", "fake", "sums", "done")
        assert "leaderboard_query suite=sums" in status["next"]


async def test_the_same_key_gives_the_same_run(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await start(bench, client, idempotency_key="k")
        again = await client.call("run_start", models=["alpha"], suites=["sums"], idempotency_key="k")
        assert (again["run_id"], again["created"]) == (run_id, False)
        told = await client.refused("run_start", models=["alpha"], suites=["sums"], repeats=2, idempotency_key="k")
        assert run_id in told


async def test_a_dry_run_tells_the_plan_and_starts_nothing(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha", "beta")
        plan = await client.call("run_start", models=["alpha", "beta"], suites=["sums"], repeats=2, dry_run=True)
        assert plan == {
            "state": "dry_run",
            "created": False,
            "planned_attempts": 12,
            "loads": 2,
            "jobs": ["alpha on fake", "beta on fake"],
            "next": "run_start with dry_run=false",
        }
        assert not bench.fake.prompts
        assert (await (await bench.app()).runs.page())[1] == 0


async def test_limits_that_may_end_a_run_are_told_with_its_plan(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha")
        asked = {"models": ["alpha"], "suites": ["sums"], "limits": {"attempts": 2}}
        plan = await client.call("run_start", **asked, dry_run=True)
        started = await client.call("run_start", **asked)
        assert plan["remarks"] == started["remarks"] == ["stops at its limit of 2 attempts"]
        assert (await client.finish(started["run_id"]))["done"] == 2


async def test_sampling_reaches_the_server_and_defaults_are_not_sent(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        run_id = await start(bench, client, temperature=0.5, seed=7, max_tokens=99)
        await client.finish(run_id)
        other = await client.call("run_start", models=["alpha"], suites=["sums"], temperature=-1, seed=-1, top_p=0.9)
        await client.finish(other["run_id"])
    bodies = [one.body for one in bench.fake.requests if one.prompt.startswith("What is 1 +")]
    assert (bodies[0]["temperature"], bodies[0]["seed"], bodies[0]["max_tokens"]) == (0.5, 7, 99)
    assert "top_p" not in bodies[0]
    assert bodies[1]["top_p"] == 0.9
    assert not {"temperature", "seed"} & set(bodies[1])


async def test_what_cannot_run_is_refused_before_anything_starts(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        assert "model_assign" in await client.refused("run_start", models=["alpha"], suites=["sums"])
        assert "alpha" in await client.refused("run_start", models=["alpa"], suites=["sums"])
        assert "sums" in await client.refused("run_start", models=["alpha"], suites=["sum"])
        assert "suite_list" in await client.refused("run_start", models=["alpha"], suites=[])
        await client.call("model_assign", model="alpha")
        await bench.fake.stop()
        assert "endpoint_list" in await client.refused("run_start", models=["alpha"], suites=["sums"])
        assert (await (await bench.app()).runs.page())[1] == 0


async def test_an_endpoint_named_replaces_the_assignment(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake)
        started = await client.call("run_start", models=["alpha"], suites=["sums"], endpoint="fake")
        assert (await client.finish(started["run_id"]))["passed"] == 3


async def graded(client: BenchClient, run_id: str, count: int) -> bool:
    """The answer before the one held may still be with the grader."""
    return bool((await client.call("run_status", run_id=run_id))["done"] >= count)


async def test_status_waits_for_the_end_and_reports_progress(tmp_path: Path, era: Era) -> None:
    held = Held()
    seen: list[tuple[float, float | None]] = []

    async def notice(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))
        held.gate.open()

    async with open_bench(tmp_path, script=held) as bench, bench.client(era) as client:
        run_id = await start(bench, client)
        await held.gate.reached()
        await until(lambda: graded(client, run_id, 1))
        result = await client.raw.call_tool("run_status", {"run_id": run_id, "wait_s": 30}, progress_callback=notice)
        assert result.structured_content is not None
        assert result.structured_content["state"] == "completed"
    assert seen[0] == (1, 3)
    assert seen[-1] == (3, 3)
    assert seen == sorted(set(seen))


async def test_a_wait_ends_after_its_time_and_is_cut_to_the_servers_limit(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held, max_wait_s=0.1) as bench, bench.client(era) as client:
        run_id = await start(bench, client)
        await held.gate.reached()
        await until(lambda: graded(client, run_id, 1))
        with anyio.fail_after(20):
            status = await client.call("run_status", run_id=run_id, wait_s=10_000)
        assert (status["state"], status["done"]) == ("running", 1)
        assert status["next"] == f"run_status run_id={run_id} wait_s=30"
        held.gate.open()


async def test_cancelling_a_status_call_does_not_cancel_the_run(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held) as bench, bench.client(era) as client:
        run_id = await start(bench, client)
        await held.gate.reached()
        with anyio.CancelScope() as scope:

            async def leave(progress: float, total: float | None, message: str | None) -> None:
                scope.cancel()

            arguments = {"run_id": run_id, "wait_s": 30}
            await client.raw.call_tool("run_status", arguments, progress_callback=leave)
        assert scope.cancelled_caught
        assert (await client.call("run_status", run_id=run_id))["state"] == "running"
        held.gate.open()
        assert (await client.finish(run_id))["state"] == "completed"


async def test_a_run_is_cancelled_and_keeps_what_is_done(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held) as bench, bench.client(era) as client:
        run_id = await start(bench, client)
        await held.gate.reached()
        cancelled = await client.call("run_cancel", run_id=run_id)
        assert (cancelled["state"], cancelled["planned"], cancelled["done"]) == ("cancelled", 3, 1)
        assert (await client.call("run_cancel", run_id=run_id))["state"] == "cancelled"
        results = await client.call("run_results", run_id=run_id)
        assert [row["state"] for row in results["attempts"]] == ["done", "cancelled", "cancelled"]


async def test_an_unknown_run_is_told_with_the_newest(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        for tool in ("run_status", "run_results", "run_cancel"):
            assert "run_start" in await client.refused(tool, run_id="run_x")
        run_id = await start(bench, client)
        for tool in ("run_status", "run_results", "run_cancel"):
            assert run_id in await client.refused(tool, run_id="run_x")


async def test_jobs_come_in_pages_with_details_on_request(tmp_path: Path, era: Era) -> None:
    async with open_bench(tmp_path) as bench, bench.client(era) as client:
        await client.set_up(bench.fake, "alpha", "beta")
        started = await client.call("run_start", models=["alpha", "beta"], suites=["sums"])
        run_id = started["run_id"]
        await client.finish(run_id)
        first = await client.call("run_status", run_id=run_id, limit=1)
        rest = await client.call("run_status", run_id=run_id, limit=1, cursor=first["next_cursor"], detail="detailed")
        assert {first["jobs"][0]["model"], rest["jobs"][0]["model"]} == {"alpha", "beta"}
        assert rest["jobs"][0]["details"]["device"] == "nvidia:0"
        assert "details" not in first["jobs"][0]


async def test_a_run_goes_on_while_no_client_is_connected(tmp_path: Path, era: Era) -> None:
    held = Held()
    async with open_bench(tmp_path, script=held) as bench:
        async with bench.client(era) as client:
            run_id = await start(bench, client)
        held.gate.open()
        app = await bench.app()

        async def is_over() -> bool:
            return (await app.runs.get(run_id)).is_over

        await until(is_over)
        async with bench.client(era) as client:
            assert (await client.call("run_status", run_id=run_id))["passed"] == 3


async def test_everything_on_one_device_is_cancelled_and_a_device_nobody_uses_is_refused(
    tmp_path: Path, era: Era
) -> None:
    gate = Gate()
    async with (
        open_bench(tmp_path, script=lambda request: Reply(before=gate)) as bench,
        bench.client(era) as client,
    ):
        await client.set_up(bench.fake, "alpha")
        assert "run_id or device" in await client.refused("run_cancel")
        run_id = (await client.call("run_start", models=["alpha"], suites=["sums"]))["run_id"]
        await gate.reached()
        assert "nvidia:0" in await client.refused("run_cancel", device="nvidia:9")
        stopped = await client.call("run_cancel", device="nvidia:0")
        assert (stopped["run_id"], stopped["state"], stopped["runs"]) == (run_id, "cancelled", [f"{run_id} cancelled"])
        assert "nothing was open" in (await client.call("run_cancel", device="nvidia:0"))["next"]
        gate.open()
