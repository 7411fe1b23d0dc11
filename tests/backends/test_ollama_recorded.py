"""Recorded Ollama streams replayed over a socket; see test_recorded_streams.py for where they come from.

The same shapes are written out in test_ollama_stream.py, which always runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llmbench_mcp.testing.clocks import StampClock
from tests.backends.ollama_support import ollama_at
from tests.backends.support import ask
from tests.support.collected import COLLECTED

CASES, TOOL = COLLECTED / "cases" / "stream.jsonl", COLLECTED / "tools" / "replay_server.py"


def recorded() -> list[dict[str, Any]]:
    if not (CASES.exists() and TOOL.exists()):
        return []
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, filter(str.strip, lines)) if case["protocol"] == "ollama-ndjson"]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    command = [sys.executable, str(TOOL), str(CASES), "--gap-ms", "30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}/case/"
        process.kill()


@pytest.mark.skipif(not recorded(), reason="the recordings are not on this machine")
@pytest.mark.parametrize("case", recorded(), ids=lambda case: str(case["id"]))
async def test_a_recorded_ollama_stream_is_read_as_recorded(base_url: str, case: dict[str, Any]) -> None:
    # The request's end is stamped 0 and read number n (from 0) is stamped n + 1.
    async with ollama_at(base_url + case["id"], StampClock(float(stamp) for stamp in range(1000))) as backend:
        assert [model.served_name for model in await backend.list_models()] == ["m"]
        done = await ask(backend)
    expected = case["expected"]
    assert (done.text, done.reasoning, done.finish_reason) == tuple(
        expected[name] for name in ("text", "reasoning", "finish_reason")
    )
    assert [{"name": c.name, "arguments": c.arguments} for c in done.tool_calls] == expected["tool_calls"]
    assert (done.error, done.bad_events, done.complete) == (expected["error"], expected["bad_events"], True)
    assert done.usage is not None
    counted = {"prompt_tokens": done.usage.prompt_tokens, "completion_tokens": done.usage.completion_tokens}
    assert counted == expected["usage"]
    assert done.timing.ttft_s == expected["first_content_chunk"] + 1
