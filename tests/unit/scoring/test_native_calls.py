"""Whether a server returned calls or a model only wrote them down, from the completion to the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion, ToolCall
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.domain.task import Task
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server
from tests.support.work import URL, finished, working

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
BLOCK = {
    "type": "tool_use",
    "tools": [TOOL],
    "expected_calls": [{"function": "weather", "arguments": {"city": "Graz"}}],
}
WRITTEN = '<tool_call>{"name": "weather", "arguments": {"city": "Graz"}}</tool_call>'
MADE = (ToolCall("weather", {"city": "Graz"}),)


@pytest.mark.parametrize(
    ("calls", "done", "failure", "native"),
    [
        ("native", Completion("", tool_calls=MADE), None, 1.0),
        ("native", Completion(WRITTEN), "call_in_text", 0.0),
        ("any", Completion(WRITTEN), None, 0.0),
        ("any", Completion(WRITTEN, tool_calls=MADE), None, 1.0),
        ("any", Completion("", tool_calls=(ToolCall("weather", "{broken"),)), "malformed_call", 1.0),
        ("any", Completion("It rains."), "no_call", None),
    ],
)
async def test_the_grade_says_whether_the_server_returned_the_calls(
    calls: str, done: Completion, failure: str | None, native: float | None
) -> None:
    grade = await Grader().grade(Task("own/q", "Weather in Graz?", {**BLOCK, "calls": calls}), done)

    assert grade.failure == failure
    assert grade.subscores.get("native") == native
    assert (grade.extractor == "native") is (native == 1.0)


TASK = """PROMPT:
Weather in Graz, {word}?

VALIDATION:
```yaml
type: tool_use
calls: native
tools:
  - type: function
    function:
      name: weather
      parameters: {{type: object, properties: {{city: {{type: string}}}}, required: [city]}}
expected_calls:
  - {{function: weather, arguments: {{city: Graz}}}}
```
"""


def answer(request: ChatRequest, times: int) -> Completion:
    assert [tool["function"]["name"] for tool in request.tools] == ["weather"]
    return completion(WRITTEN) if "written" in request.prompt else completion("", tool_calls=MADE)


@pytest.mark.timeout(120)
async def test_results_show_which_calls_were_native(tmp_path: Path) -> None:
    root = tmp_path / "tasks" / "own"
    root.mkdir(parents=True)
    for word in ("made", "written"):
        (root / f"{word}.md").write_text(TASK.format(word=word))
    head = "- name: calls\n  title: Calls\n  description: Own.\n  version: 1\n  tasks:\n"
    (tmp_path / "tasks" / "suites.yaml").write_text(f"{head}    - own/made\n    - own/written\n")

    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("calls",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 50)

    facts = {record.task_id: record.facts for record in records}
    made, written = facts["own/made"], facts["own/written"]
    assert (made["passed"], made["extractor"], made["subscores"]["native"]) == (True, "native", 1.0)
    assert (written["failure"], written["subscores"]["native"]) == ("call_in_text", 0.0)
    assert written["extractor"] not in {None, "native"}
