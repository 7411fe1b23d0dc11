"""What a candidate process gives up before it sees any code: user, files, system calls, memory, time."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

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


class Plan(NamedTuple):
    """What is in force in this process and its children, and what each candidate process still has to do.

    ``uid`` is the account changed to (None: stayed), ``size`` the bytes of address space at the start,
    ``filter_calls`` installs the candidate's own system call filter (None: there is none here).
    """

    uid: int | None
    landlock: bool
    filter_calls: Callable[[int], int] | None
    size: int | None


class Limits(NamedTuple):
    """Budgets of one candidate process: bytes of address space beyond the start, seconds of CPU."""

    memory_bytes: int
    cpu_seconds: int


def settle(folder: str, uid: int | None) -> Plan:
    """Give up, for good, all that no candidate may have; ``folder`` stays the only writable place.

    ``uid`` is the account to become, where we are root.
    Done once, in the process candidates are forked from, so that each of them costs only what is its own.
    """
    size = _address_space()
    if not kernel.LINUX:
        _set_fixed_limits(alone=False)
        return Plan(None, False, None, size)
    ruleset = _ruleset(folder)
    uid = _other_account(folder, uid, landlocked=ruleset is not None)
    _set_fixed_limits(alone=uid is not None)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if ruleset is not None:
        landlock.restrict(ruleset)
        os.close(ruleset)
    return Plan(uid, ruleset is not None, _filter(), size)


def open_house() -> Plan:
    """Nothing given up: for measuring what the isolation costs, never for code of others."""
    return Plan(None, False, None, None)


def _filter() -> Callable[[int], int] | None:
    """Install the shared system call filter; returns the installer of the candidates' own, None where forbidden."""
    if not seccomp.supported():
        return None
    try:
        kernel.install_seccomp(seccomp.shared())
    except OSError:  # some containers forbid it
        return None
    return kernel.seccomp_installer(*seccomp.own())


def _other_account(folder: str, uid: int | None, *, landlocked: bool) -> int | None:
    """Become account ``uid``, where we are root and may; root that may not loses its capabilities."""
    reachable = all(_world_readable(path) for path in (*_own_paths(), os.path.dirname(folder)))
    if uid is not None and (reachable or landlocked):  # only Landlock makes it safe to keep the right to read
        try:
            os.chown(folder, uid, uid)
            _change_account(uid, 0 if reachable else 1 << kernel.CAP_DAC_READ_SEARCH)
        except PermissionError:  # a container that took the capability away from its root
            os.chown(folder, os.geteuid(), os.getegid())
        else:
            return uid
    if os.geteuid() == 0:
        kernel.keep_capabilities(0)
    return None


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


def _change_account(uid: int, capabilities: int) -> None:
    """Become ``uid`` with no more than ``capabilities``."""
    if capabilities:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.keep_capabilities(capabilities)


def _set_fixed_limits(*, alone: bool) -> None:
    _set_limit("RLIMIT_FSIZE", MAX_FILE_BYTES)
    _set_limit("RLIMIT_NOFILE", MAX_FILES)
    _set_limit("RLIMIT_CORE", 0)
    # The count is per account: one shared with the user's own processes would be over a small limit already.
    _set_limit("RLIMIT_NPROC", MAX_TASKS if alone else 1024)


def preparation(plan: Plan, limits: Limits, arrive: Iterable[Callable[[], int]]) -> Callable[[], None]:
    """What a candidate process does first: the steps of ``arrive``, then its own limits and the system call filter.

    Raises OSError there, where a step gives a negative number. Made before the fork, and one flat function, so that
    the process itself touches as little as possible.
    """
    wanted = [("RLIMIT_CPU", limits.cpu_seconds, 1)]  # the soft limit's signal tells time from other deaths
    if plan.size is not None:
        wanted.append(("RLIMIT_AS", plan.size + limits.memory_bytes, 0))
    settings = [_limiter(*setting) for entry in wanted if (setting := _setting(*entry)) is not None]
    steps, optional = tuple(arrive), (*settings, kernel.death_wish())
    filter_calls, own_number = plan.filter_calls, os.getpid

    def prepare() -> None:
        for step in steps:
            if step() < 0:
                raise OSError(kernel.last_error(), "a candidate process could not be set up")
        for step in optional:
            step()
        if filter_calls is not None and filter_calls(own_number()) < 0:
            raise OSError("the system call filter was refused")

    return prepare


def _limiter(number: int, pair: tuple[int, int]) -> Callable[[], int]:
    """Sets a limit, or not: some platforms know one and refuse it; the start-up probe lowers the level then."""
    if kernel.LINUX:
        return kernel.prepared("setrlimit", number, struct.pack("LL", *pair))

    def set_limit() -> int:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(number, pair)
        return 0

    return set_limit


def _set_limit(name: str, value: int) -> None:
    setting = _setting(name, value)
    if setting is not None:
        try:
            resource.setrlimit(*setting)
        except (ValueError, OSError):
            return  # as in _limiter


def _setting(name: str, value: int, slack: int = 0) -> tuple[int, tuple[int, int]] | None:
    """The limit's number and its soft and hard value, neither above what is in force; None where it is unknown."""
    number = getattr(resource, name, None)
    if number is None:
        return None
    hard = resource.getrlimit(number)[1]
    top = value + slack if hard == resource.RLIM_INFINITY else min(value + slack, hard)
    return number, (min(value, top), top)


def _address_space() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as table:
            return int(table.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
