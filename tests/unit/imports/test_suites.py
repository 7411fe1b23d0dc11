"""An import as a suite: samples, marks, versions, names, and that it is there as a whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.errors import ConflictError, InputError, NotFoundError, StorageError, TaskFormatError
from llmbench_mcp.services.imports import Imports
from llmbench_mcp.services.suites import Suites, SuiteView
from llmbench_mcp.services.task_check import check_tasks
from tests.unit.imports.support import DOUBLE, WEATHER, asked, bfcl, lines, run, settings, stored

KNOWN_BAD = {**DOUBLE, "task_id": "HumanEval/116"}


def questions(path: Path, count: int, answer: int = 7) -> Path:
    rows = [{"question": f"How many are {number} things?", "answer": f"#### {answer}"} for number in range(count)]
    return lines(path, *rows)


def names(change: Any) -> list[str]:
    return [item.task_id for item in change.imported.suite.items]


def test_a_sample_depends_on_its_seed_and_on_nothing_else(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 50)
    one = names(run(tmp_path, "gsm8k", file, sample=5, seed=1))
    same = names(run(tmp_path / "other", "gsm8k", file, sample=5, seed=1))
    other = names(run(tmp_path, "gsm8k", file, sample=5, seed=2))

    assert one == same == [f"gsm8k/{number}" for number in ("0020", "0031", "0037", "0038", "0049")]
    assert one != other
    assert one == sorted(one)


def test_a_larger_sample_of_the_same_seed_holds_the_smaller(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 50)
    small = names(run(tmp_path, "gsm8k", file, sample=5, seed=1))
    large = names(run(tmp_path, "gsm8k", file, sample=20, seed=1))

    assert set(small) < set(large)


def test_a_limit_takes_the_first(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 5)

    assert names(run(tmp_path, "gsm8k", file, limit=2)) == ["gsm8k/0000", "gsm8k/0001"]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"sample": 6}, "A sample of 6 was asked of 5 items"),
        ({"sample": 0}, "sample is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"sample": 1, "limit": 1}, "exclude each other"),
        ({"suite": "No Name"}, "cannot be a suite's name"),
        ({"suite": "../up"}, "cannot be a suite's name"),
    ],
)
def test_numbers_and_names_that_cannot_be_are_refused(tmp_path: Path, wish: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 5), **wish)


@pytest.mark.parametrize("name", ["smoke", "coding", "reasoning", "hidden", "custom"])
def test_names_of_what_is_built_in_are_taken(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConflictError, match="--as NAME"):
        run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 1), suite=name)


def test_an_importer_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no importer 'gsm9k'.*gsm8k") as raised:
        run(tmp_path, "gsm9k", questions(tmp_path / "test.jsonl", 1))

    assert raised.value.nearest[0] == "gsm8k"


def test_known_bad_items_are_kept_and_not_asked(tmp_path: Path) -> None:
    change = run(tmp_path, "humaneval", lines(tmp_path / "HumanEval.jsonl", DOUBLE, KNOWN_BAD))
    catalog = Catalog.load(imported=settings(tmp_path).imports_dir)
    suite = catalog.suite("humaneval")

    assert list(stored(change)) == ["7", "116"]
    assert list(change.imported.marked) == ["116"]
    assert [task.id for task in catalog.tasks_of(suite)] == ["humaneval/7"]
    assert catalog.task("humaneval/116").id == "humaneval/116"


def test_known_bad_items_can_be_counted_all_the_same(tmp_path: Path) -> None:
    file = lines(tmp_path / "HumanEval.jsonl", DOUBLE, KNOWN_BAD)

    assert names(run(tmp_path, "humaneval", file, with_marked=True)) == ["humaneval/7", "humaneval/116"]


def test_an_item_of_a_public_set_that_cannot_be_graded_is_marked(tmp_path: Path) -> None:
    folder = bfcl(tmp_path / "bfcl")
    truth = [{"weather.today": {"place": ["Lima"]}}]
    ids = [f"simple_python_{number}" for number in range(30)]
    lines(folder / "BFCL_v4_simple_python.json", *(asked(name, "The weather?") for name in ids))
    rows: list[dict[str, Any]] = [{"id": name, "ground_truth": truth} for name in ids]
    rows[3]["ground_truth"] = [{"weather.today": {"town": ["Lima"]}}]
    lines(folder / "possible_answer" / "BFCL_v4_simple_python.json", *rows)

    change = run(tmp_path, "bfcl", folder, parts=("simple",))

    assert list(change.imported.marked) == ["simple_python_3"]
    assert "no such parameter" in change.imported.marked["simple_python_3"]


def test_a_public_set_with_many_items_that_cannot_be_graded_is_refused(tmp_path: Path) -> None:
    folder = bfcl(tmp_path / "bfcl")
    lines(folder / "BFCL_v4_simple_python.json", asked("a", "?") | {"function": [{**WEATHER, "name": "other"}]})
    lines(folder / "possible_answer" / "BFCL_v4_simple_python.json", {"id": "a", "ground_truth": [{"x": {}}]})

    with pytest.raises(TaskFormatError, match=r"BFCL_v4_simple_python\.json:1: "):
        run(tmp_path, "bfcl", folder, parts=("simple",))


def test_importing_again_changes_the_version_only_when_something_changed(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 3)
    first = run(tmp_path, "gsm8k", file)
    again = run(tmp_path, "gsm8k", file)
    questions(file, 4, answer=8)
    changed = run(tmp_path, "gsm8k", file)

    assert [one.word for one in (first, again, changed)] == ["new", "unchanged", "updated"]
    assert [one.imported.suite.version for one in (first, again, changed)] == [1, 1, 2]
    assert (changed.before, changed.added, changed.changed, changed.removed) == (1, 1, 3, 0)
    assert run(tmp_path, "gsm8k", file, limit=2).removed == 2


def test_another_licence_is_a_change(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 1)
    run(tmp_path, "gsm8k", file)

    assert run(tmp_path, "gsm8k", file, licence="CC0").imported.suite.version == 2


def test_a_suite_tells_where_it_came_from_and_never_a_path_of_this_machine(tmp_path: Path) -> None:
    file = questions(tmp_path / "test.jsonl", 3)
    suite = run(tmp_path, "gsm8k", file, sample=2, seed=9).imported.suite
    origin = SuiteView(suite, ()).origin
    assert origin is not None
    (source,) = origin["sources"]

    assert (suite.licence, origin["licence"], origin["importer"]) == ("MIT", "MIT", "gsm8k")
    assert origin["sample"] == {"size": 2, "seed": 9}
    assert (source["file"], source["rows"], source["bytes"]) == ("test.jsonl", 3, file.stat().st_size)
    assert str(tmp_path) not in json.dumps(origin)


def test_of_many_files_a_manifest_names_the_first_and_a_hash_of_all(tmp_path: Path) -> None:
    for number in range(30):
        lines(tmp_path / "mmlu" / f"s{number}_test.jsonl", {"question": "?", "choices": ["a", "b"], "answer": 0})
    suite = run(tmp_path, "mmlu", tmp_path / "mmlu").imported.suite
    origin = SuiteView(suite, ()).origin
    assert origin is not None

    assert (len(suite.origin or {}), len(origin["sources"])) == (len(origin) - 1, 20)
    assert len(origin["sources_sha256"]) == 64


def test_a_failed_import_leaves_the_suite_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = questions(tmp_path / "test.jsonl", 3)
    before = run(tmp_path, "gsm8k", file).imported.path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    questions(file, 4)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        run(tmp_path, "gsm8k", file)

    folder = settings(tmp_path).imports_dir
    assert [entry.name for entry in folder.iterdir()] == ["gsm8k.jsonl"]
    assert (folder / "gsm8k.jsonl").read_bytes() == before


def test_only_its_owner_can_read_what_was_imported(tmp_path: Path) -> None:
    path = run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 1)).imported.path

    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_an_import_shows_in_a_catalog_that_was_loaded_before(tmp_path: Path) -> None:
    catalog = Catalog.load(imported=settings(tmp_path).imports_dir)
    with pytest.raises(NotFoundError):
        catalog.suite("gsm8k")
    run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 2))

    assert len(catalog.tasks_of(catalog.suite("gsm8k"))) == 2
    Imports(settings(tmp_path)).remove("gsm8k")
    assert "gsm8k" not in [suite.name for suite in catalog.suites()]


async def test_an_update_shows_in_a_program_that_has_used_the_suite(tmp_path: Path) -> None:
    suites = Suites(lambda: Catalog.load(imported=settings(tmp_path).imports_dir))
    file = questions(tmp_path / "test.jsonl", 2)
    run(tmp_path, "gsm8k", file)
    before = await suites.get("gsm8k")
    run(tmp_path, "gsm8k", questions(file, 3))
    after = await suites.get("gsm8k")

    assert [(view.suite.version, len(view.tasks)) for view in (before, after)] == [(1, 2), (2, 3)]
    assert [head.version for head in await suites.heads() if head.name == "gsm8k"] == [2]


def test_a_list_of_suites_reads_no_task(tmp_path: Path) -> None:
    path = run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 2)).imported.path
    head = path.read_bytes().partition(b"\n")[0]
    path.write_bytes(head + b"\nno task at all\n")
    catalog = Catalog.load(imported=path.parent)

    suite = catalog.suites()[-1]

    assert (suite.name, len(suite.items)) == ("gsm8k", 2)
    with pytest.raises(TaskFormatError, match=r"gsm8k\.jsonl:2: is no valid JSON"):
        catalog.tasks_of(suite)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 9}', '{"format": 1}', '{"format": 1, "suite": []}'])
def test_a_broken_file_hides_no_other_suite_and_can_be_replaced_or_removed(tmp_path: Path, text: str) -> None:
    file = questions(tmp_path / "test.jsonl", 2)
    good = run(tmp_path, "gsm8k", file).imported.path
    bad = good.with_name("bad.jsonl")
    bad.write_text(text, encoding="utf-8")
    imports = Imports(settings(tmp_path))

    scan = imports.scan()

    assert [one.suite.name for one in scan.suites] == ["gsm8k"]
    assert len(scan.problems) == 1
    assert str(bad) in str(scan.problems[0])
    assert run(tmp_path, "gsm8k", file, suite="bad").word == "new"
    bad.write_text(text, encoding="utf-8")
    assert imports.remove("bad").suite.name == "bad"
    assert not bad.exists()


def test_a_built_in_suite_goes_before_an_imported_one_of_its_name(tmp_path: Path) -> None:
    path = run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 2)).imported.path
    os.replace(path, path.with_name("smoke.jsonl"))
    catalog = Catalog.load(imported=path.parent)

    assert catalog.suite("smoke").origin is None
    assert [suite.name for suite in catalog.suites()].count("smoke") == 1


def test_imported_tasks_can_be_checked_by_name_and_by_file(tmp_path: Path) -> None:
    path = run(tmp_path, "gsm8k", questions(tmp_path / "test.jsonl", 2)).imported.path
    sound = check_tasks([Path("gsm8k")], settings(tmp_path))
    path.write_text(path.read_text().replace('"expected_answer":"7"', '"expected_answer":"8"', 1), encoding="utf-8")
    wrong = check_tasks([path], settings(tmp_path))

    assert (sound.tasks, sound.problems) == (2, ())
    (problem,) = wrong.problems
    assert (problem.path, problem.line) == (str(path), 2)
    assert "gsm8k/0000: the right answer does not pass" in problem.what


def test_every_importer_can_be_loaded_and_says_its_licence() -> None:
    from llmbench_mcp.catalog.importers import registry

    found = {name: registry.importer(name) for name in registry.names()}

    assert {"humaneval", "mbpp", "gsm8k", "math500", "bfcl", "ifeval", "arc", "mmlu", "bbh"} < set(found)
    assert all(one.licence and one.title and one.description for one in found.values())
