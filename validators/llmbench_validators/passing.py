"""Messages of a fixed size that bring descriptors with them, read without the ``socket`` module.

That module and what it loads would make every fork slower, and each page the reading touches is one the process
candidates are forked from has to copy after each of them; so on Linux it is one prepared call.
Layout: ``struct msghdr``, ``struct iovec`` and ``struct cmsghdr`` of linux/socket.h, with words of 8 bytes.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import sys
from collections.abc import Callable

from llmbench_validators import kernel

Receive = Callable[[], tuple[bytes, tuple[int, ...]]]
"""The next message, shorter than it should be at the end, and the descriptors that came with it. Raises OSError."""

_HEAD = struct.calcsize("QII")  # of a control message: its length, level and type


def receiver(channel: int, size: int, count: int) -> Receive:
    """A function that reads messages of ``size`` bytes with none or ``count`` descriptors from a Unix socket."""
    if kernel.LINUX and sys.maxsize > 1 << 32:
        return _prepared(channel, size, count)
    return _portable(channel, size, count)


def _prepared(channel: int, size: int, count: int) -> Receive:
    numbers = struct.Struct(f"={count}i")
    whole = _HEAD + numbers.size
    body = ctypes.create_string_buffer(size)
    ancillary = ctypes.create_string_buffer(whole + 8)
    piece = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(body), size), 16)
    room = (ctypes.addressof(piece), 1, ctypes.addressof(ancillary), len(ancillary), 0)
    header = struct.pack("QQQQQQQ", 0, 0, *room)
    holder = ctypes.create_string_buffer(header, len(header))
    filled = ctypes.c_uint64.from_buffer(holder, 40)  # msg_controllen, which says how much of it there is
    call = kernel.quick("recvmsg")
    arguments = (channel, ctypes.c_void_p(ctypes.addressof(holder)), 0)

    def receive() -> tuple[bytes, tuple[int, ...]]:
        filled.value = len(ancillary)
        while (length := call(*arguments)) < 0:
            if (number := ctypes.get_errno()) != errno.EINTR:
                raise OSError(number, "the control channel failed")
        passed = numbers.unpack_from(ancillary, _HEAD) if filled.value >= whole else ()
        return body.raw[:length], passed

    receive.__dict__["kept"] = body, ancillary, piece, holder  # the kernel writes to them when it is called
    return receive


def _portable(channel: int, size: int, count: int) -> Receive:
    import socket

    numbers = struct.Struct(f"={count}i")
    control = socket.socket(fileno=channel)

    def receive() -> tuple[bytes, tuple[int, ...]]:
        data, told, _flags, _address = control.recvmsg(size, socket.CMSG_SPACE(numbers.size))
        return data, numbers.unpack(told[0][2]) if told else ()

    receive.__dict__["kept"] = control
    return receive
