"""Figures of one stream whose pieces come at known times, through a whole run; times are stamped, not slept."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.testing.clocks import FastClock, ManualClock
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.replies import DONE, Gate, Reply, chunk, streamed, text_reply, usage_chunk
from tests.mcp.bench import BenchClient, open_bench, right
from tests.support.rooms import write_suite

Piece = tuple[float, bytes]
USAGE = usage_chunk(50, 120, completion_tokens_details={"reasoning_tokens": 100})


class Stamps(ManualClock):
    """Stands still, but for one stream whose every read is stamped with the time its piece is due."""

    def __init__(self) -> None:
        super().__init__(100.0)
        self._due: deque[float] = deque()
        self._gates: deque[Gate] = deque()

    def streaming(self, schedule: list[Piece]) -> Reply:
        """The pieces, each sent when the one before has been stamped, so that each is one read."""
        self._due = deque(100.0 + at for at, _ in schedule)
        gates = [Gate() for _ in schedule]
        gates[0].open()
        self._gates = deque(gates[1:])
        return streamed([step for gate, (_, piece) in zip(gates, schedule, strict=True) for step in (gate, piece)])

    def monotonic(self) -> float:
        """The next stamp while the stream comes."""
        if self._due:
            self.now = self._due.popleft()
            if self._gates:
                self._gates.popleft().open()
        return self.now


def schedule(field: str, usage: bool) -> list[Piece]:
    """A role at 0.2 s, a comment, five pieces of reasoning from 0.5 s, seven of the answer from 2 s to 4 s."""
    reasoning = [(0.5 + 0.3 * number, chunk(**{field: f"r{number} "})) for number in range(5)]
    answer = [(2.0 + number / 3, chunk("1" if number == 6 else " ")) for number in range(7)]
    end: list[Piece] = [(4.1, chunk(finish="stop")), *([(4.2, USAGE)] if usage else []), (4.3, DONE)]
    return [(0.2, chunk("", role="assistant")), (0.3, b": ping\n\n"), *reasoning, *answer, *end]


async def measured(folder: Path, field: str, usage: bool = True) -> dict[str, Any]:
    """The one attempt of a run, with its details."""
    stamps = Stamps()

    def script(request: Received) -> Reply:
        if not request.prompt.startswith("Question"):
            return text_reply("Hello", model=request.model)
        return stamps.streaming(schedule(field, usage))

    write_suite(folder, 1)
    async with open_bench(folder, script=script, stamps=stamps) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        run = await finished(client)
        page = await client.call("run_results", run_id=run["run_id"], detail="detailed")
        (row,) = (await client.call("leaderboard_query", suite="sums"))["entries"]
    (attempt,) = page["attempts"]
    assert (attempt["passed"], row.get("decode_tps")) == (True, attempt.get("decode_tps"))
    facts: dict[str, Any] = attempt | attempt["details"]
    return facts


async def finished(client: BenchClient) -> dict[str, Any]:
    started = await client.call("run_start", models=["alpha"], suites=["sums"])
    run = await client.finish(started["run_id"])
    return await client.call("run_status", run_id=run["run_id"], detail="detailed")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_the_first_token_the_first_of_the_answer_and_the_rate_are_those_of_the_stream(
    tmp_path: Path, field: str
) -> None:
    attempt = await measured(tmp_path, field)
    assert attempt["ttft_ms"] == pytest.approx(500, abs=1)
    assert attempt["ttfat_ms"] == pytest.approx(2000, abs=1)
    assert attempt["e2e_ms"] == pytest.approx(4300, abs=1)
    assert attempt["decode_tps"] == pytest.approx(119 / 3.5, rel=0.001)
    counts = [attempt[name] for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens")]
    assert (counts, attempt["tokens_estimated"]) == ([50, 120, 100], False)


async def test_without_counted_tokens_there_is_no_rate_that_looks_counted(tmp_path: Path) -> None:
    attempt = await measured(tmp_path, "reasoning_content", usage=False)
    assert (attempt["ttft_ms"], attempt["ttfat_ms"]) == (500, 2000)
    assert "decode_tps" not in attempt or attempt["tokens_estimated"]


async def test_the_time_a_model_takes_to_load_stands_apart_from_its_answers(tmp_path: Path) -> None:
    """Both where the load is ordered and where the first request waits for it."""
    clock = FastClock(10.0)
    seen: list[str] = []

    async def slow_at_first(request: Received) -> str | None:
        seen.append(request.prompt)
        if len(seen) == 1:
            await clock.sleep(6.0)
        return right(request)

    async with (
        FakeOllama([StoredModel("beta")], right, clock=clock) as box,
        FakeServer(["alpha"], slow_at_first) as plain,
        open_bench(tmp_path, clock=clock, stamps=clock, lease_s=1000.0) as bench,
        bench.client("auto") as client,
    ):
        box.timings.load_s = 6.0
        await client.call("endpoint_add", url=box.url, name="box", device="cpu")
        await client.call("endpoint_add", url=plain.url, name="plain", device="cpu")
        await client.call("models_discover")
        for model, endpoint in (("beta", "box"), ("alpha", "plain")):
            started = await client.call("run_start", models=[model], suites=["sums"], endpoint=endpoint)
            run = await client.finish(started["run_id"])
            run = await client.call("run_status", run_id=run["run_id"], detail="detailed")
            attempts = (await client.call("run_results", run_id=run["run_id"]))["attempts"]
            assert run["jobs"][0]["details"]["load_s"] >= 6.0
            assert [attempt["e2e_ms"] < 6000 for attempt in attempts] == [True] * 3
