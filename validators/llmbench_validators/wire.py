"""Frames between the sandbox's processes, and plain data inside them.

A frame is a 4-byte big-endian length and UTF-8 JSON. Values travel as tagged JSON: ``null``, booleans, short
integers, strings and lists stand for themselves, everything else is a one-key object named by its tag. The
decoder builds builtin types only, so nothing of the sender's own classes can reach the receiver.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import marshal
import os
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the process that candidates are forked from does without it
    import socket

MAX_REPLY = 8 << 20
"""Bytes a candidate's reply may take, header included; an honest sender keeps to it."""
PLAIN = "plain"
"""The key of an object whose value is JSON as it is, without tags."""
MAX_DEPTH = 80
MAX_ITEMS = 2_000_000
_SAFE_INT = 1 << 53
_HEADER = struct.Struct("!I")
_PIECE, _MOST_PIECES = 1 << 16, 16
_FIRST_PIECE = 1 << 13
_decoder = json.JSONDecoder()
_scan: Callable[[str, int], tuple[Any, int]] = vars(_decoder)["scan_once"]


class NotPlain(TypeError):
    """The value is no plain data; ``args[0]`` is the name of its type."""


class Malformed(ValueError):
    """The bytes are no frame of this protocol."""


class TooLarge(ValueError):
    """The frame or value is over the size, depth or item limit."""


class Closed(EOFError):
    """The other end closed the channel."""


# --- plain data -> JSON


def encode(value: Any, depth: int = 0) -> Any:
    """JSON-ready form of ``value``. Subclasses of builtins travel as their base.

    Raises NotPlain for other objects and TooLarge for nesting over MAX_DEPTH.
    """
    if depth > MAX_DEPTH:
        raise TooLarge(f"nested deeper than {MAX_DEPTH}")
    kind = type(value)
    if value is None or kind is bool or kind is str or (kind is int and -_SAFE_INT < value < _SAFE_INT):
        return value
    writer = _WRITERS.get(kind) or _inherited_writer(kind)
    if writer is None:
        raise NotPlain(kind.__name__)
    return writer(value, depth + 1)


def _items(values: Any, depth: int) -> list[Any]:
    if depth > MAX_DEPTH:
        return [encode(item, depth) for item in values]  # raises, unless there are none
    return [
        item
        if item is None
        or (kind := type(item)) is str
        or kind is bool
        or (kind is int and -_SAFE_INT < item < _SAFE_INT)
        else encode(item, depth)
        for item in values
    ]


def _write_int(value: int, _depth: int) -> Any:
    plain = int.__index__(value)
    return plain if -_SAFE_INT < plain < _SAFE_INT else {"i": hex(plain)}


def _write_dict(value: dict[Any, Any], depth: int) -> Any:
    return {"d": [[encode(k, depth), encode(v, depth)] for k, v in dict.items(value)]}


def _write_iterator(value: Iterator[Any], depth: int) -> Any:
    taken: list[Any] = []
    for item in value:
        if len(taken) >= MAX_ITEMS:
            raise TooLarge(f"an iterator of more than {MAX_ITEMS} items")
        taken.append(encode(item, depth))
    return {"g": taken}


_Writer = Callable[[Any, int], Any]
_WRITERS: dict[type, _Writer] = {
    int: _write_int,
    float: lambda v, _: {"f": float.hex(v)},
    str: lambda v, _: str.__str__(v),
    list: lambda v, d: _items(list.__iter__(v), d),
    tuple: lambda v, d: {"t": _items(tuple.__iter__(v), d)},
    set: lambda v, d: {"s": _items(set.__iter__(v), d)},
    frozenset: lambda v, d: {"z": _items(frozenset.__iter__(v), d)},
    dict: _write_dict,
    bytes: lambda v, _: {"b": bytes.hex(v)},
    bytearray: lambda v, _: {"a": bytearray.hex(v)},
    complex: lambda v, _: {"c": [v.real.hex(), v.imag.hex()]},
    range: lambda v, _: {"r": [v.start, v.stop, v.step]},
}
# By name, so that a process loads these modules only when it meets such a value.
_RARE: dict[tuple[str, str], _Writer] = {
    ("decimal", "Decimal"): lambda v, _: {"n": str(v)},
    ("fractions", "Fraction"): lambda v, _: {"q": [hex(v.numerator), hex(v.denominator)]},
    ("datetime", "date"): lambda v, _: {"day": v.isoformat()},
    ("datetime", "datetime"): lambda v, _: {"time": v.isoformat()},
}
_BASES = (int, float, str, list, tuple, set, frozenset, dict, bytes)
_SAMPLES: tuple[Any, ...] = ([], (), {}, set(), "", range(0))
_ITERATORS = {
    *(type(iter(sample)) for sample in _SAMPLES),
    *(map, filter, zip, enumerate, reversed, type({}.keys()), type({}.values()), type({}.items())),
    *(type(_ for _ in ()), type(reversed([]))),
}


