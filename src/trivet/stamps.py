"""What a verdict depends on outside of the repository, as cheap stamps: trivet's own files; an interpreter with what is installed.

Sizes and times of change stand for contents here. They may differ where contents do not (then something is judged anew for nothing); a
program that has the rights to forge them has those of whoever runs the gate.
"""

from __future__ import annotations

import os
import sys

__all__ = ["blake2b", "digest_of", "interpreter_stamp", "own_stamp"]

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython; hashlib loads OpenSSL, which a cache hit would wait for
    from hashlib import blake2b

_known: dict[str, str] = {}
_POINTERS = (".pth", ".egg-link")


def digest_of(parts: list[str]) -> str:
    """BLAKE2b (hex, 32 bytes) of texts, each with its length, so that no two lists have one digest."""
    digest = blake2b(digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def own_stamp() -> str:
    """What trivet is here: every module of it, the interpreter that runs it, and what is installed beside that."""
    root = os.path.dirname(os.path.abspath(__file__))
    return digest_of([*_modules(root), sys.version, interpreter_stamp(sys.executable)])


def interpreter_stamp(python: str) -> str:
    """An interpreter: the file behind its links, its settings, and the folders of installed packages.

    What is installed, removed or replaced there changes the time of its folder.
    """
    if python not in _known:
        _known[python] = _interpreter_stamp(python)
    return _known[python]


def _interpreter_stamp(python: str) -> str:
    real = os.path.realpath(python)
    host = os.uname()
    parts = [python, real, _stamp(python), _stamp(real), host.sysname, host.release, host.version, host.machine]
    homes = dict.fromkeys(os.path.dirname(os.path.dirname(path)) for path in (os.path.abspath(python), real))
    for home in homes:
        parts.append(_stamp(f"{home}/pyvenv.cfg"))
        for folder in _library_folders(home):
            parts += [folder, _stamp(folder)]
            parts += [f"{name} {_stamp(f'{folder}/{name}')}" for name in _names(folder, "", _POINTERS)]
    return digest_of(parts)


def _library_folders(home: str) -> list[str]:
    found = []
    for lib in _names(home, "lib"):
        found += [f"{home}/{lib}/{name}/site-packages" for name in _names(f"{home}/{lib}", "python")]
        found += [f"{home}/{lib}/{name}/dist-packages" for name in _names(f"{home}/{lib}", "python")]
    return [folder for folder in found if os.path.isdir(folder)]


def _names(folder: str, begin: str, ends: tuple[str, ...] = ("",)) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(begin) and name.endswith(ends))
    except OSError:
        return []


def _modules(root: str) -> list[str]:
    found = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as rows:
            for row in rows:
                if row.name.endswith(".py"):
                    facts = row.stat()
                    found.append(f"{row.path} {facts.st_size} {facts.st_mtime_ns}")
                elif row.name != "__pycache__" and row.is_dir(follow_symlinks=False):
                    waiting.append(row.path)
    return sorted(found)


def _stamp(path: str) -> str:
    try:
        facts = os.stat(path)
    except OSError:
        return "-"
    return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"
