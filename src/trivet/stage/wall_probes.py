"""Try a wall: lay out what lies outside, run the escape attempts and bombs behind it, and say which were held.

Used by ``trivet doctor`` on the user's host and by the test suite; the same attempts, the same judgement.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from trivet.stage import wall_native as native
from trivet.stage.wall import Limits, Reach, Wall, interpreter_reach
from trivet.stage.wall_none import NoWall
from trivet.stage.wall_seccomp import DENIED
from trivet.stage.wall_syscalls import NUMBERS

State = Literal["held", "open", "broken"]
GUEST = Path(__file__).with_name("wall_escapes")
_COLUMN = {"x86_64": 0, "aarch64": 1}
_SHM = Path("/dev/shm")  # noqa: S108 - that is the place
_HARMFUL_UNWALLED = ("mount-", "call-msgget", "call-vhangup", "device-tty")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt and how it went; ``detail`` says what was got, or how it was refused."""

    name: str
    state: State
    detail: str


class Ground:
    """What lies outside of a run during the attempts: secrets, victims, a neighbour process, listeners. A context manager.

    Args:
        place: an existing folder to lay it out in.
        python: the interpreter that runs the attempts.
    """

    def __init__(self, place: Path, python: Path) -> None:
        self.python = python
        self.outside, self.tree, self.scratch, self.cache = (place / name for name in ("outside", "tree", "scratch", "cache"))
        self.guest = place / "guest"  # a copy: where trivet lies need not be readable for the one who runs the attempts
        self._stack = contextlib.ExitStack()
        self.nonce = secrets.token_hex(8)
        self.segment = _SHM / f"trivet-{self.nonce}"
        self.left = _SHM / f"trivet-left-{self.nonce}"

    def __enter__(self) -> Self:
        for folder in (self.outside, self.tree, self.scratch, self.cache, self.outside / "empty"):
            folder.mkdir()
        self.outside.chmod(0o777)  # so that not permission bits, but the wall has to say no
        for name, text in (("secret", "sealed words"), ("victim", "of the gate"), ("spare", ""), ("spare2", "")):
            (self.outside / name).write_text(text)
            (self.outside / name).chmod(0o666)
        (self.tree / "file").write_text("of the tree")
        shutil.copy("/bin/true", self.outside / "tool")
        shutil.copytree(GUEST, self.guest, ignore=shutil.ignore_patterns("__pycache__"))
        self.secret_fd = os.open(self.outside / "secret", os.O_RDONLY)
        self._stack.callback(os.close, self.secret_fd)
        os.set_inheritable(self.secret_fd, True)  # noqa: FBT003 - its only form
        token = {"TRIVET_TOKEN": self.nonce}
        self.sibling = subprocess.Popen(["/bin/sleep", "600"], env=token, start_new_session=True)
        self._stack.callback(self._end_sibling)
        self.tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self.path_socket = self._listen(socket.AF_UNIX, str(self.outside / "s"))
        self.abstract = self._listen(socket.AF_UNIX, f"\0trivet-{self.nonce}")
        self.udp = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.udp.settimeout(0.01)
        self.segment.write_text("shared")
        self._stack.callback(self.segment.unlink)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _listen(self, family: int, address: tuple[str, int] | str) -> socket.socket:
        listener = self._stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen(8)
        return listener

    def _end_sibling(self) -> None:
        self.sibling.kill()
        self.sibling.wait()

    def facts(self, wall: Wall, *, loopback: bool) -> dict[str, object]:
        """What the attempts are told."""
        gate = Path("/proc/self/environ").read_bytes().split(b"\0")
        bare = wall.facts.name == "kernel" and not any("pid and mount namespace" in text for text in wall.facts.guarantees)
        column = _COLUMN.get(native.MACHINE, 0)
        return {
            "calls": {name: row[column] for name, row in NUMBERS.items()},
            "denied": _denied(),
            "families": ["unix", "inet", "inet6"] if loopback else [],
            "scratch": str(self.scratch),
            "outside": str(self.outside),
            "tree": str(self.tree),
            "cache": str(self.cache),
            "home": str(Path.home()),
            "home_list": _names(Path.home()),
            "packages": sysconfig.get_path("purelib") if wall.facts.name != "none" else str(self.outside),
            "secret": str(self.outside / "secret"),
            "victim": str(self.outside / "victim"),
            "spare_victim": str(self.outside / "spare"),
            "spare_victim2": str(self.outside / "spare2"),
            "empty_folder": str(self.outside / "empty"),
            "tool": str(self.outside / "tool"),
            "secret_fd": self.secret_fd,
            "gate": os.getpid(),
            "session": os.getsid(0),
            "sibling": self.sibling.pid,
            "address": id(self),
            "token": max(gate, key=len).decode("utf-8", "replace") or self.nonce,
            "cmdline": Path("/proc/self/cmdline").read_bytes().decode("utf-8", "replace"),
            "own_pids": wall.facts.name != "none" and not bare,
            "own_init": wall.facts.name == "bubblewrap",
            "own_devices": ["ptmx", "console", "tty"] if wall.facts.name == "bubblewrap" else [],
            "segment": self.segment.name,
            "left": self.left.name,
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "path_socket": self.path_socket.getsockname(),
            "abstract": f"trivet-{self.nonce}",
        }

    def reach(self, *more: Path) -> Reach:
        """What the attempts may reach."""
        return Reach(read=(self.tree, self.guest, *interpreter_reach(self.python), *more), private=(self.scratch,))

    def environment(self) -> dict[str, str]:
        """The whole environment of the attempts."""
        return {"HOME": str(self.scratch), "TMPDIR": str(self.scratch)}

    def survivors(self) -> list[int]:
        """Living processes that carry the nonce in their command line or environment (the neighbour excepted)."""
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208 - names, many of them
            if not name.isdigit() or int(name) in (os.getpid(), self.sibling.pid):
                continue
            with contextlib.suppress(OSError):
                if self.nonce.encode() in Path("/proc", name, "cmdline").read_bytes():
                    found.append(int(name))
        return found


