"""Recorded byte streams replayed over a socket, where a checkout with the recordings lies next to this one.

The same shapes are written out in test_streams.py, which always runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llmbench_mcp.testing.clocks import StampClock
from tests.backends.support import ask, openai_at
from tests.support.collected import COLLECTED

CASES, TOOL = COLLECTED / "cases" / "stream.jsonl", COLLECTED / "tools" / "replay_server.py"


def recorded() -> list[dict[str, Any]]:
    if not (CASES.exists() and TOOL.exists()):
        return []
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, filter(str.strip, lines)) if case["protocol"] == "openai-sse"]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    command = [sys.executable, str(TOOL), str(CASES), "--gap-ms", "40"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}/case/"
        process.kill()


@pytest.mark.skipif(not recorded(), reason="the recordings are not on this machine")
@pytest.mark.parametrize("case", recorded(), ids=lambda case: str(case["id"]))
async def test_a_recorded_stream_is_read_as_recorded(base_url: str, case: dict[str, Any]) -> None:
    # The request's end is stamped 0 and read number n (from 0) is stamped n + 1.
    clock = StampClock(float(stamp) for stamp in range(1000))
    async with openai_at(base_url + case["id"], clock) as backend:
        done = await ask(backend)
    expected = case["expected"]
    assert (done.text, done.reasoning, done.finish_reason) == tuple(
        expected[name] for name in ("text", "reasoning", "finish_reason")
    )
    assert [{"name": c.name, "arguments": c.arguments} for c in done.tool_calls] == expected["tool_calls"]
    assert (done.error, done.bad_events) == (expected["error"], expected["bad_events"])
    counted = done.usage and {
        "prompt_tokens": done.usage.prompt_tokens,
        "completion_tokens": done.usage.completion_tokens,
    }
    assert counted == expected["usage"]
    assert done.complete == (expected["error"] is None and bool(expected["terminated"] or expected["finish_reason"]))
    firsts = [n for n in (expected["first_content_chunk"], expected["first_reasoning_chunk"]) if n is not None]
    assert done.timing.ttft_s == (min(firsts) + 1 if firsts else None)