def _inherited_writer(kind: type) -> _Writer | None:
    if kind in _ITERATORS:
        return _write_iterator
    for base in _BASES:
        if issubclass(kind, base):
            return _WRITERS[base]
    return _RARE.get((kind.__module__, kind.__qualname__))


def _rare(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


# --- JSON -> plain data


def decode(data: Any) -> Any:
    """The value :func:`encode` stood for. Raises Malformed for anything it never writes."""
    kind = type(data)
    if kind is list:
        return [decode(item) if (kind := type(item)) is list or kind is dict else item for item in data]
    if kind is not dict:
        return data
    if len(data) != 1:
        raise Malformed("a tagged value has one key")
    ((tag, body),) = data.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise Malformed("unknown tag")
    try:
        return reader(body)
    except (TypeError, ValueError, ArithmeticError, AttributeError) as exc:
        raise Malformed(f"bad {tag} value") from exc


_READERS: dict[str, Callable[[Any], Any]] = {
    "i": lambda b: int(b, 16),
    "f": lambda b: float.fromhex(b),
    "t": lambda b: tuple(decode(b)),
    "s": lambda b: set(decode(b)),
    "z": lambda b: frozenset(decode(b)),
    "d": lambda b: {decode(k): decode(v) for k, v in b},
    "b": lambda b: bytes.fromhex(b),
    "a": lambda b: bytearray.fromhex(b),
    "c": lambda b: complex(float.fromhex(b[0]), float.fromhex(b[1])),
    "r": lambda b: range(*b),
    "g": lambda b: iter(decode(b)),
    "n": lambda b: _rare("decimal", "Decimal")(b),
    "q": lambda b: _rare("fractions", "Fraction")(int(b[0], 16), int(b[1], 16)),
    "day": lambda b: _rare("datetime", "date").fromisoformat(b),
    "time": lambda b: _rare("datetime", "datetime").fromisoformat(b),
}


# --- frames


def pack(message: Any) -> bytes:
    """``message`` (JSON-ready) as one frame."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return _HEADER.pack(len(body)) + body


def unpack(body: bytes) -> Any:
    """The message in a frame's body. Raises Malformed."""
    try:
        return _from_json(body.decode())
    except (ValueError, RecursionError) as exc:
        raise Malformed("no JSON") from exc


def _from_json(text: str) -> Any:
    try:
        message, end = _scan(text, 0)  # what decode does, without looking for white space around it
    except StopIteration:
        end = -1
    return message if end == len(text) else _decoder.decode(text)


def send(channel: socket.socket, message: Any) -> None:
    """Write one frame. Raises OSError when the other end is gone."""
    channel.sendall(pack(message))


def receive(channel: socket.socket, limit: int, wait: Callable[[], None] | None = None) -> Any:
    """Read one frame of at most ``limit`` bytes; ``wait`` is called before each read and may raise.

    Raises Closed, Malformed or TooLarge.
    """
    (size,) = _HEADER.unpack(_exactly(channel, _HEADER.size, wait))
    if size > limit:
        raise TooLarge(f"a frame of {size} bytes, at most {limit} are read")
    return unpack(_exactly(channel, size, wait))


# --- what only the trusted side sends


def pack_trusted(message: Any) -> bytes:
    """``message`` as a frame for a candidate process: marshalled, which is quick and may hold code objects."""
    body = marshal.dumps(message)
    return _HEADER.pack(len(body)) + body


def receive_trusted(descriptor: int) -> Any:
    """The message of one frame of :func:`pack_trusted`; never for bytes a candidate can have written.

    There must be no second frame before the first is answered. Raises Closed.
    """
    data: bytes | bytearray = os.read(descriptor, _FIRST_PIECE)
    size = 4 + int.from_bytes(data[:4], "big")
    if len(data) < size or len(data) < 4:
        data = _completed(bytearray(data), descriptor)
    return marshal.loads(memoryview(data)[4:])  # noqa: S302 - see above


def _completed(data: bytearray, descriptor: int) -> bytearray:
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        part = os.read(descriptor, 1 << 20)
        if not part:
            raise Closed("the channel was closed")
        data += part
    return data


def send_trusted(channel: socket.socket, message: Any) -> None:
    """Write plain data as one frame for a process that trusts us. Raises OSError when the other end is gone."""
    try:
        body = marshal.dumps(message)
    except ValueError:  # a date, a decimal number, a subclass
        body = _TAGGED + json.dumps(encode(message), separators=(",", ":")).encode()
    channel.sendall(_HEADER.pack(len(body)) + body)


_TAGGED = b"\0"
"""What tells the other form from marshalled data, which never begins with a zero byte (it would be no object)."""


def load_trusted(body: bytes) -> Any:
    """The message in the body of a frame of :func:`send_trusted`; for no other sender's."""
    if body.startswith(_TAGGED):
        return decode(unpack(body[1:]))
    return marshal.loads(body)  # noqa: S302 - see above


class Mailbox:
    """The frames of a channel that takes turns: one message, one answer. They are read with few calls."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def take(self, limit: int) -> bytes:
        """The body of the next frame, of at most ``limit`` bytes. Raises Closed or TooLarge."""
        data = bytearray(self._part(_PIECE))
        while len(data) < _HEADER.size:
            data += self._part(_PIECE)
        (size,) = _HEADER.unpack_from(data)
        if size > limit:
            raise TooLarge(f"a frame of {size} bytes, at most {limit} are read")
        while (missing := size + _HEADER.size - len(data)) > 0:
            data += self._part(min(missing, 1 << 20))
        return bytes(memoryview(data)[_HEADER.size :])

    def _part(self, most: int) -> bytes:
        try:
            part = self._channel.recv(most)
        except ConnectionError:
            part = b""
        if not part:
            raise Closed("the channel was closed")
        return part


class Inbox:
    """Frames on a descriptor that does not block, read in larger pieces than one frame."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = bytearray()

    @property
    def partial(self) -> bool:
        """Whether the beginning of a frame is here."""
        return bool(self._held)

    @property
    def complete(self) -> bool:
        """Whether a whole frame is here."""
        held = len(self._held)
        return held >= _HEADER.size and held >= _HEADER.size + int(_HEADER.unpack_from(self._held)[0])

    def take(self, limit: int) -> bytes | None:
        """The body of the next frame, of at most ``limit`` bytes; None when it is not here. Raises TooLarge."""
        held = self._held
        if len(held) < _HEADER.size:
            return None
        (size,) = _HEADER.unpack_from(held)
        if size > limit:
            raise TooLarge(f"a frame of {size} bytes, at most {limit} are read")
        end = _HEADER.size + size
        if len(held) < end:
            return None
        body = bytes(held[_HEADER.size : end])
        del held[:end]
        return body

    def read(self) -> bool:
        """Read what there is, or a good part of it; whether it was anything."""
        found = False
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_PIECES):  # the other end may write as fast as we read
                part = os.read(self._descriptor, _PIECE)
                self._held += part
                found = found or bool(part)
                if len(part) < _PIECE:
                    break
        return found


def _exactly(channel: socket.socket, count: int, wait: Callable[[], None] | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        if wait is not None:
            wait()
        try:
            part = channel.recv(min(count - len(parts), 1 << 20))
        except ConnectionError:
            part = b""
        if not part:
            raise Closed("the channel was closed")
        parts += part
    return bytes(parts)
