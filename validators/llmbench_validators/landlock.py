"""Landlock by raw system calls: which files a candidate process may still touch (linux/landlock.h, ABI 1 to 7)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from llmbench_validators import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = 1 | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_MAKE_DEVICES = (1 << 6) | (1 << 11)
_FIRST_RIGHTS = (1 << 13) - 1
_ADDED_RIGHTS = {2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEV}
_TCP = 0b11
_SCOPES = 0b11  # abstract Unix sockets, signals

READ = _READ_FILE | _READ_DIR
LIST = _READ_DIR
READ_WRITE_FILE = _READ_FILE | _WRITE_FILE
OWN_FOLDER = ~(1 | _MAKE_DEVICES)
"""Everything below a folder except running programs and making devices."""


def abi() -> int:
    """The kernel's Landlock version, 0 when it has none."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _QUERY_VERSION)
    except OSError:
        return 0


def _handled(version: int) -> int:
    rights = _FIRST_RIGHTS
    for since, bit in _ADDED_RIGHTS.items():
        rights |= bit if version >= since else 0
    return rights


def ruleset(grants: Iterable[tuple[str, int]]) -> int:
    """A ruleset that denies every file access but ``grants`` (path, rights), TCP and outside signals too.

    Paths that do not exist are left out. Returns a descriptor; raises OSError where Landlock is missing.
    """
    version = abi()
    attributes = struct.pack("QQQ", _handled(version), _TCP, _SCOPES)
    size = 8 if version < 4 else 16 if version < 6 else 24
    descriptor = kernel.syscall(_CREATE_RULESET, attributes[:size], size, 0)
    for path, rights in grants:
        _allow(descriptor, path, rights & _handled(version))
    return descriptor


def _allow(descriptor: int, path: str, rights: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        if rights:
            kernel.syscall(_ADD_RULE, descriptor, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, target), 0)
    finally:
        os.close(target)


def restrict(descriptor: int) -> None:
    """Put this process and its later children under the ruleset. Needs no_new_privs. Raises OSError."""
    kernel.syscall(_RESTRICT_SELF, descriptor, 0)
