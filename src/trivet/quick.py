"""The short way of ``trivet gate``: where the very same question was answered before, git resolves two names, and one look-up is all.

Only plain calls go this way; whatever is not exactly understood here takes the long way, which knows all options.
"""

from __future__ import annotations

import os
import sys

from trivet import recall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = ("src_score.json", "oracle_integrity.json", "flake_lease.json", "decision.json", "summary.md", "junit.xml")
WORDS = ("src_score.txt", "oracle_integrity.txt", "flake_lease.txt")
_GONE = (*FILES, *WORDS, "decision.dsse.json", "src_score.dsse.json", "oracle_integrity.dsse.json", "flake_lease.dsse.json")
_VALUES = ("repo", "base", "head", "out", "python", "isolation", "controls", "wall")
_PLACES = frozenset(("repo", "base", "head", "out", "python", "quiet"))
"""Options that are in the question by themselves, or that change nothing of the answer."""
_FLAGS = ("no-advisory", "vary", "quiet")
TEMPORARY = ".trivet-"

told: set[str] = set()
"""What the user was told already: both ways look into one cache, and say the same of it."""
audit = False
"""Whether this process drew that its hit is to be judged anew."""


def attempt(argv: list[str], environ: Mapping[str, str]) -> int | None:
    """Answer ``trivet gate ARGV`` from what is kept; None where the long way must be taken, before anything was written."""
    global audit  # noqa: PLW0603 - drawn once a process, told to the long way
    given = _parsed(argv)
    if given is None or sys.stdout.isatty():
        return None
    asked = question(given, os.getcwd())
    found = recall.find(asked, folder_of(environ), warn)
    if found is None or not all(name in found.parts for name in (*FILES, *WORDS, "text")):
        return None
    if recall.drawn():
        audit = True
        return None
    try:
        write(os.path.join(os.getcwd(), str(given.get("out", "ci_out"))), found.parts)
    except OSError:
        return None  # the long way says what is wrong
    if not given.get("quiet"):
        sys.stderr.write("from the cache: this change was judged here before (--no-cache judges it again)\n")
    sys.stdout.write(found.parts["text"].decode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    return 0


def warn(line: str) -> None:
    """Say one line on standard error, once: something the user has to know that changes no verdict."""
    if line not in told:
        told.add(line)
        sys.stderr.write(f"note: {line}\n".encode("utf-8", "backslashreplace").decode())


def question(given: Mapping[str, object], cwd: str) -> recall.Asked:
    """The question of a call; ``given`` are its options by their long names, without those that are not set."""
    python = given.get("python")
    options = {name: value for name, value in given.items() if name not in _PLACES}
    return recall.Asked(
        repo=os.path.join(cwd, str(given.get("repo", "."))),
        base=str(given["base"]),
        head=str(given["head"]),
        python="" if python is None else os.path.join(cwd, str(python)),
        options={name: value for name, value in options.items() if value},
    )


def folder_of(environ: Mapping[str, str]) -> str:
    """The cache folder of this user."""
    home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "/nonexistent", ".cache")
    return os.path.join(home, "trivet")


def write(out: str, parts: Mapping[str, bytes]) -> None:
    """Write the verdict files as the long way does: what an earlier run left goes first, the words come last.

    Raises:
        OSError: the folder cannot be written; no word of this answer is left.
    """
    os.makedirs(out, exist_ok=True)
    for name in os.listdir(out):
        if name in _GONE or name.startswith(TEMPORARY):
            os.unlink(os.path.join(out, name))
    try:
        for name in (*FILES, *WORDS):
            _replace(out, name, parts[name])
    except OSError:
        for name in WORDS:
            _replace(out, name, b"NOT_RUN\n")
        raise


def _replace(out: str, name: str, content: bytes) -> None:
    partial = os.path.join(out, f"{TEMPORARY}{os.getpid()}-{name}.tmp")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, 0o644)
        os.replace(partial, os.path.join(out, name))
    except BaseException:
        os.unlink(partial)
        raise


def _parsed(argv: list[str]) -> dict[str, object] | None:
    """The options of a plain call; None for everything else, abbreviations and mistakes included."""
    given: dict[str, object] = {}
    words = iter(argv)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name in given:
            return None
        if name in _FLAGS and not equals:
            given[name] = True
        elif name in _VALUES:
            given[name] = value if equals else next(words, "-")
            if not given[name] or str(given[name]).startswith("-"):
                return None
        else:
            return None
    return given if "base" in given and "head" in given else None
