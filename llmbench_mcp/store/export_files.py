"""A file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from llmbench_mcp.domain.errors import StorageError
from llmbench_mcp.domain.ids import new_id


class WholeFile:
    """Written beside its target, under another name until it is complete; only its owner may read it.

    Every method blocks: call it in a thread. All raise StorageError.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._part = target.with_name(f".{target.name[:80]}.{new_id('part')}")
        self._file: BinaryIO | None = None

    def open(self) -> BinaryIO:
        """Begin; makes the folder where it is missing."""
        with mapped_errors(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            number = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            self._file = os.fdopen(number, "wb", buffering=1 << 18)
        return self._file

    def settle(self) -> None:
        """Bring it to disk whole; all that is left to do is to give it its name."""
        assert self._file is not None, "opened before"
        with mapped_errors(self.target):
            if not self._file.closed:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()

    def commit(self) -> int:
        """Give it its name; returns its size in bytes."""
        self.settle()
        with mapped_errors(self.target):
            size = self._part.stat().st_size
            self._part.replace(self.target)
        return size

    def discard(self) -> None:
        """Leave nothing of what was not committed."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)


@contextmanager
def mapped_errors(target: Path) -> Iterator[None]:
    """The system's refusals as ours, naming the file and the remedy."""
    try:
        yield
    except OSError as error:
        remedy = "Choose another place, or make that one writable."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            remedy = "Free space there, or export less; nothing was left behind."
        why = error.strerror or str(error)
        raise StorageError(f"The export {target} cannot be written: {why}.", remedy) from error
