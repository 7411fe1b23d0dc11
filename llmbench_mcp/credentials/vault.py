"""Keys in an encrypted file, for machines without a keyring. Everything here blocks.

Two files in a folder of their own: ``vault.key`` holds a Fernet key, ``vault`` one Fernet token over all keys
(AES-128-CBC with HMAC-SHA256, https://github.com/fyber/spec). Who can read both can read the keys: what protects them
is that only their owner may, and that neither alone is of use, in a backup for example.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from llmbench_mcp.domain.errors import StorageBusy, StorageError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_LOCK_S = 10.0
_POLL_S = 0.02
_MOST_BYTES = 4 * 1024 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Vault:
    """Keys by slot. Several processes may use one folder at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "vault"
        self._key_path = folder / "vault.key"

    def get(self, slot: str) -> str | None:
        """The key under ``slot``, None when there is none. Raises StorageError."""
        return self._keys().get(slot)

    def put(self, slot: str, key: str) -> None:
        """Keep ``key`` under ``slot``. Raises StorageError; then nothing was changed."""
        with self._changing() as keys:
            keys[slot] = key

    def delete(self, slot: str) -> None:
        """Take the key under ``slot`` away, if it is there. Raises StorageError; then nothing was changed."""
        if slot in self._keys():
            with self._changing() as keys:
                keys.pop(slot, None)

    def _keys(self) -> dict[str, str]:
        with _mapped(self.path):
            if not (self._folder.is_dir() and (self.path.exists() or self.path.is_symlink())):
                return {}
            _check_folder(self._folder)
            return self._opened(_read(self.path))

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """All keys, to be changed: written back at the block's end, while no other process can."""
        with _mapped(self.path):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_folder(self._folder)
            with _locked(self._folder / "lock"):
                keys = self._keys()
                yield keys
                _replace(self.path, self._fernet(makes=not self.path.exists()).encrypt(_packed(keys)))

    def _opened(self, token: bytes) -> dict[str, str]:
        from cryptography.fernet import InvalidToken

        try:
            keys = json.loads(self._fernet().decrypt(token))["keys"]
            return {str(slot): str(key) for slot, key in keys.items()}
        except (InvalidToken, ValueError, TypeError, KeyError, AttributeError):
            raise self._damaged() from None

    def _fernet(self, makes: bool = False) -> Fernet:
        from cryptography.fernet import Fernet

        if makes and not self._key_path.exists():
            _replace(self._key_path, Fernet.generate_key())
        try:
            return Fernet(_read(self._key_path).strip())
        except (ValueError, FileNotFoundError):
            raise self._damaged() from None

    def _damaged(self) -> StorageError:
        return StorageError(
            f"The vault {self.path} cannot be opened: it is damaged, or {self._key_path.name} is not its key file.",
            "Nothing was changed. Put both files back from a backup, or move both away and enter the keys anew.",
        )


def _packed(keys: dict[str, str]) -> bytes:
    return json.dumps({"version": 1, "keys": keys}).encode("ascii")


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The vault {path} cannot be used: {error.strerror}.", "Free the disk or mend the permissions."
        ) from error


def _check_folder(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise StorageError(f"{folder} is no folder of its own.", "Move it away; a new one is made.")
    _check_owner(folder, found, "700")


def _read(path: Path) -> bytes:
    # Not through a link, and not waiting for the other end of a pipe that somebody put there.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StorageError(f"{path} is no ordinary file.", "Move it away.")
        _check_owner(path, found, "600")
        return file.read(_MOST_BYTES)


def _check_owner(path: Path, found: os.stat_result, mode: str) -> None:
    if found.st_uid != os.geteuid():
        raise StorageError(f"{path} belongs to another user.", "Run this program as its owner.")
    if found.st_mode & _OTHERS:
        raise StorageError(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):o}).",
            f"If nobody can have read it, run: chmod {mode} '{path}'. Otherwise renew the keys, too.",
        )


def _replace(path: Path, content: bytes) -> None:
    """Put a file in place whole or not at all, and lastingly."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:  # also an interrupt leaves no half-written key behind; raised on
        with suppress(OSError):
            draft.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the folder's lock: the system takes it back from a process that dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise StorageBusy(f"Another process holds {path}.", "Try again shortly.") from None
            time.sleep(_POLL_S)
