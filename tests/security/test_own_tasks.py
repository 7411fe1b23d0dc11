"""Code that an agent hands over as the tests of a task: it runs, and reaches nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.bench import open_bench

ANSWER = "```python\ndef f(x):\n    return x\n```"
FILES_ANSWER = "```python work.py\ndef f(x):\n    return x\n```"
Block = Callable[[str], dict[str, Any]]


def coding(**more: Any) -> dict[str, Any]:
    return {"type": "coding", "language": "python", "function_name": "f", **more}


def data(**more: Any) -> dict[str, Any]:
    tests = [{"args": [n], "expected": n} for n in (1, 2, 3)]
    return coding(base_tests=tests, randomizable=True, **more)


BLOCKS: dict[str, Block] = {
    "test_code": lambda attack: coding(test_code=f"{attack}\nassert f(1) == 1"),
    "test_code beside data": lambda attack: data(
        test_code=f"{attack}\nassert f(1) == 1", reference_solution="def f(x):\n    return x"
    ),
    "test_code called strong": lambda attack: coding(test_code=f"{attack}\nassert f(1) == 1", trust="strong"),
    "setup_code": lambda attack: coding(setup_code=attack, test_code="assert f(1) == 1"),
    "reference_solution": lambda attack: data(reference_solution=f"{attack}\ndef f(x):\n    return x"),
    "random_inputs": lambda attack: data(
        reference_solution="def f(x):\n    return x", random_inputs=f"{attack}\ndef random_inputs(rng):\n    return [1]"
    ),
    "integration_tests": lambda attack: {
        "type": "coding_multifile",
        "files": {"work.py": ""},
        "modified_files": ["work.py"],
        "integration_tests": [{"code": f"{attack}\nfrom work import f\n\ndef test_f():\n    assert f(1) == 1\n"}],
    },
}


@pytest.mark.parametrize("kind", BLOCKS)
async def test_code_of_a_task_that_an_agent_hands_over_writes_reads_and_connects_nowhere(
    tmp_path: Path, kind: str
) -> None:
    secret, mark = tmp_path / "secret", tmp_path / "mark"
    secret.write_text("zz-secret")
    callers: list[object] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        attacks = (
            f"open({str(mark)!r}, 'w').write('x')",
            f"import os; os.system('cp {secret} {mark}')",
            f"import socket; socket.create_connection({listener.getsockname()!r}, 1)",
        )
        answer = FILES_ANSWER if kind == "integration_tests" else ANSWER
        async with open_bench(tmp_path, script=lambda request: answer) as bench, bench.client("auto") as client:
            await client.set_up(bench.fake, "alpha")
            tasks = [{"prompt": "Write f.", "validation": BLOCKS[kind](attack)} for attack in attacks]
            for task in tasks:
                result = await client.result("run_start", {"models": ["alpha"], "custom_tasks": [task]})
                if not result.is_error:  # a check may refuse what cannot work
                    await client.finish((result.structured_content or {})["run_id"])
        try:
            callers.append(listener.accept())
        except BlockingIOError:
            await asyncio.sleep(0)
    assert not mark.exists()
    assert callers == []


async def test_honest_tests_of_an_agent_still_grade(tmp_path: Path) -> None:
    async with open_bench(tmp_path, script=lambda request: ANSWER) as bench, bench.client("auto") as client:
        await client.set_up(bench.fake, "alpha")
        blocks = (
            coding(test_code="assert f(2) == 2"),
            coding(test_code="assert f(2) == 3"),
            data(reference_solution="def f(x):\n    return x"),
        )
        tasks = [{"prompt": "Write f.", "validation": block} for block in blocks]
        started = await client.call("run_start", models=["alpha"], custom_tasks=tasks)
        ended = await client.finish(started["run_id"])
        results = await client.call("run_results", run_id=started["run_id"], detail="detailed")
    assert (ended["state"], ended["errors"]) == ("completed", 0)
    assert [row["passed"] for row in results["attempts"]] == [True, False, True]
    assert len({row["task"] for row in results["attempts"]}) == 3
