"""A text file of the catalog: read within bounds, and able to say where in it something is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.text import one_line

MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text with Unix line ends and no byte-order mark. ``path`` is for messages."""

    path: str
    text: str

    def error(self, line: int, what: str, next_step: str = "") -> TaskFormatError:
        """The error that says ``path:line: what``; lines count from 1."""
        return TaskFormatError(f"{self.path}:{line}: {what}", next_step)


def read_source(file: Traversable) -> Source:
    """Read one UTF-8 file of at most ``MAX_BYTES``; raises TaskFormatError."""
    blank = Source(str(file), "")
    raw = _read_bytes(file, blank)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise blank.error(line, "is not UTF-8 text.", "Save the file as UTF-8.") from error
    return Source(str(file), text.replace("\r\n", "\n").replace("\r", "\n"))


def _read_bytes(file: Traversable, blank: Source) -> bytes:
    try:
        with file.open("rb") as stream:
            raw: bytes = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise blank.error(1, f"cannot be read: {error.strerror or error}.") from error
    if len(raw) > MAX_BYTES:
        raise blank.error(1, f"is larger than {MAX_BYTES} bytes.", "Split it or shorten its tests.")
    return raw


def quoted(text: object) -> str:
    """Text of the file made safe and short for a message."""
    return repr(one_line(str(text), 60))


def listed(names: Iterable[str]) -> str:
    """Names in their order, joined for a message."""
    return ", ".join(names)