@contextlib.contextmanager
def ground(python: Path | None = None, place: Path | None = None) -> Iterator[Ground]:
    """A laid-out ground in a temporary folder (below ``place``); ``python``: the interpreter of the attempts (this one)."""
    with tempfile.TemporaryDirectory(prefix="trivet-ground-", dir=place) as folder:
        Path(folder).chmod(0o755)
        with Ground(Path(folder), python or Path(sys.executable)) as laid:
            yield laid


def escapes(
    wall: Wall, laid: Ground, *, loopback: bool = False, only: tuple[str, ...] = (), extra_reach: tuple[Path, ...] = ()
) -> list[Attempt]:
    """Run all escape attempts behind ``wall`` in one child; one row an attempt.

    ``only``: names of attempts; ``extra_reach``: paths that are readable though they should not be (planted holes).
    """
    facts = laid.facts(wall, loopback=loopback)
    if only:
        facts["only"] = list(only)
    if wall.facts.name == "none":
        facts["harmful"] = list(_HARMFUL_UNWALLED)
    argv = [str(laid.python), "-s", "-B", str(laid.guest / "__main__.py"), json.dumps(facts)]
    limits = Limits(processes=32, scratch_b=32 << 20)
    with wall.start(argv, cwd=laid.tree, env=laid.environment(), reach=laid.reach(*extra_reach), limits=limits) as child:
        child.wait(60)
    return _read(child.output, laid)


def _read(output: bytes, laid: Ground) -> list[Attempt]:
    rows: dict[str, Attempt] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            name, state, detail = json.loads(line)
        except ValueError:
            continue
        rows[name] = Attempt(name, state, detail)
    seen_outside: dict[str, Callable[[], bool]] = {
        "shared-memory-leave-segment": laid.left.exists,
        "connect-udp": functools.partial(_arrived, laid.udp),
        "signal-sibling-async": lambda: laid.sibling.poll() is not None,
    }
    for name, look in seen_outside.items():
        if name in rows and rows[name].state == "open":
            rows[name] = Attempt(name, "open" if look() else "held", "seen from outside")
    with contextlib.suppress(OSError):
        laid.left.unlink()
    if rows.pop("end", None) is None:
        rows["attempts"] = Attempt(
            "attempts", "broken", "the attempts did not come to their end: " + output[-300:].decode("utf-8", "replace")
        )
    if laid.sibling.poll() is not None:
        rows["sibling"] = Attempt("sibling", "open", "the neighbour process was killed")
    return list(rows.values())


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return ["(not readable for the gate either)"]


def _arrived(receiver: socket.socket) -> bool:
    try:
        return bool(receiver.recv(10))
    except OSError:
        return False


def unwalled() -> Wall:
    """The control: no wall at all, so that each attempt can be seen to succeed."""
    return NoWall()


def attempt_names() -> tuple[str, ...]:
    """The names of all escape attempts on this architecture."""
    facts = {"denied": _denied(), "names": True}
    argv = [sys.executable, "-s", "-B", str(GUEST / "__main__.py"), json.dumps(facts)]
    return tuple(subprocess.run(argv, capture_output=True, text=True, check=True, env={}).stdout.split())


def _denied() -> list[str]:
    return [name for name in DENIED if NUMBERS[name][_COLUMN.get(native.MACHINE, 0)] is not None]
