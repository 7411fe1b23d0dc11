"""Tasks in turns: right calls are answered with the task's results and the model is asked on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import Completion, Timing, ToolCall
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.testing.fake_lmstudio import FakeLMStudio
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_ollama import FakeOllama
from llmbench_mcp.testing.fake_ollama_models import StoredModel
from llmbench_mcp.testing.fake_ollama_wire import Spent, last, ndjson, piece
from llmbench_mcp.testing.fake_server import FakeServer, Received
from llmbench_mcp.testing.fake_vllm import FakeVllm
from llmbench_mcp.testing.replies import Reply, calls_reply, error_reply
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, opened_real, server
from tests.support.work import URL, finished, working

TASK = """---
max_tokens: 40
---
PROMPT:
Which of the two boxes is heavier? Lift that one.

VALIDATION:
```yaml
type: tool_use
tools:
  - type: function
    function:
      name: weigh
      parameters: {type: object, properties: {box: {type: string}}, required: [box]}
  - type: function
    function:
      name: lift
      parameters: {type: object, properties: {box: {type: string}, kg: {type: number}}, required: [box, kg]}
turns:
  - expected_calls:
      - {function: weigh, arguments: {box: a}, result: {kg: 3}}
      - {function: weigh, arguments: {box: b}, result: heavier than expected, 5 kg}
  - expected_calls:
      - {function: lift, arguments: {box: b, kg: 5}, result: done}
  - expected_calls: []
```
""".replace("result: heavier than expected, 5 kg}", 'result: "heavier than expected, 5 kg"}')
A, B = ("weigh", {"box": "a"}), ("weigh", {"box": "b"})
LIFT = ("lift", {"box": "b", "kg": 5})
Calls = list[tuple[str, dict[str, Any]]]
Said = str | Reply | Calls


class Player:
    """A model that gives these answers, one a request, to the task; anything else it is asked it greets."""

    def __init__(self, *answers: Said, native: Callable[[Calls], Reply] = lambda calls: calls_reply(*calls)) -> None:
        self.bodies: list[Any] = []
        self._answers = answers
        self._native = native

    def __call__(self, request: Received) -> Reply | str:
        body = request.body or {}
        if "boxes" not in str(body.get("messages")):
            return "Hello"
        self.bodies.append(body)
        said = self._answers[len(self.bodies) - 1]
        return self._native(said) if isinstance(said, list) else said

    def said_since_the_prompt(self) -> list[dict[str, Any]]:
        """Of the last request."""
        return list(self.bodies[-1]["messages"][1:])


def ollama_calls(calls: Calls) -> Reply:
    made = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return ndjson([piece(tool_calls=made, model="m"), last(Spent(7, 5, prompt_s=0.1, eval_s=0.5), model="m")])


def write_task(folder: Path) -> None:
    (folder / "tasks" / "own").mkdir(parents=True)
    (folder / "tasks" / "own" / "boxes.md").write_text(TASK, encoding="utf-8")
    suite = "- name: boxes\n  title: Boxes\n  description: Own.\n  version: 1\n  tasks: [own/boxes]\n"
    (folder / "tasks" / "suites.yaml").write_text(suite, encoding="utf-8")


async def asked(folder: Path, box: FakeServer, then: Callable[[App, Run], Any] | None = None) -> tuple[Run, Any]:
    """A run of the task on that server, and its one attempt; ``then`` happens before the executor is gone."""
    write_task(folder)
    async with box, opened_real(folder) as app, working(app):
        await app.endpoints.add(NewEndpoint(box.url, "box"))
        await app.models.discover()
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("boxes",), "box"))).run.id)
        if then:
            run = await then(app, run)
        return run, await app.runs.attempt(run.id, 1)


def player(kind: str) -> tuple[Player, FakeServer]:
    answers: list[Said] = [[A, B], [LIFT], "I lifted box b."]
    if kind == "ollama":
        play = Player(*answers[:2], "I lifted box b.", native=ollama_calls)
        return play, FakeOllama([StoredModel("m", capabilities=("completion", "tools"))], play)
    play = Player(*answers)
    if kind == "lmstudio":
        return play, FakeLMStudio([StudioModel("m", tools=True)], play)
    return play, FakeVllm(["m"], play) if kind == "vllm" else FakeServer(["m"], play)


@pytest.mark.parametrize("kind", ["openai", "ollama", "lmstudio", "vllm"])
async def test_right_calls_are_answered_until_the_task_is_over(tmp_path: Path, kind: str) -> None:
    play, box = player(kind)
    run, attempt = await asked(tmp_path, box)
    assert (run.done, run.passed, len(play.bodies)) == (1, 1, 3)
    assert (attempt.facts["score"], attempt.facts["stages"]["turns"]) == (1.0, [3, 3])
    assert attempt.completion_text == "I lifted box b."
    roles = [message["role"] for message in play.said_since_the_prompt()]
    assert roles == ["assistant", "tool", "tool", "assistant", "tool"]
    told = [message["content"] for message in play.said_since_the_prompt() if message["role"] == "tool"]
    assert told == ['{"kg": 3}', "heavier than expected, 5 kg", "done"]
    assert all(body["tools"] for body in play.bodies)


async def test_openai_servers_get_each_result_under_the_id_of_its_call(tmp_path: Path) -> None:
    play, box = player("openai")
    await asked(tmp_path, box)
    first, one, two, second, three = play.said_since_the_prompt()
    ids = [call["id"] for message in (first, second) for call in message["tool_calls"]]
    assert [one["tool_call_id"], two["tool_call_id"], three["tool_call_id"]] == ids
    assert len(set(ids)) == 3
    assert first["tool_calls"][0]["function"] == {"name": "weigh", "arguments": json.dumps({"box": "a"})}


async def test_ollama_gets_arguments_as_objects_and_results_with_the_tool_s_name(tmp_path: Path) -> None:
    play, box = player("ollama")
    await asked(tmp_path, box)
    said = play.said_since_the_prompt()
    assert said[0]["tool_calls"][1] == {"function": {"name": "weigh", "arguments": {"box": "b"}}}
    assert [message["tool_name"] for message in said if message["role"] == "tool"] == ["weigh", "weigh", "lift"]


async def test_calls_written_into_the_text_get_their_results_as_a_user_s_words(tmp_path: Path) -> None:
    written = '<tool_call>{"name": "weigh", "arguments": {"box": "b"}}</tool_call>'
    play = Player([A], written, [LIFT], "Done.")
    run, attempt = await asked(tmp_path, FakeServer(["m"], play))
    assert (run.passed, attempt.facts["subscores"]["native"]) == (1, 0.0)
    assert play.said_since_the_prompt()[2:4] == [
        {"role": "assistant", "content": written},
        {"role": "user", "content": "Result of weigh:\nheavier than expected, 5 kg"},
    ]


@pytest.mark.parametrize(
    ("answers", "failure", "score"),
    [
        ([[A, B], [("lift", {"box": "a", "kg": 3})]], "wrong_call", 0.4),
        ([[A, B], "Box b is heavier."], "no_call", 0.333333),
        ([[A], "Box a is heavier."], "wrong_call", 0.166667),
        ([[LIFT]], "wrong_call", 0.0),
        (["I have no scales."], "no_call", 0.0),
        ([[A, B], [LIFT], [LIFT]], "unexpected_call", 0.666667),
    ],
)
async def test_the_first_answer_that_is_not_right_ends_the_attempt(
    tmp_path: Path, answers: list[Said], failure: str, score: float
) -> None:
    play = Player(*answers)
    run, attempt = await asked(tmp_path, FakeServer(["m"], play))
    assert (run.done, run.failures, len(play.bodies)) == (1, {failure: 1}, len(answers))
    assert attempt.facts["score"] == pytest.approx(score, abs=0.01)


async def test_tokens_and_seconds_of_all_turns_are_one_attempt_s(tmp_path: Path) -> None:
    play, box = player("openai")
    _, attempt = await asked(tmp_path, box)
    facts = attempt.facts
    assert (facts["prompt_tokens"], facts["completion_tokens"]) == (21, 5 + 5 + 4)
    assert facts["e2e_s"] >= facts["ttfat_s"] > 0
    assert [body["max_tokens"] for body in play.bodies] == [40, 35, 30]


async def test_the_budget_is_the_whole_conversation_s(tmp_path: Path) -> None:
    play = Player(calls_reply(A, B, tokens=40))
    run, attempt = await asked(tmp_path, FakeServer(["m"], play))
    assert (run.failures, len(play.bodies)) == ({"budget_exhausted": 1}, 1)
    assert (attempt.facts["finish_reason"], attempt.facts["completion_tokens"]) == ("length", 40)


async def test_a_request_that_failed_is_repeated_in_the_middle_of_the_conversation(tmp_path: Path) -> None:
    play = Player([A, B], error_reply(503, "busy"), [LIFT], "Done.")
    run, attempt = await asked(tmp_path, FakeServer(["m"], play))
    assert (run.passed, attempt.facts["retries"]) == (1, 1)
    assert [len(body["messages"]) for body in play.bodies] == [1, 4, 4, 6]


async def test_a_server_that_breaks_down_in_the_middle_is_no_evidence_about_the_model(tmp_path: Path) -> None:
    play = Player([A, B], error_reply(400, "the template has no place for tools"))
    run, attempt = await asked(tmp_path, FakeServer(["m"], play))
    assert (run.done, run.errors, attempt.facts["failure"]) == (0, 1, "provider_error")


@pytest.mark.parametrize("answers", [[[A, B], [LIFT], "Done."], [[A, B], "Box b."]])
async def test_a_conversation_is_graded_again_without_asking(tmp_path: Path, answers: list[Said]) -> None:
    play = Player(*answers)
    before: list[Any] = []

    async def again(app: App, run: Run) -> Run:
        before.append((await app.runs.attempt(run.id, 1)).facts)
        await app.runs.retry(run.id, "regrade")
        return await finished(app, run.id)

    run, attempt = await asked(tmp_path, FakeServer(["m"], play), again)
    assert run.is_over
    assert len(play.bodies) == len(answers)
    for name in ("passed", "score", "stages", "findings", "completion_tokens"):
        assert attempt.facts[name] == before[0][name]


async def test_the_seconds_are_the_whole_conversation_s(tmp_path: Path) -> None:
    write_task(tmp_path)
    calls = tuple(ToolCall(*call) for call in (A, B))
    slow = Completion("", tool_calls=calls, finish_reason="tool_calls", timing=Timing(e2e_s=30.0))
    box = server("m", answer=lambda request, times: slow if "boxes" in request.prompt else completion("Hello"))
    async with opened(tmp_path, {URL: box}, total_timeout_s=30.0) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("boxes",)))).run.id)
        attempt = await app.runs.attempt(run.id, 1)
    assert run.failures == {"budget_exhausted": 1}
    assert (attempt.facts["finish_reason"], attempt.facts["e2e_s"]) == ("time", 30.0)
