"""Answers that are wrong, hang, fork, read, or use the network: graded, named, survived."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.scripted import completion
from tests.support.rooms import assigned, opened, server
from tests.support.work import URL, finished, working

TASK = """PROMPT:
Write f(x). Case {name}.

VALIDATION:
```yaml
type: coding
language: python
function_name: f
timeout_s: 1
base_tests:
  - {{args: [2], expected: 4}}
  - {{args: [3], expected: 9}}
```
"""

ANSWERS: dict[str, tuple[str, set[str | None]]] = {
    "right": ("def f(x):\n    return x * x", {None}),
    "wrong": ("def f(x):\n    return 4", {"wrong_answer"}),
    "hanging": ("def f(x):\n    while True:\n        pass", {"timeout"}),
    "forking": ("import os\n\ndef f(x):\n    while True:\n        os.fork()", {"blocked", "runtime_error"}),
    "network": (
        "import socket\n\ndef f(x):\n    socket.create_connection(('127.0.0.1', 9), 1)\n    return x * x",
        {"blocked"},
    ),
    "reading": ("def f(x):\n    return len(open('/etc/passwd').read())", {"blocked"}),
    "writing": ("def f(x):\n    open('/var/tmp/llmbench_canary', 'w').write('x')\n    return x * x", {"blocked"}),
    "memory": ("def f(x):\n    return len([0] * 10**10)", {"memory_limit"}),
    "exiting": ("import os\n\ndef f(x):\n    os._exit(0)", {"cheating"}),
    "equal": (
        "class E(int):\n    def __eq__(self, o):\n        return True\n\ndef f(x):\n    return E(1)",
        {"cheating", "wrong_answer"},
    ),
    "endless": ("def f(x):\n    while True:\n        print('x' * 10**6)", {"timeout", "output_limit"}),
    "syntax": ("def f(x)\n    return", {"syntax_error", "no_code"}),
    "prose": ("I would multiply x by itself.", {"no_code"}),
    "refusal": ("I'm sorry, I can't help with that.", {"refusal", "no_code"}),
    "empty": ("", {"empty"}),
}


def write_tasks(folder: Path) -> None:
    root = folder / "tasks" / "hostile"
    root.mkdir(parents=True)
    for name in ANSWERS:
        (root / f"{name}.md").write_text(TASK.format(name=name), encoding="utf-8")
    lines = "".join(f"    - hostile/{name}\n" for name in ANSWERS)
    head = "- name: hostile\n  title: Hostile\n  description: Hostile answers.\n  version: 1\n  tasks:\n"
    (folder / "tasks" / "suites.yaml").write_text(head + lines, encoding="utf-8")


def answer(request: ChatRequest, times: int) -> Completion:
    name = request.prompt.strip().rsplit(" ", 1)[1].rstrip(".")
    code, _ = ANSWERS[name]
    return completion(f"```python\n{code}\n```" if "def " in code else code)


@pytest.mark.timeout(120)
async def test_hostile_answers_are_graded_and_nothing_else_is_touched(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    async with opened(tmp_path, {URL: server("m", answer=answer)}) as app, working(app):
        await assigned(app, URL)
        run = await finished(app, (await app.runs.start(RunRequest(("m",), ("hostile",)))).run.id)
        records, _ = await app.runs.results(run.id, AttemptFilter(), 50)
    found = {record.task_id.split("/")[1]: record.facts.get("failure") for record in records}
    assert {name: word for name, word in found.items() if word not in ANSWERS[name][1]} == {}
    assert (run.state, run.done, run.errors, run.passed) == ("completed", len(ANSWERS), 0, 1)
    assert not Path("/var/tmp/llmbench_canary").exists()
