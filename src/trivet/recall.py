"""Whole verdicts by their commits: a question that was answered with a green verdict here before is answered by one look-up.

The key is made of both commit ids (which fix every tree and the whole history), the repository's place, the options, the stamp of trivet
itself; beside the value stand the interpreter that ran the tests and its stamp, which must still hold. Kept is only what merges, and only
where no clock has a say: nothing of a policy with leases in its ledger, or with `clock = "real"`, is ever answered from here.

One hit in a hundred, chosen by a secret, is judged anew with nothing read from the cache. Where the two differ, the new verdict counts and
all that is kept of that base in that environment goes into quarantine.
"""

from __future__ import annotations

import os

from trivet.git_environment import git_environment
from trivet.stamps import digest_of, interpreter_stamp, own_stamp
from trivet.store import Store, trusted

TYPE_CHECKING = False  # typing, pathlib and dataclasses cost more than the look-up
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KIND = "verdict"
AUDITED = 100
"""One hit in so many is judged anew."""
_OID = (40, 64)
_PACKED_REFS_MAX_B = 1_048_576


class Asked:
    """One question: where, which commits (as revisions), with which interpreter and options. All text."""

    __slots__ = ("base", "head", "options", "python", "repo")

    def __init__(self, *, repo: str, base: str, head: str, python: str, options: Mapping[str, object]) -> None:
        """``repo`` is absolute; ``python`` is what the door asked for ("" for the policy's); ``options`` all that tightens or loosens."""
        self.repo, self.base, self.head, self.python = os.path.realpath(repo), base, head, python
        self.options = dict(options)


class Found:
    """An answer: the named parts that were kept (files, texts), the family they belong to, and their key."""

    __slots__ = ("family", "key", "parts")

    def __init__(self, key: str, family: str, parts: dict[str, bytes]) -> None:
        self.key, self.family, self.parts = key, family, parts


def find(asked: Asked, folder: str, say: Callable[[str], object]) -> Found | None:
    """The kept answer, or None where there is none that holds."""
    if not os.path.isdir(folder) or not trusted(folder, say, make=False):
        return None
    key = key_of(asked)
    found = Store(folder, say).get(KIND, key) if key else None
    parts = unpack(found[1]) if found is not None else None
    if found is None or parts is None:
        return None
    python = parts.get("python", b"").decode("utf-8", "surrogateescape")
    if not python or parts.get("stamp", b"").decode() != interpreter_stamp(python):
        return None
    return Found(key, found[0], parts)


def keep(asked: Asked, folder: str, parts: Mapping[str, bytes], *, python: str, family: str, now: float) -> None:
    """Keep an answer; who calls has seen that it merges and that no clock had a say in it."""
    key = key_of(asked)
    if key and trusted(folder):
        where = python.encode("utf-8", "surrogateescape")
        whole = {**parts, "python": where, "stamp": interpreter_stamp(python).encode(), "asked": _told(asked)}
        Store(folder).put(KIND, key, pack(whole), family=family, made=now)


def drawn() -> bool:
    """Whether this hit is one to judge anew: the system's random numbers decide, which nobody can foresee."""
    return int.from_bytes(os.urandom(8), "big") % AUDITED == 0


def key_of(asked: Asked) -> str:
    """The key of a question; "" where one of its revisions cannot be resolved here, or the repository is one that the gate would refuse."""
    git_dir = _git_dir(asked.repo)
    commits = _resolved(git_dir, (asked.base, asked.head)) if git_dir and not _odd(git_dir) else ()
    if not commits:
        return ""
    options = [f"{name}={value!r}" for name, value in sorted(asked.options.items())]
    return digest_of([asked.repo, *commits, asked.python, *options, own_stamp()])


def _told(asked: Asked) -> bytes:
    """The question itself, for `trivet cache verify --recompute`; options as JSON."""
    import json  # noqa: PLC0415 - only when something is kept

    texts = {name: getattr(asked, name) for name in ("repo", "base", "head", "python")} | {"options": json.dumps(asked.options)}
    return pack({name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()})


# --- git, without what takes long to import -----------------------------------------------------------


def _git_dir(repo: str) -> str:
    """The git folder of a clone or a bare repository at ``repo`` or above; "" for every other kind (the long way knows them)."""
    folder = repo
    while True:
        for place in (f"{folder}/.git", folder):
            if os.path.isfile(f"{place}/HEAD") and os.path.isdir(f"{place}/objects"):
                return place
        if os.path.exists(f"{folder}/.git") or folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _odd(git_dir: str) -> bool:
    """Whether the gate might refuse the repository: shallow, grafts, replace refs, another format of refs."""
    if any(os.path.exists(f"{git_dir}/{name}") for name in ("shallow", "info/grafts", "refs/replace", "reftable")):
        return True
    try:
        with open(f"{git_dir}/packed-refs", "rb") as file:
            data = file.read(_PACKED_REFS_MAX_B + 1)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return len(data) > _PACKED_REFS_MAX_B or b" refs/replace/" in data


def _resolved(git_dir: str, revisions: tuple[str, ...]) -> tuple[str, ...]:
    """Full commit ids by one git child; () where one of them names no commit, or more than one."""
    program = next((f"{place}/git" for place in os.get_exec_path() if os.access(f"{place}/git", os.X_OK)), "")
    lines = [f"{revision}^{{commit}}" for revision in revisions]
    if not program or any(not revision or "\n" in revision or "\0" in revision for revision in revisions):
        return ()
    asks, tells = os.pipe(), os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, asks[0], 0), (os.POSIX_SPAWN_DUP2, tells[1], 1)]
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        actions.append((os.POSIX_SPAWN_DUP2, null, 2))
        environment = git_environment(program, git_dir)
        pid = os.posix_spawn(program, [program, "cat-file", "--batch-check"], environment, file_actions=actions)
        os.close(asks[0])
        os.close(tells[1])
        os.write(asks[1], "\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
        os.close(asks[1])
        answer = b""
        while data := os.read(tells[0], 65_536):
            answer += data
        os.close(tells[0])
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(null)
    rows = [row.split(" ") for row in answer.decode("ascii", "replace").splitlines()]
    good = status == 0 and len(rows) == len(revisions) and all(len(row[0]) in _OID and row[1:2] == ["commit"] for row in rows)
    return tuple(row[0] for row in rows) if good else ()


# --- values ---------------------------------------------------------------------------------------------


def pack(parts: Mapping[str, bytes]) -> bytes:
    """Named bytes in one value."""
    return b"".join(f"{name} {len(data)}\n".encode() + data + b"\n" for name, data in parts.items())


def unpack(value: bytes) -> dict[str, bytes] | None:
    """What was packed; None where it was not."""
    parts: dict[str, bytes] = {}
    at = 0
    while at < len(value):
        line, newline, _ = value[at : at + 200].partition(b"\n")
        name, _, size = line.decode("ascii", "replace").partition(" ")
        if not newline or not size.isdigit():
            return None
        start = at + len(line) + 1
        at = start + int(size) + 1
        if value[at - 1 : at] != b"\n":
            return None
        parts[name] = value[start : at - 1]
    return parts
