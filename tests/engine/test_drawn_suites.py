"""Suites drawn with a seed, and tasks too long for a model, through whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.app import App
from llmbench_mcp.domain.chat import ChatRequest, Completion, Sampling, Usage
from llmbench_mcp.domain.endpoint import OfferedModel
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.testing.scripted import ScriptedServer, completion
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.work import URL, finished, right, working

BOXES = """VARIABLES:
```yaml
n: {from: 10, to: 9999}
```

PROMPT:
Double {{n}}

VALIDATION:
```yaml
type: reasoning
expected_answer: "{{2 * n}}"
answer_type: number
```
"""


def write_generated(folder: Path) -> None:
    """The suite ``mixed`` of one generated task and one that is not."""
    own = folder / "tasks" / "own"
    own.mkdir(parents=True)
    (own / "boxes.md").write_text(BOXES, encoding="utf-8")
    plain = "PROMPT:\nDouble 4\n\nVALIDATION:\n```yaml\ntype: reasoning\nexpected_answer: 8\n```\n"
    (own / "plain.md").write_text(plain, encoding="utf-8")
    head = "- name: mixed\n  title: Mixed\n  description: Own.\n  version: 3\n  tasks: [own/boxes, own/plain]\n"
    (folder / "tasks" / "suites.yaml").write_text(head, encoding="utf-8")


def doubled(request: ChatRequest, times: int) -> Completion:
    return completion(str(2 * int(request.prompt.split()[-1])))


async def done(app: App, request: RunRequest) -> Run:
    run_id = (await app.runs.start(request)).run.id
    async with working(app):
        return await finished(app, run_id)


async def test_a_seed_draws_other_tasks_and_the_same_ones_again(tmp_path: Path) -> None:
    box = server("m", answer=doubled)
    write_generated(tmp_path)
    async with opened(tmp_path, {URL: box}) as app:
        await assigned(app, URL)
        runs = [await done(app, RunRequest(("m",), (name,))) for name in ("mixed", "mixed@7", "mixed@8", "mixed@7")]
    assert [run.passed for run in runs] == [2, 2, 2, 2]
    asked = box.asked
    assert asked["Double 4"] == 4
    assert sorted(count for prompt, count in asked.items() if prompt != "Double 4") == [1, 1, 2]


async def test_results_of_one_seed_are_pooled_and_those_of_others_stand_apart(tmp_path: Path) -> None:
    write_generated(tmp_path)
    async with opened(tmp_path, {URL: server("m", answer=doubled)}) as app:
        await assigned(app, URL)
        for name in ("mixed", "mixed@7", "mixed@7"):
            await done(app, RunRequest(("m",), (name,)))
        boards = {name: (await app.leaderboards.query(name)).entries for name in ("mixed", "mixed@7", "mixed@8")}
        assert set(await app.leaderboards.suites_with_results()) == {"mixed", "mixed@7"}
    assert [(entry.row.runs, entry.coverage) for entry in boards["mixed"]] == [(1, 1.0)]
    assert [(entry.row.runs, entry.coverage) for entry in boards["mixed@7"]] == [(2, 1.0)]
    assert not boards["mixed@8"]
    seeds = [boards[name][0].row.manifest["draw_seed"] for name in ("mixed", "mixed@7")]
    assert seeds == [0, 7]


@pytest.mark.parametrize(("name", "kind"), [("mixed@x", InputError), ("sums@7", InputError), ("mixd@7", NotFoundError)])
async def test_what_cannot_be_drawn_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, kind: type[InputError]
) -> None:
    write_generated(tmp_path)
    write_suite(tmp_path, 1)
    async with opened(tmp_path, {URL: server("m", answer=right)}) as app:
        await assigned(app, URL)
        with pytest.raises(kind):
            await app.runs.start(RunRequest(("m",), (name,)))
        assert (await app.runs.page())[1] == 0


def write_long(folder: Path) -> None:
    """The suite ``texts``: tasks of about 10, 2000 and 8000 tokens."""
    own = folder / "tasks" / "texts"
    own.mkdir(parents=True)
    for name, words in (("short", 5), ("middling", 2_000), ("long", 8_000)):
        text = (
            f"PROMPT:\n{'fish ' * (words * 4 // 5)}\nSay 1\n\nVALIDATION:\n```yaml\ntype: exact\nexpected: [ok]\n```\n"
        )
        (own / f"{name}.md").write_text(text, encoding="utf-8")
    head = "- name: texts\n  title: Texts\n  description: Own.\n  version: 1\n  tasks:\n"
    listed = "".join(f"    - texts/{name}\n" for name in ("short", "middling", "long"))
    (folder / "tasks" / "suites.yaml").write_text(head + listed, encoding="utf-8")


def contexts(**lengths: int | None) -> ScriptedServer:
    models = [OfferedModel(name, capabilities=("chat",), context_length=length) for name, length in lengths.items()]
    return ScriptedServer(models, answer=lambda request, times: completion("ok", usage=Usage(9_000, 1)))


async def test_what_is_too_long_for_a_model_is_left_out_and_said_not_failed(tmp_path: Path) -> None:
    write_long(tmp_path)
    async with opened(tmp_path, {URL: contexts(small=4096, large=16_384, unknown=None)}) as app:
        await assigned(app, URL)
        started = await app.runs.start(RunRequest(("small", "large", "unknown"), ("texts",)))
        async with working(app):
            run = await finished(app, started.run.id)
        entries = {entry.row.model: entry for entry in (await app.leaderboards.query("texts")).entries}
    (remark,) = [text for text in started.remarks if "too long" in text]
    assert remark.startswith("left out as too long: 1 of 3 tasks of texts need up to 8")
    assert remark.endswith("tokens of context, small has 4096")
    assert (run.planned, run.passed, run.errors) == (8, 8, 0)
    assert entries["small"].coverage == pytest.approx(2 / 3)
    assert entries["small"].note == "not ranked: only 2 of 3 tasks graded"
    assert entries["small"].row.manifest["tasks_left_out"] == 1
    assert entries["large"].ranked
    assert entries["unknown"].ranked


async def test_the_context_asked_for_counts_instead_of_the_models(tmp_path: Path) -> None:
    write_long(tmp_path)
    async with opened(tmp_path, {URL: contexts(large=16_384)}) as app:
        await assigned(app, URL)
        preview = await app.runs.preview(RunRequest(("large",), ("texts",), sampling=Sampling(context_length=3000)))
    assert preview.attempts == 2


async def test_a_run_of_which_nothing_is_left_is_refused_with_the_reason(tmp_path: Path) -> None:
    write_long(tmp_path)
    suites = tmp_path / "tasks" / "suites.yaml"
    suites.write_text(suites.read_text().replace("    - texts/short\n", ""), encoding="utf-8")
    async with opened(tmp_path, {URL: contexts(tiny=1500)}) as app:
        await assigned(app, URL)
        with pytest.raises(ConflictError, match="Nothing is left to ask: left out as too long: 2 of 2 tasks"):
            await app.runs.start(RunRequest(("tiny",), ("texts",)))
