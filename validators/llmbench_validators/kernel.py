"""The few Linux calls the standard library does not wrap: prctl, capset, syscall by number (ctypes, no headers)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import struct
import sys
from collections.abc import Callable
from typing import cast

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522

LINUX = sys.platform == "linux"

_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None
_forker = ctypes.PyDLL(None, use_errno=True) if LINUX else None  # keeps the interpreter lock held


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _library() -> ctypes.CDLL:
    if _libc is None:
        raise OSError(38, f"no Linux system calls on {sys.platform}")
    return _libc


def prctl(option: int, *arguments: int) -> int:
    """``prctl(2)`` with up to four unsigned long arguments. Raises OSError."""
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return _checked(_library().prctl(option, *(ctypes.c_ulong(a) for a in padded)), f"prctl {option}")


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """A raw system call; integers travel as long, bytes as a pointer. Raises OSError."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_library().syscall(ctypes.c_long(number), *converted), f"syscall {number}")


def install_seccomp(program: bytes) -> None:
    """Load a classic BPF ``program`` (8 bytes an instruction) as this thread's filter. Raises OSError."""
    _checked(seccomp_installer(program, ())(0), "seccomp")


def seccomp_installer(program: bytes, offsets: tuple[int, ...]) -> Callable[[int], int]:
    """A function that writes its argument into ``program`` at ``offsets`` and installs it; negative when refused.

    Everything it needs is prepared here: a page that a forked process touches first is a page it has to copy.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    call = prepared("prctl", PR_SET_SECCOMP, 2, header, 0, 0)
    put = struct.Struct("=I").pack_into

    def install(value: int) -> int:
        for offset in offsets:
            put(buffer, offset, value)
        return call()

    return install


def prepared(name: str, *arguments: int | bytes) -> Callable[[], int]:
    """A call of the C function of that name; numbers are passed as long, bytes as a pointer to a copy of them.

    See :func:`quick`. Everything is converted here, so that the call itself writes to few pages.
    """
    kept = [ctypes.create_string_buffer(a, len(a)) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    return functools.partial(quick(name), *kept)


def quick(name: str) -> Callable[..., int]:
    """The C function of that name, called with the interpreter lock held: only for a process of one thread.

    Giving the lock back and taking it again costs more than most calls. A failure is in ``ctypes.get_errno``.
    """
    if _forker is None:
        raise OSError(38, f"no Linux calls on {sys.platform}")
    return cast("Callable[..., int]", getattr(_forker, name))


def last_error() -> int:
    """The error number of the last call made with :func:`quick` or :func:`prepared`."""
    return ctypes.get_errno()


def forker() -> Callable[[], int]:
    """``fork(2)`` without Python's hooks after it; only for a process of one thread. Negative when it fails.

    The hooks put the interpreter's locks in order, of which one thread has none taken, and seed ``random`` anew,
    which would make answers that use it a matter of luck. They cost as much as the call itself.
    """
    return os.fork if _forker is None else prepared("fork")


def give_back_memory() -> None:
    """Return what the C library holds and does not use, for a fork has to copy the tables of that too."""
    with contextlib.suppress(AttributeError, OSError):
        quick("malloc_trim")(0)


def keep_capabilities(mask: int) -> None:
    """Reduce this process's capabilities to the bits of ``mask``, none inheritable. Raises OSError."""
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    data = struct.pack("6I", low, low, 0, high, high, 0)
    _checked(_library().capset(header, data), "capset")


def death_wish() -> Callable[[], int]:
    """A function asking the kernel to kill the calling process when the thread that started it ends.

    Prepared like :func:`seccomp_installer`; a no-op off Linux.
    """
    return prepared("prctl", PR_SET_PDEATHSIG, 9, 0, 0, 0) if LINUX else lambda: 0
