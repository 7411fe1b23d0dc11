"""What a candidate process gives up before it sees any code: user, files, system calls, memory, time."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from llmbench_validators import kernel, landlock, seccomp

try:
    import resource
except ImportError:  # no POSIX
    resource = None  # type: ignore[assignment]

MAX_FILE_BYTES = 16 << 20
MAX_FILES = 64
MAX_TASKS = 64
_FOREIGN_PACKAGES = frozenset({"site-packages", "dist-packages"})
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_DATA = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
_FIRST_SPARE_UID, _SPARE_UIDS, _NOBODY = 60_000, 5_000, 65_534


@dataclass(frozen=True, slots=True)
class Plan:
    """What this machine lets us enforce, prepared once and applied in every candidate process.

    ``uid`` is the account to change to (None: stay), ``ruleset`` a Landlock descriptor (None: no Landlock),
    ``capabilities`` the bit mask that survives the change of account.
    """

    uid: int | None
    ruleset: int | None
    capabilities: int
    filtered: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of one candidate process: bytes of address space beyond the start, seconds of CPU."""

    memory_bytes: int
    cpu_seconds: int


def prepare(folder: str) -> Plan:
    """The strictest plan possible here, with ``folder`` as the only place a candidate may write."""
    ruleset = _ruleset(folder)
    uid = spare_uid()
    capabilities = 0
    if uid is not None and not all(_world_readable(path) for path in _own_paths()):
        if ruleset is None:  # only Landlock makes it safe to keep the right to read
            uid = None
        else:
            capabilities = 1 << kernel.CAP_DAC_READ_SEARCH
    return Plan(uid, ruleset, capabilities, kernel.LINUX and seccomp.supported())


def spare_uid() -> int | None:
    """An account number nobody uses when we are root, else None (an ordinary account cannot change)."""
    if not kernel.LINUX or os.geteuid() != 0:
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


def _own_paths() -> list[str]:
    """Where the interpreter's own modules are (the search path was reduced to them before)."""
    return [path for path in sys.path if path]


def _world_readable(path: str) -> bool:
    path = os.path.realpath(path)
    if not os.path.exists(path):
        return True
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def _ruleset(folder: str) -> int | None:
    try:
        return landlock.ruleset(_grants(folder))
    except OSError:
        return None


def _grants(folder: str) -> Iterator[tuple[str, int]]:
    yield folder, landlock.OWN_FOLDER
    for device in _DEVICES:
        yield device, landlock.READ_WRITE_FILE
    for path in _DATA:
        yield path, landlock.READ
    for path in _own_paths():
        yield from _inside(os.path.realpath(path), modules=True)
    own = [os.path.join(prefix, "lib") for prefix in {sys.base_prefix, sys.base_exec_prefix}]
    for path in {os.path.realpath(p) for p in (*_LIBRARIES, *own)}:
        yield from _inside(path, modules=False)


def _inside(folder: str, *, modules: bool) -> Iterator[tuple[str, int]]:
    """Read rights for what lies in ``folder``, never for other people's packages below it."""
    if not os.path.isdir(folder):
        yield folder, landlock.READ
        return
    yield folder, landlock.LIST
    with os.scandir(folder) as entries:
        for entry in entries:
            foreign = entry.name in _FOREIGN_PACKAGES or (not modules and entry.name.startswith("python"))
            if not foreign and os.path.realpath(entry.path).startswith(folder + os.sep):
                yield entry.path, landlock.READ


# --- in the candidate process


def apply(plan: Plan, limits: Limits) -> None:
    """Give everything up, for good. Raises OSError when a part of the plan cannot be kept."""
    _set_limits(limits, alone=plan.uid is not None)
    if not kernel.LINUX:
        return
    if plan.uid is not None:
        _change_account(plan.uid, plan.capabilities)
    elif os.geteuid() == 0:
        kernel.keep_capabilities(0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.die_with_parent()  # after the change of account, which clears it
    if plan.ruleset is not None:
        landlock.restrict(plan.ruleset)
        os.close(plan.ruleset)
    if plan.filtered:
        kernel.install_seccomp(seccomp.program(os.getpid()))


def _change_account(uid: int, capabilities: int) -> None:
    if capabilities:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.keep_capabilities(capabilities)


def _set_limits(limits: Limits, *, alone: bool) -> None:
    wanted = {
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": MAX_FILE_BYTES,
        "RLIMIT_NOFILE": MAX_FILES,
        "RLIMIT_CORE": 0,
        # The count is per account: an account shared with the user's own processes would be over it already.
        "RLIMIT_NPROC": MAX_TASKS if alone else 1024,
    }
    size = _address_space()
    if size is not None:
        wanted["RLIMIT_AS"] = size + limits.memory_bytes
    for name, value in wanted.items():
        _set_limit(name, value)


def _set_limit(name: str, value: int) -> None:
    number = getattr(resource, name, None)
    if number is None:
        return
    hard = resource.getrlimit(number)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    slack = 1 if name == "RLIMIT_CPU" else 0  # the soft limit's signal tells time from other deaths
    try:
        resource.setrlimit(number, (value, value + slack if hard == resource.RLIM_INFINITY else value))
    except (ValueError, OSError):
        return  # some platforms know a limit and refuse it; the start-up probe lowers the level then


def _address_space() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as table:
            return int(table.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
