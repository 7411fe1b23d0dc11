"""SQLite's errors as the domain's, naming the file and the remedy; and whether there is room to write at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llmbench_mcp.domain.errors import InputError, StorageBusy, StorageError

LEAST_FREE = 8 << 20
"""Bytes that must be free before work goes on: some answers, and a write-ahead log until its next checkpoint."""

_TRIAL = 1 << 20
_REMEDY = "Make the folder and file writable, or set LLMBENCH_DATA_DIR to a folder you can write."


@contextmanager
def mapped_errors(path: Path) -> Iterator[None]:
    """Turn sqlite3's errors into the domain's, naming the file and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _operational(error, path) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            "A value cannot be stored: half of a character pair, or a number beyond 64 bits.", "Send another."
        ) from error
    except UnicodeDecodeError as error:
        raise _damaged(error, path) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise _damaged(error, path) from error


def trouble(path: Path) -> StorageError | None:
    """What keeps the database from being written, as far as can be seen without writing; None: nothing."""
    free = _free(path)
    if free is not None and free < LEAST_FREE:
        return full(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        what = "file is missing or" if not os.access(path, os.W_OK) else "folder is"
        return StorageError(f"The database {path} cannot be written: its {what} read-only.", _REMEDY)
    return None


def try_writing(path: Path) -> None:
    """Write and remove a file of 1 MiB beside the database: finds quotas and limits that no free space shows.

    Raises:
        StorageError: it could not be written.
    """
    trial = path.with_name(f"{path.name}.trial")
    try:
        with trial.open("wb") as file:
            file.write(bytes(_TRIAL))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(
            f"The folder of the database {path} cannot be written: {error.strerror}{_space(path)}.",
            "Free disk space there, or make it writable; work then goes on by itself.",
        ) from error
    finally:
        trial.unlink(missing_ok=True)


def full(path: Path) -> StorageError:
    """No space, with what there is."""
    return StorageError(
        f"No space is left for the database {path}{_space(path)}.",
        f"Free at least {LEAST_FREE >> 20} MiB there; work then goes on by itself.",
    )


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return None


def _space(path: Path) -> str:
    free = _free(path)
    return "" if free is None else f" ({free / (1 << 20):.1f} MiB free)"


def _damaged(error: Exception, path: Path) -> StorageError:
    return StorageError(
        f"The file {path} is not a usable database: {error}.", "Move it away and start again, or restore a backup."
    )


def _operational(error: sqlite3.OperationalError, path: Path) -> StorageError:
    text = str(error)
    free = _free(path)
    if "full" in text or ("disk I/O" in text and free is not None and free < LEAST_FREE):
        return full(path)
    if "decode" in text:
        return _damaged(error, path)
    if "locked" in text or "busy" in text:
        return StorageBusy(f"The database {path} stayed locked by another process.", "Try again shortly.")
    if "disk I/O" in text:
        return StorageError(
            f"The database {path} cannot be read or written: {text}{_space(path)}.",
            "Look at the disk, its quota and the file size limit (ulimit -f); work goes on by itself after that.",
        )
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return StorageError(f"The database {path} cannot be opened for writing: {text}.", _REMEDY)
    return StorageError(f"The database {path} refused a statement: {text}.", "Please report this.")
