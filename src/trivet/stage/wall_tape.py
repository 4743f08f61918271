"""A list of system calls that a new process makes before exec, played by a few bytes of machine code instead of a forked interpreter.

A forked interpreter costs two to three milliseconds before it has done anything: its page tables are copied, and every page it touches.
A process made with ``CLONE_VM | CLONE_VFORK`` shares the memory until exec, and its maker waits; but it must not run an interpreter. So
the calls are laid out as rows of numbers (call, six arguments, result), and a loop of fifty bytes makes one after the other, keeps each
result in its row, and exits at the first error. Only x86_64; where memory cannot be made executable there is no tape, and the
supervisor forks as usual.
"""

from __future__ import annotations

import base64
import ctypes
import functools
import mmap
import os
from typing import Any

from trivet.stage import wall_native as native

_CODE = bytes.fromhex(
    "4889fb"  # mov rbx, rdi           the tape
    "488b03"  # mov rax, [rbx]         the call
    "488b7b08"  # mov rdi, [rbx+8]       its arguments
    "488b7310"  # mov rsi, [rbx+16]
    "488b5318"  # mov rdx, [rbx+24]
    "4c8b5320"  # mov r10, [rbx+32]
    "4c8b4328"  # mov r8, [rbx+40]
    "4c8b4b30"  # mov r9, [rbx+48]
    "0f05"  # syscall
    "48894338"  # mov [rbx+56], rax      its result
    "4885c0"  # test rax, rax
    "7806"  # js fail
    "4883c340"  # add rbx, 64            the next row
    "ebd4"  # jmp to the second instruction
    "bf7f000000"  # fail: mov edi, 127
    "b83c000000"  # mov eax, exit
    "0f05"  # syscall
)
_ROW = 8
_STACK_B = 65536
_CLONE_VM, _CLONE_VFORK, _SIGCHLD = 0x100, 0x4000, 17
_BLOCK_ALL, _SET_MASK = b"\xff" * 128, 2
CALLS = {
    "write": 1,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "dup2": 33,
    "execve": 59,
    "fcntl": 72,
    "setsid": 112,
    "setgroups": 116,
    "setresuid": 117,
    "setresgid": 119,
    "capset": 126,
    "prctl": 157,
    "prlimit64": 302,
    "seccomp": 317,
    "close_range": 436,
    "landlock_restrict_self": 446,
}
"""The calls a tape may hold, with their numbers on x86_64."""


@functools.cache
def _player() -> tuple[Any, int] | None:
    """The C library's ``clone`` and the address of the loop; None where there is none."""
    if native.MACHINE != "x86_64" or not native.LINUX:
        return None
    library = ctypes.PyDLL(None, use_errno=True)
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        return None
    page.write(_CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    _KEPT.append(page)
    if library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        return None
    clone = library.clone
    clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    clone.restype = ctypes.c_int
    return clone, address


_KEPT: list[object] = []


def available() -> bool:
    """Whether tapes can be played here; call it before the fork, so that the code is there."""
    return _player() is not None


class Tape:
    """Calls to be made in a new process, in order; the last must be ``execve``."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._names: list[str] = []
        self._kept: list[object] = []

    def add(self, name: str, *args: int | bytes | ctypes.Array[Any]) -> None:
        """Add a call of ``CALLS``; bytes and arrays are passed by address."""
        values = [self._value(arg) for arg in args]
        self._rows += [CALLS[name], *values, *[0] * (_ROW - 1 - len(values))]
        self._names.append(name)

    def restrict(self, ruleset: int) -> None:
        """Add the call that enforces a Landlock ruleset."""
        self.add("landlock_restrict_self", ruleset, 0)

    def filter(self, header: bytes, _code: bytes) -> None:
        """Add the call that loads a filter of system calls (its ``struct sock_fprog``, and the program)."""
        self.add("seccomp", 1, 0, header)

    def _value(self, arg: int | bytes | ctypes.Array[Any]) -> int:
        if isinstance(arg, int):
            return arg & 0xFFFFFFFFFFFFFFFF
        held = ctypes.create_string_buffer(arg) if isinstance(arg, bytes) else arg
        self._kept.append(held)
        return ctypes.addressof(held)

    def execute(self, argv: list[str], env: dict[str, str]) -> None:
        """Add the exec that ends the tape."""
        words = [os.fsencode(word) for word in argv]
        places = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        self.add(
            "execve", words[0], (ctypes.c_char_p * (len(words) + 1))(*words, None), (ctypes.c_char_p * (len(places) + 1))(*places, None)
        )

    def play(self) -> int:
        """Make the process; returns its pid once it has become the program.

        Raises:
            OSError: a call failed (its name is in the text), or no process can be made; then there is none.
        """
        player = _player()
        if player is None:
            raise OSError(0, "no tape here")
        clone, address = player
        rows = (ctypes.c_uint64 * len(self._rows))(*self._rows)
        stack = ctypes.create_string_buffer(_STACK_B)
        top = (ctypes.addressof(stack) + _STACK_B) & ~15
        before = native.swap_mask(_BLOCK_ALL)  # no handler may run in memory that two processes share
        try:
            pid = int(clone(address, top, _CLONE_VM | _CLONE_VFORK | _SIGCHLD, ctypes.addressof(rows)))
            number = ctypes.get_errno()
        finally:
            native.swap_mask(before)
        if pid < 0:
            raise OSError(number, f"clone: {os.strerror(number)}")
        for place, name in enumerate(self._names):
            result = ctypes.c_int64(rows[place * _ROW + _ROW - 1]).value
            if result < 0:
                os.waitpid(pid, 0)
                step = "exec" if name == "execve" else name
                raise OSError(-result, f"{step}: {os.strerror(-result)}")
        return pid


class Recipe:
    """The steps of a tape as text, for a process that makes them itself."""

    def __init__(self) -> None:
        self.steps: list[list[int | str]] = []

    def add(self, name: str, *args: int | bytes | ctypes.Array[Any]) -> None:
        """See ``Tape.add``."""
        words = [arg if isinstance(arg, int) else base64.b64encode(bytes(arg)).decode("ascii") for arg in args]
        self.steps.append([name, CALLS[name], *words])

    def restrict(self, _ruleset: int) -> None:
        """See ``Tape.restrict``; the ruleset travels as a descriptor."""
        self.steps.append(["restrict", CALLS["landlock_restrict_self"]])

    def filter(self, _header: bytes, code: bytes) -> None:
        """See ``Tape.filter``."""
        self.steps.append(["filter", CALLS["seccomp"], base64.b64encode(code).decode("ascii")])


SET_MASK = _SET_MASK
