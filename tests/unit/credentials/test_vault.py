from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from llmbench_mcp.credentials.vault import Vault
from llmbench_mcp.domain.errors import StorageError

KEY = "zz-LIVE-7f3a9c51d2e8"
_WRITER = """
import sys
from pathlib import Path
from llmbench_mcp.credentials.vault import Vault
folder, who = Path(sys.argv[1]), sys.argv[2]
for number in range(15):
    Vault(folder).put(f"{who}/{number}", f"key-{who}-{number}")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "credentials"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_key_is_given_back_by_whoever_opens_the_vault_next(folder: Path) -> None:
    Vault(folder).put("a/1", KEY)
    Vault(folder).put("b/1", KEY + "b")
    assert (Vault(folder).get("a/1"), Vault(folder).get("b/1"), Vault(folder).get("c/1")) == (KEY, KEY + "b", None)
    Vault(folder).delete("a/1")
    Vault(folder).delete("never/there")
    assert (Vault(folder).get("a/1"), Vault(folder).get("b/1")) == (None, KEY + "b")


def test_a_vault_that_was_never_used_is_empty_and_is_not_made_by_looking(folder: Path) -> None:
    assert Vault(folder).get("a/1") is None
    Vault(folder).delete("a/1")
    assert not folder.exists()


def test_neither_file_holds_the_key_and_only_the_owner_reads_them(folder: Path) -> None:
    before = os.umask(0)
    try:
        Vault(folder).put("a/1", KEY)
    finally:
        os.umask(before)
    assert {path.name: mode(path) for path in folder.iterdir()} == {"vault": 0o600, "vault.key": 0o600, "lock": 0o600}
    assert mode(folder) == 0o700
    assert all(KEY.encode() not in path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize(("name", "told"), [("vault", "600"), ("vault.key", "600"), (".", "700")])
def test_what_others_may_read_is_refused_with_how_to_mend_it(folder: Path, name: str, told: str) -> None:
    vault = Vault(folder)
    vault.put("a/1", KEY)
    (folder / name).chmod(0o755 if name == "." else 0o640)
    for attempt in (partial(vault.get, "a/1"), partial(vault.put, "b/1", KEY)):
        with pytest.raises(StorageError, match=f"open to other users.*chmod {told}"):
            attempt()
    (folder / name).chmod(int(told, 8))
    assert vault.get("a/1") == KEY


@pytest.mark.parametrize("damage", [b"", b"garbage", b"gAAAAABm" + b"A" * 80])
@pytest.mark.parametrize("name", ["vault", "vault.key"])
def test_a_damaged_vault_is_told_and_never_written_over(folder: Path, name: str, damage: bytes) -> None:
    vault = Vault(folder)
    vault.put("a/1", KEY)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(damage)
    for attempt in (partial(vault.get, "a/1"), partial(vault.put, "b/1", KEY), partial(vault.delete, "a/1")):
        with pytest.raises(StorageError, match=r"cannot be opened.*Nothing was changed"):
            attempt()
    assert (folder / name).read_bytes() == damage
    (folder / name).write_bytes(whole)
    assert vault.get("a/1") == KEY


def test_a_vault_without_its_key_file_is_told_and_gets_no_new_one(folder: Path) -> None:
    vault = Vault(folder)
    vault.put("a/1", KEY)
    (folder / "vault.key").unlink()
    with pytest.raises(StorageError, match="cannot be opened"):
        vault.put("b/1", KEY)
    assert not (folder / "vault.key").exists()


@pytest.mark.parametrize("name", ["vault", "vault.key", "lock"])
def test_a_link_in_place_of_a_file_is_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    vault = Vault(folder)
    vault.put("a/1", KEY)
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        vault.put("b/1", KEY)


def test_a_pipe_in_place_of_a_file_holds_nobody_up(folder: Path) -> None:
    Vault(folder).put("a/1", KEY)
    (folder / "vault").unlink()
    os.mkfifo(folder / "vault", 0o600)
    with pytest.raises(StorageError, match="no ordinary file"):
        Vault(folder).get("a/1")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be used"):
        Vault(tmp_path / "data" / "credentials").put("a/1", KEY)


def test_processes_that_write_at_the_same_time_lose_nothing(folder: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(folder), who]) for who in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    vault = Vault(folder)
    assert {vault.get(f"{who}/{n}") for who in "abc" for n in range(15)} == {
        f"key-{who}-{n}" for who in "abc" for n in range(15)
    }
    assert {path.name for path in folder.iterdir()} == {"vault", "vault.key", "lock"}
