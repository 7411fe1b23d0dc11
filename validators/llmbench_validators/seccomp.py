"""The system call filters of a candidate process, as classic BPF bytes (no libseccomp).

Two are stacked, and the stricter answer of the two holds: a long one that the process candidates are forked from
puts on itself, once, and a short one for what that process still needs. Installing a filter costs time for every
instruction in it.

Instruction layout: ``struct sock_filter`` (u16 code, u8 jt, u8 jf, u32 k) of linux/filter.h; data offsets are
those of ``struct seccomp_data`` (nr 0, arch 4, args from 16, little endian).
Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

import os
import struct

# name: (x86_64, aarch64); None where the architecture has no such call.
_NUMBERS: dict[str, tuple[int, int | None]] = {
    # network
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    # other programs and processes
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "kcmp": (312, 272),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "tkill": (200, 130),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # scheduling beyond one's share
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    # memory that the address-space limit does not count, or that outlives the process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "userfaultfd": (323, 282),
    # the machine
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
}
# What the forking process does itself.
_OWN_NUMBERS: dict[str, tuple[int, int | None]] = {"setsid": (112, 157), "setpgid": (109, 154)}
# Allowed only for the process itself, or only to start threads.
_OWN_PID = {"kill": (62, 129), "tgkill": (234, 131)}
_CLONE, _CLONE3, _PRLIMIT = (56, 220), (435, 435), (302, 261)

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x10000
_EPERM, _ENOSYS = 1, 38

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARG0 = 0, 4, 16
_INSTRUCTION = 8


def supported() -> bool:
    """Whether the system call numbers of this machine's architecture are known."""
    return os.uname().machine in _AUDIT_ARCH


def _op(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, jump_true, jump_false, value)


def _refuse(number: int, error: int = _EPERM) -> bytes:
    return _op(_EQUAL, number, 0, 1) + _op(_RETURN, _ERROR | error)


def _refuse_all(table: dict[str, tuple[int, int | None]], column: int) -> bytes:
    numbers = [row[column] for row in table.values()]
    return b"".join(_refuse(number) for number in numbers if number is not None)


def _only_when(number: int, test: int, value: int) -> bytes:
    """Call ``number`` is allowed when its first argument passes ``test`` against ``value``, else refused."""
    return (
        _op(_EQUAL, number, 0, 4)
        + _op(_LOAD, _ARG0)
        + _op(test, value, 1, 0)
        + _op(_RETURN, _ERROR | _EPERM)
        + _op(_RETURN, _ALLOW)
    )


def shared(machine: str | None = None) -> bytes:
    """The filter for the forking process and all its children: no network, other programs or kernel surface.

    Threads, files, timers, pipes and ``socketpair`` (asyncio needs it) stay. Raises KeyError for an
    architecture that :func:`supported` does not know.
    """
    machine = machine or os.uname().machine
    column = _COLUMN[machine]
    head = _op(_LOAD, _ARCH) + _op(_EQUAL, _AUDIT_ARCH[machine], 1, 0) + _op(_RETURN, _KILL) + _op(_LOAD, _NR)
    if machine == "x86_64":  # the x32 table offers the same calls under other numbers
        head += _op(_AT_LEAST, _X32_BIT, 0, 1) + _op(_RETURN, _ERROR | _ENOSYS)
    clone3 = _refuse(_CLONE3[column], _ENOSYS)  # the C library then falls back to clone, which can be looked into
    own_limits = _only_when(_PRLIMIT[column], _EQUAL, 0)
    return head + clone3 + own_limits + _refuse_all(_NUMBERS, column) + _op(_RETURN, _ALLOW)


def own(machine: str | None = None) -> tuple[bytes, tuple[int, ...]]:
    """The filter for one candidate, upon the shared one: no process but itself, no signal but to itself.

    Returns it with the offsets at which its own process number has to be written (4 bytes, native order).
    Raises KeyError as :func:`shared`.
    """
    column = _COLUMN[machine or os.uname().machine]
    program = _op(_LOAD, _NR)
    offsets = []
    for numbers in _OWN_PID.values():
        offsets.append(len(program) + 2 * _INSTRUCTION + 4)  # the value that the third instruction compares with
        program += _only_when(numbers[column], _EQUAL, 0)
    program += _only_when(_CLONE[column], _ANY_BIT, _CLONE_THREAD)
    return program + _refuse_all(_OWN_NUMBERS, column) + _op(_RETURN, _ALLOW), tuple(offsets)
