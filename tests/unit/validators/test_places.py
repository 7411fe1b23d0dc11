"""The folders of candidates: one is used again only when nothing was done to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from llmbench_validators import places
from llmbench_validators.places import Places


def _used(folder: Places, doing: Callable[[str], object]) -> tuple[str, bool]:
    """The path of a folder that something was done in, and whether it was found clean."""
    place = folder.take()
    doing(place.path)
    return place.path, folder.give_back(place)


def _nothing(_path: str) -> None:
    return None


def _made_and_removed(path: str) -> None:
    (Path(path) / "file").write_text("x")
    os.remove(f"{path}/file")


def _set_back(path: str) -> None:
    before = os.stat(path)
    _made_and_removed(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _mode_there_and_back(path: str) -> None:
    os.chmod(path, 0o500)
    os.chmod(path, 0o700)


@pytest.fixture
def exact(tmp_path: Path) -> Places:
    """Folders on a file system where every change shows, as far as this test can tell."""
    made = Places(str(tmp_path))
    made._exact = True
    return made


def test_an_untouched_folder_is_used_again(exact: Places, tmp_path: Path) -> None:
    first, clean = _used(exact, _nothing)
    again, still_clean = _used(exact, _nothing)
    assert clean
    assert still_clean
    assert first == again
    assert os.listdir(tmp_path) == [os.path.basename(first)]


def test_where_changes_may_not_show_every_candidate_gets_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_every_change_shows", lambda _folder: False)
    made = Places(str(tmp_path))
    first, clean = _used(made, _nothing)
    assert clean
    assert os.listdir(tmp_path) == []
    assert _used(made, _nothing)[0] != first


@pytest.mark.parametrize("doing", [_made_and_removed, _set_back, _mode_there_and_back])
def test_a_folder_something_was_done_to_is_not_used_again(tmp_path: Path, doing: Callable[[str], object]) -> None:
    made = Places(str(tmp_path))  # as this file system is
    first, clean = _used(made, doing)
    assert clean
    assert _used(made, _nothing)[0] != first


def test_a_file_left_behind_is_reported(exact: Places) -> None:
    assert not _used(exact, lambda path: Path(path, "left").write_text("x"))[1]


def test_a_file_left_beside_an_untouched_folder_is_reported(exact: Places) -> None:
    assert _used(exact, _nothing)[1]
    assert not _used(exact, lambda path: Path(path).parent.joinpath("left").write_text("x"))[1]


def test_two_candidates_at_once_have_folders_of_their_own(exact: Places, tmp_path: Path) -> None:
    one, other = exact.take(), exact.take()
    assert one.path != other.path
    assert exact.give_back(one)
    assert exact.give_back(other)
    assert len(os.listdir(tmp_path)) == 1


def test_a_folder_that_is_gone_is_no_clean_one(exact: Places) -> None:
    assert not _used(exact, os.rmdir)[1]
    assert _used(exact, _nothing)[1]
