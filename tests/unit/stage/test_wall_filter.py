"""The filter's program, judged by a small interpreter of BPF, for both architectures."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.errors import SandboxError
from trivet.stage import wall_native as native
from trivet.stage import wall_seccomp as seccomp
from trivet.stage.wall_syscalls import NEWEST, NUMBERS

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
ALLOW, KILL = "allow", "kill"


def judge(code: bytes, number: int, *args: int, arch: int) -> str | int:
    """What the program says of a call: "allow", "kill", "ask", or an error number."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *(arg & (2**64 - 1) for arg in (*args, *[0] * (6 - len(args)))))
    rows = list(struct.iter_unpack("=HBBI", code))
    accumulator, place = 0, 0
    while True:
        kind, yes, no, value = rows[place]
        place += 1
        if kind == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif kind == 0x06:
            return {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x7FC00000: "ask"}.get(value, value & 0xFFFF)
        else:
            met = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[kind]
            place += yes if met else no


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request, monkeypatch):
    """One architecture after the other: (column, audit number)."""
    monkeypatch.setattr(native, "MACHINE", request.param)
    return ARCHITECTURES[request.param]


def test_every_denied_call_is_refused_whatever_its_arguments(machine):
    """Each call of the list is answered with EPERM."""
    column, arch = machine
    code = seccomp.program(seccomp.rules())
    for name in (*seccomp.DENIED, "socket", "connect", "bind", "listen", "accept4"):
        number = NUMBERS[name][column]
        if number is not None:
            assert {judge(code, number, 0, arch=arch), judge(code, number, *[2**64 - 1] * 6, arch=arch)} == {errno.EPERM}, name


@pytest.mark.parametrize(
    ("name", "args", "answer"),
    [
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (2, 1), errno.EPERM),
        ("clone", (0x01200011,), ALLOW),  # fork as the C library does it
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (0x10000011,), errno.EPERM),  # with a user namespace
        ("clone", (0x20000 | 17,), errno.EPERM),
        ("clone3", (1, 88), errno.ENOSYS),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), errno.EPERM),
        ("ioctl", (0, 0xFFFFFFFF00005412), errno.EPERM),  # the kernel looks at the low half only
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (1, 7), errno.EPERM),
        ("setpriority", (0, 0, 5), ALLOW),
        ("setpriority", (0, 77, 5), errno.EPERM),
        ("setpriority", (2, 0, 5), errno.EPERM),
        ("fchmod", (3, 0o600), ALLOW),
        ("kill", (0, 15), ALLOW),
    ],
)
def test_arguments_decide(machine, name, args, answer):
    """Calls that honest code needs too are decided by their arguments."""
    column, arch = machine
    number = NUMBERS[name][column]
    assert number is not None
    assert judge(seccomp.program(seccomp.rules()), number, *args, arch=arch) == answer


def test_loopback_lets_three_families_through(machine):
    """With an own loopback: Unix and internet sockets, nothing else."""
    column, arch = machine
    code = seccomp.program(seccomp.rules(loopback=True))
    answers = {family: judge(code, NUMBERS["socket"][column], family, arch=arch) for family in range(50)}
    assert {family for family, answer in answers.items() if answer == ALLOW} == {1, 2, 10}
    assert judge(code, NUMBERS["connect"][column], 3, arch=arch) == ALLOW


def test_foreign_architectures_end_the_process(machine):
    """Calls with another architecture's numbers, or with the x32 bit, kill."""
    _, arch = machine
    code = seccomp.program(seccomp.rules())
    assert judge(code, 1, arch=0x40000003) == KILL  # i386
    assert judge(code, 0x40000000 | 1, arch=arch) == KILL


@given(number=st.integers(NEWEST + 1, 0x3FFFFFFF))
def test_unknown_calls_do_not_exist(number):
    """What is newer than the table is answered as by an old kernel."""
    code = seccomp.program(seccomp.rules())
    arch = ARCHITECTURES[native.MACHINE][1]
    assert judge(code, number, arch=arch) == errno.ENOSYS


def test_a_rule_left_out_is_a_hole(machine):
    """The planted holes of the escape suite are holes."""
    column, arch = machine
    code = seccomp.program(seccomp.rules(without=frozenset({"ptrace"})))
    assert judge(code, NUMBERS["ptrace"][column], arch=arch) == ALLOW
    assert judge(code, NUMBERS["bpf"][column], arch=arch) == errno.EPERM


def test_an_unknown_machine_is_refused(monkeypatch):
    """No table, no wall."""
    monkeypatch.setattr(native, "MACHINE", "riscv64")
    with pytest.raises(SandboxError, match="riscv64"):
        seccomp.program(seccomp.rules())


@pytest.mark.parametrize(
    ("header", "column"), [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)]
)
def test_numbers_are_those_of_the_kernels_headers(header, column):
    """Where the headers are installed, the table agrees with them."""
    path = Path("/usr/include", header)
    text = path.read_text() if path.exists() else ""
    known = {name: int(number) for name, number in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", text)}
    wrong = {name: row[column] for name, row in NUMBERS.items() if name in known and row[column] != known[name]}
    assert wrong == {}
