"""Server-sent events from bytes, however the network cut them.

Format: WHATWG HTML, "Server-sent events": lines end with LF, CR LF or CR and nothing else (not U+2028, not
U+0085); a line starting with a colon is a comment; an empty line ends an event.
"""

from __future__ import annotations

from llmbench_mcp.domain.errors import ProtocolError

EVENT_BYTES = 1024 * 1024
_BETWEEN = b"\n\ndata: "


class SseParser:
    """Feed it reads, take the ``data`` of finished events. Other fields are ignored."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Data of the events this read completed. Raises ProtocolError when one grows beyond EVENT_BYTES."""
        events: list[bytes] = []
        if self._after_cr or b"\r" in chunk or len(chunk) > EVENT_BYTES:
            self._any(chunk, events)
            return events
        begin = 0
        if not self.between:
            found = chunk.find(b"\n\n")
            begin = len(chunk) if found < 0 else found + 2
            self._lines(chunk[:begin], events)
        end = chunk.rfind(b"\n\n", begin)
        if end >= 0:
            self._blocks(chunk[begin:end], events)
            begin = end + 2
        if begin < len(chunk):
            self._lines(chunk[begin:], events)
        return events

    def close(self) -> list[bytes]:
        """Data of the event that the end of the stream left unfinished, if any."""
        events: list[bytes] = []
        self._end_line(events)
        self._dispatch(events)
        return events

    @property
    def between(self) -> bool:
        """Whether all that came was whole events."""
        return self._started and not self._line and not self._data and not self._after_cr

    def _blocks(self, text: bytes, events: list[bytes]) -> None:
        """Whole events, LF only; nearly always each is one line of data."""
        self._size = 0
        if text.startswith(b"data: ") and text.count(b"\n") == 2 * text.count(_BETWEEN):  # no other line than those
            events += text[6:].split(_BETWEEN)
            return
        for block in text.split(b"\n\n"):
            if block.startswith(b"data: ") and b"\n" not in block:
                events.append(block[6:])
            else:
                self._lines(block + b"\n\n", events)

    def _any(self, chunk: bytes, events: list[bytes]) -> None:
        """Any of the three line ends, or much at once."""
        if chunk:
            ends_in_cr = chunk.endswith(b"\r")
            chunk = chunk.removeprefix(b"\n") if self._after_cr else chunk
            self._after_cr = ends_in_cr
        self._lines(chunk, events)

    def _lines(self, chunk: bytes, events: list[bytes]) -> None:
        for line in chunk.splitlines(keepends=True):
            self._grow(len(line))
            self._line.append(line)
            if line.endswith((b"\n", b"\r")):
                self._end_line(events)

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > EVENT_BYTES:
            raise ProtocolError(f"The server sent a stream event of more than {EVENT_BYTES} bytes.")

    def _end_line(self, events: list[bytes]) -> None:
        line = b"".join(self._line).rstrip(b"\r\n")
        self._line.clear()
        if not self._started:
            self._started = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            self._dispatch(events)
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not self._data:
            self._size = 0  # comments and other fields do not add up

    def _dispatch(self, events: list[bytes]) -> None:
        if self._data:
            events.append(b"\n".join(self._data))
            self._data.clear()
        self._size = 0
