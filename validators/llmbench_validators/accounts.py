"""The account that candidate processes run as. In a module of its own, for looking one up loads a good many libraries,
and every one of them would make every fork slower."""

from __future__ import annotations

import os
import sys

_FIRST_SPARE_UID, _SPARE_UIDS, _NOBODY = 60_000, 5_000, 65_534


def spare_uid() -> int | None:
    """An account number nobody uses when we are root, else None (an ordinary account cannot change)."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_uid for entry in pwd.getpwall()}
    wanted = _FIRST_SPARE_UID + os.getpid() % _SPARE_UIDS
    while wanted in known:
        wanted += 1
    return wanted if _mapped(wanted) else _NOBODY if _mapped(_NOBODY) else None


def _mapped(uid: int) -> bool:
    try:
        with open("/proc/self/uid_map", encoding="ascii") as table:
            rows = [[int(n) for n in line.split()] for line in table]
    except (OSError, ValueError):
        return False
    return any(inside <= uid < inside + count for inside, _outside, count in rows)
