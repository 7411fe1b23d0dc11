"""No room and no leave to write: what is said, what can still be read, and that nothing is asked meanwhile."""

from __future__ import annotations

import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llmbench_mcp.domain.chat import ChatRequest, Completion
from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.run import RunRequest
from llmbench_mcp.testing.scripted import completion
from tests.store.support import OLD_DATA, answer, grade, graded, make_run, old_database, stores, tasks
from tests.support.rooms import assigned, opened, server, write_suite
from tests.support.waiting import until
from tests.support.work import URL, finished, right, working

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


@contextmanager
def no_file_grows(folder: Path) -> Iterator[None]:
    """As under a quota: no file may grow beyond 16 kB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def disk_fills_up(folder: Path) -> Iterator[None]:
    """Somebody else's file takes the space, all but some kilobytes."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        file.truncate(0)
        while (free := shutil.disk_usage(folder).free) > 64 * 1024:
            file.write(bytes(min(free - 32 * 1024, MIB)))
            file.flush()
    try:
        yield
    finally:
        filler.unlink()


class Disk(NamedTuple):
    """A folder, and how its space is taken away."""

    folder: Path
    taken: Callable[[Path], AbstractContextManager[None]]


def may_mount() -> bool:
    """Whether a small file system can be made here; where not, limits stand for it."""
    if os.getuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=False, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
    return True


@pytest.fixture(params=["file size limit", "full disk"] if may_mount() else ["file size limit"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if request.param == "file size limit":
        yield Disk(tmp_path, no_file_grows)
        return
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(folder)], check=True)
    try:
        yield Disk(folder, disk_fills_up)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def test_a_write_without_room_names_file_and_remedy_and_works_again_with_room(disk: Disk) -> None:
    path = disk.folder / "llmbench.db"
    async with stores(path) as all_:
        run_id = await make_run(all_.runs, asked=tasks(40), repeats=4)
        (row,) = await all_.database.all("run_jobs", run_id)
        waiting = await all_.work.next_attempts(row["id"], 1000)
        ended = iter(graded(one, grade(), answer(os.urandom(3000).hex())) for one in waiting)
        with disk.taken(disk.folder):
            with pytest.raises(StorageError) as caught:
                for outcome in ended:
                    await all_.work.finish(outcome)
            with pytest.raises(StorageError, match=r"llmbench\.db.*work (then )?goes on by itself"):
                await all_.database.check_room()
            before = await all_.runs.get(run_id)
        await all_.database.check_room()
        assert await all_.work.finish(next(ended))
        after = await all_.runs.get(run_id)
    assert str(path) in str(caught.value)
    assert "MiB free" in str(caught.value)
    assert before is not None
    assert after is not None
    assert after.done == before.done + 1


async def test_a_run_without_room_asks_nothing_and_goes_on_by_itself(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    taken = disk.taken(disk.folder)
    asked_before: list[int] = []

    def reply(request: ChatRequest, times: int) -> Completion:
        if request.prompt.strip().endswith(" 3") and not times:
            taken.__enter__()
            asked_before.append(sum(box.asked.values()))
            return completion(os.urandom(40_000).hex())
        return right(request, times)

    def waits() -> int:
        return sum("waits" in record.message for record in caplog.records if record.levelno >= logging.ERROR)

    box = server("a", answer=reply)
    write_suite(disk.folder, 8)
    async with opened(disk.folder, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id

        async def was_held_back_often() -> bool:
            return waits() >= 3

        await until(was_held_back_often)
        meanwhile = await app.runs.status(run_id)
        listed, _ = await app.runs.page()
        asked_meanwhile = sum(box.asked.values())
        taken.__exit__(None, None, None)
        run = await finished(app, run_id)
    assert not meanwhile.is_over
    assert [one.id for one in listed] == [run_id]
    assert asked_meanwhile <= asked_before[0] + 1
    assert (run.state, run.done, run.planned) == ("completed", 8, 8)
    # Only what had been asked and could not be kept is asked again, and that once: grading may be a few answers behind.
    assert max(box.asked.values()) <= 2
    assert sum(box.asked.values()) <= 8 + asked_meanwhile


async def test_a_run_on_a_disk_that_is_nearly_full_is_paused_with_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [MIB]
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=free[0]))
    box = server("a", answer=right)
    write_suite(tmp_path, 3)
    async with opened(tmp_path, {URL: box}) as app, working(app):
        await assigned(app, URL)
        run_id = (await app.runs.start(RunRequest(("a",), ("sums",)))).run.id

        async def paused() -> bool:
            return (await app.runs.get(run_id)).state == "paused"

        await until(paused)
        run = await app.runs.get(run_id)
        assert sum(box.asked.values()) == 0
        free[0] = 1 << 40
        assert (await finished(app, run_id)).state == "completed"
    assert run.reason is not None
    assert f"{tmp_path / 'data'}" in run.reason
    assert "(1.0 MiB free)" in run.reason
    assert "goes on by itself" in run.reason


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """A folder that other users can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="llmbench-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


async def a_database(path: Path) -> str:
    async with stores(path) as all_:
        return await make_run(all_.runs)


def looked_at(path: Path, run_id: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.store.reader", str(path), run_id]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


async def test_a_read_only_database_can_be_looked_at_and_says_why_it_is_not_written(readable_folder: Path) -> None:
    path = readable_folder / "llmbench.db"
    run_id = await a_database(path)
    path.chmod(0o444)
    readable_folder.chmod(0o777)
    found = looked_at(path, run_id)
    assert (found["state"], found["listed"], found["attempts"]) == ("queued", 1, 3)
    for said in (found["refused"], found["trouble"]):
        assert str(path) in said
        assert "Make the folder and file writable" in said


async def test_a_database_in_a_read_only_folder_can_be_looked_at(readable_folder: Path) -> None:
    path = readable_folder / "llmbench.db"
    run_id = await a_database(path)
    path.chmod(0o644)
    readable_folder.chmod(0o555)
    found = looked_at(path, run_id)
    assert (found["state"], found["listed"], found["attempts"]) == ("queued", 1, 3)
    assert str(path) in found["refused"]
    assert "Make the folder and file writable" in found["refused"]


async def test_an_older_database_that_cannot_be_migrated_is_named(readable_folder: Path) -> None:
    path = readable_folder / "llmbench.db"
    old_database(path, OLD_DATA / "v0002.sql")
    path.chmod(0o444)
    readable_folder.chmod(0o555)
    said = looked_at(path, "run_more")["opened"]
    assert str(path) in said
    assert "Make the folder and file writable" in said
    assert [file.name for file in readable_folder.iterdir()] == ["llmbench.db"]
