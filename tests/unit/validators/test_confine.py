from __future__ import annotations

import struct

import pytest
from llmbench_validators import seccomp

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OWN = 4711


def outcome(program: bytes, arch: int, number: int, argument: int) -> int:
    """What the kernel would do with a call, by the rules of classic BPF."""
    data = struct.pack("<IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    code = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator = at = 0
    while True:
        operation, jump_true, jump_false, value = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return int(value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += jump_true if holds else jump_false


def decision(arch: int, machine: str, number: int, argument: int = 0) -> int:
    """What the two stacked filters come to: the kernel takes the stricter answer."""
    own, offsets = seccomp.own(machine)
    program = bytearray(own)
    for offset in offsets:
        struct.pack_into("=I", program, offset, OWN)
    answers = {outcome(filters, arch, number, argument) for filters in (seccomp.shared(machine), bytes(program))}
    return next(answer for answer in (KILL, EPERM, ENOSYS, ALLOW) if answer in answers)


# read, futex, mmap, openat, socketpair, getrandom
HARMLESS = {"x86_64": (0, 202, 9, 257, 53, 318), "aarch64": (63, 98, 222, 56, 199, 278)}
# socket, execve, ptrace, unshare, bpf, io_uring_setup, memfd_create, setsid
FORBIDDEN = {"x86_64": (41, 59, 101, 272, 321, 425, 319, 112), "aarch64": (198, 221, 117, 97, 280, 425, 279, 157)}
NAMED = {"x86_64": {"clone": 56, "clone3": 435, "kill": 62, "prlimit": 302}}
NAMED["aarch64"] = {"clone": 220, "clone3": 435, "kill": 129, "prlimit": 261}


@pytest.mark.parametrize("machine", ARCHES)
def test_the_filter_lets_harmless_calls_through_and_refuses_the_others(machine: str) -> None:
    arch = ARCHES[machine]

    assert {decision(arch, machine, number) for number in HARMLESS[machine]} == {ALLOW}
    assert {decision(arch, machine, number) for number in FORBIDDEN[machine]} == {EPERM}


@pytest.mark.parametrize("machine", ARCHES)
def test_threads_may_start_but_processes_may_not(machine: str) -> None:
    arch, named = ARCHES[machine], NAMED[machine]

    assert decision(arch, machine, named["clone"], 0x10000 | 0x100) == ALLOW
    assert decision(arch, machine, named["clone"], 17) == EPERM
    assert decision(arch, machine, named["clone3"]) == ENOSYS


@pytest.mark.parametrize("machine", ARCHES)
def test_signals_and_limits_reach_the_process_itself_only(machine: str) -> None:
    arch, named = ARCHES[machine], NAMED[machine]

    assert decision(arch, machine, named["kill"], OWN) == ALLOW
    assert decision(arch, machine, named["kill"], 1) == EPERM
    assert decision(arch, machine, named["prlimit"], 0) == ALLOW
    assert decision(arch, machine, named["prlimit"], 1) == EPERM


def test_calls_of_another_table_do_not_slip_through() -> None:
    assert decision(0x40000003, "x86_64", 41) == KILL
    assert decision(ARCHES["x86_64"], "x86_64", 0x40000000 | 41) == ENOSYS


def test_an_unknown_architecture_is_not_guessed_at() -> None:
    with pytest.raises(KeyError):
        seccomp.shared("riscv64")
