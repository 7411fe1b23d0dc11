"""A laptop with 48 GB of unified memory and four models of 28 GB: the exam, one model after the other.

The answers are those of ``tests/suites/exam``: good ones, broken ones, and one that never comes to an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.app import App, Doors, open_app
from llmbench_mcp.backends.registry import EntryPointBackends
from llmbench_mcp.domain.run import Run, RunRequest
from llmbench_mcp.services.endpoints import NewEndpoint
from llmbench_mcp.services.models import ModelFilter
from llmbench_mcp.store.attempts import AttemptFilter
from llmbench_mcp.testing.clocks import FastClock
from llmbench_mcp.testing.fake_lmstudio import LOAD, UNLOAD, FakeLMStudio
from llmbench_mcp.testing.fake_lmstudio_models import StudioModel
from llmbench_mcp.testing.fake_server import CHAT, Received
from llmbench_mcp.testing.simulated_gpu import GB, SimulatedDevices, SimulatedGpu
from tests.suites.test_exam import COVERAGE, FULL, TASKS, Sample, samples, tasks
from tests.support.rooms import refuse_credentials, settings_in
from tests.support.waiting import until
from tests.support.work import is_in_state, working
from tests.unit.validators.code_support import needs_full_isolation

pytestmark = [needs_full_isolation, pytest.mark.timeout(300)]

MODELS = ("amber-28b", "birch-28b", "cedar-28b", "dune-28b")
SIZE, MEMORY = 28 * GB, 48 * GB
BROKEN = {
    "birch-28b": {"lfu_cache": "a test that fails", "mcp_server": "a truth is an id"},
    "cedar-28b": {
        "lfu_cache": "everybody loads",
        "webhook_receiver": "no signature is good enough",
        "automation_script": "a rule may lead out",
        "data_pipeline": "all lines are read first",
        "speech_client": "the key is in the error",
        "mcp_server": "one tool after the other",
    },
}
LIMITS = ("lease_s", "total_timeout_s", "stall_timeout_s", "load_timeout_s", "release_wait_s")
PATIENT = dict.fromkeys(LIMITS, 20_000.0)
"""The clock is fast and grading is real: no limit may be reached for that."""
ENDLESS = {"lfu_cache", "webhook_receiver", "data_pipeline", "mcp_server"}
"""What ``dune`` begins again and again."""
AGAIN = "Wait, the module can still be improved a little: rename the helper, then look at the locks once more.\n"


def task_of(prompt: str) -> str | None:
    """Which of the six a prompt is; None for a warm-up."""
    return next((name for name, task in tasks().items() if task.prompt.strip() == prompt.strip()), None)


def sample_of(model: str, task: str) -> Sample | None:
    wanted = BROKEN.get(model, {}).get(task)
    return next((one for one in samples() if (one.task, one.name) == (task, wanted)), None)


def answer(request: Received) -> str | None:
    """What the model of that request writes."""
    task = task_of(request.prompt)
    if task is None:
        return None
    if request.model == "dune-28b" and task in ENDLESS:
        return "Here is a first version.\n" + AGAIN * 400
    reference = str(tasks()[task].validation["reference_solution"])
    sample = sample_of(request.model, task)
    return sample.answer(reference) if sample else reference


class Laptop:
    """LM Studio on memory that processor and GPU share, and the application beside it, on one fast clock."""

    def __init__(self) -> None:
        self.clock = FastClock(15)  # not faster: the program's own looks of 5 s must outlast real grading beside them
        self.memory = SimulatedGpu(MEMORY, clock=self.clock)
        models = [StudioModel(name, SIZE, load_s=20.0) for name in MODELS]
        self.studio = FakeLMStudio(models, answer, gpu=self.memory)
        self.studio.timings.unload_s, self.studio.timings.memory_back_s = 3.0, 1.0

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[App]:
        (folder / "tasks").mkdir()
        backends, devices = EntryPointBackends(clock=self.clock), SimulatedDevices([self.memory])
        doors = Doors(self.clock, backends, devices, refuse_credentials, spawns_executors=False)
        async with self.studio, open_app(settings_in(folder, **PATIENT), doors) as app, working(app):
            await app.endpoints.add(NewEndpoint(self.studio.url, "studio", device=self.memory.id))
            await app.models.discover()
            models, _ = await app.models.page(ModelFilter(endpoint="studio"))
            for model in models:
                await app.models.assign(model.id, "studio")
            yield app


async def test_the_exam_on_four_models_that_never_meet_in_memory(tmp_path: Path) -> None:
    laptop = Laptop()
    async with laptop.opened(tmp_path) as app:
        started = await app.runs.start(RunRequest(MODELS, ("exam",)))
        await until(lambda: is_in_state(app, started.run.id, "completed"), 240)
        run = await app.runs.get(started.run.id)
        assert (run.done, run.errors) == (24, 0), [job.reason for job in run.jobs]
        one_after_the_other(laptop)
        await the_pillars_are_as_the_answers_deserve(app, run)
        await the_pages_tell_what_went_right_and_wrong(app, run)


def one_after_the_other(laptop: Laptop) -> None:
    """Each model was loaded once, asked everything while it was there, and gone before the next came."""
    studio = laptop.studio
    assert Counter(name for _, name in studio.memory.loads) == dict.fromkeys(MODELS, 1)
    assert (studio.count(LOAD), studio.count(UNLOAD), studio.loaded_ids) == (4, 4, [])
    assert laptop.memory.together(GB) == []
    asked = [request for request in studio.requests if request.path == CHAT and task_of(request.prompt)]
    turns = [(model, list(group)) for model, group in groupby(asked, lambda request: request.model)]
    assert [model for model, _ in turns] == [name for _, name in studio.memory.loads]
    for _, requests in turns:
        assert {task_of(request.prompt) for request in requests} == set(TASKS)
    assert {request.body["max_tokens"] for request in asked} == {16_384}


async def the_pillars_are_as_the_answers_deserve(app: App, run: Run) -> None:
    """Twenty points for every pillar but those an answer breaks; the endless ones are cut and called so."""
    records, _ = await app.runs.results(run.id, AttemptFilter(), limit=100)
    found: dict[tuple[str, str], dict[str, Any]] = {
        (record.model, record.task_id.partition("/")[2]): dict(record.facts) for record in records
    }
    assert len(found) == 24
    for (model, task), facts in found.items():
        if model == "dune-28b" and task in ENDLESS:
            assert (facts["failure"], facts["score"]) == ("loop", 0.0)
            continue
        sample, pillars = sample_of(model, task), facts["subscores"]
        assert facts["passed"] is (sample is None), facts
        assert set(pillars) == set(tasks()[task].validation["pillars"])
        wanted = sample.scores if sample else dict.fromkeys(pillars, FULL)
        told = {name: points for name, points in pillars.items() if name != COVERAGE}
        assert told == {name: wanted[name] for name in told}


async def the_pages_tell_what_went_right_and_wrong(app: App, run: Run) -> None:
    page = await app.reports.html(run.id)
    for model in MODELS:
        assert model in page
    for pillar in ("transactional isolation", "replay and idempotence", "dry run", "streaming and memory", "handshake"):
        assert pillar in page
    for heading in ("Pillars", "What went right", "What went wrong", "Recommended use"):
        assert page.count(heading) >= len(MODELS)
    assert "loop" in page
