"""Trees to read from: a commit's, a work tree's, or plain bytes. Whoever reads a policy or a manifest takes one of them."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from trivet.errors import GitError, UsageError
from trivet.git_home import Home, find_home, git_environment, git_program
from trivet.git_objects import EXECUTABLE, FILE, FOLDER, GITLINK, LINK
from trivet.git_repository import Repository
from trivet.model import Commit, Entry

_AHEAD = 1024


class Tree(Protocol):
    """Something with files. Paths are bytes relative to the root, with ``/``."""

    @property
    def label(self) -> str:
        """How messages name it: ``base 3f2c1e0b9a12`` or a folder."""
        ...

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        """All leaves, sorted by path; with ``under`` only those at or below these paths (much cheaper in a large tree)."""
        ...

    def read(self, path: bytes) -> bytes | None:
        """The bytes of a regular file; for a link the bytes of its target path; None where there is neither."""
        ...


class CommitTree:
    """The tree of one commit."""

    def __init__(self, repository: Repository, commit: Commit, name: str = "") -> None:
        self.repository = repository
        self.commit = commit
        self._label = f"{name} {commit.oid[:12]}".strip()
        self._ahead: dict[str, bytes] = {}

    @property
    def label(self) -> str:
        """The given name and the short commit id."""
        return self._label

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        """See ``Tree``."""
        return self.repository.tree(self.commit.tree, under)

    def read(self, path: bytes) -> bytes | None:
        """See ``Tree``."""
        item = self.repository.find(self.commit.tree, path)
        if item is None or item.mode in (FOLDER, GITLINK):
            return None
        if not path.endswith(b".py"):
            return self.repository.blob(item.oid)
        if item.oid not in self._ahead:
            self._read_ahead(path.rpartition(b"/")[0])
        return self._ahead.get(item.oid) or self.repository.blob(item.oid)

    def _read_ahead(self, folder: bytes) -> None:
        """Read the modules of one folder in one go: who reads one sealed test reads them all, and each question costs a wait."""
        level = self.repository.find(self.commit.tree, folder) if folder else None
        rows = self.repository.level(level.oid if level is not None else self.commit.tree)
        wanted = [row.oid for row in rows if row.name.endswith(b".py") and row.mode in (FILE, EXECUTABLE) and row.oid not in self._ahead]
        self._ahead.update(self.repository.blobs(dict.fromkeys(wanted[:_AHEAD])))


class WorkTree:
    """The files of a folder: tracked and untracked unignored ones where it is a git work tree, all others' files elsewhere.

    Object ids are "" (nothing is hashed).
    """

    def __init__(self, root: Path, *, plain: bool = False) -> None:
        """Args: ``root``: the folder; ``plain``: take it as it is, even where a folder above it is a repository."""
        self._home: Home | None = None
        try:
            self._home = None if plain else find_home(root)
        except UsageError:
            self._home = None
        self.root = self._home.work_tree if self._home is not None and self._home.work_tree is not None else root.absolute()

    @property
    def label(self) -> str:
        """The folder."""
        return str(self.root)

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        """See ``Tree``."""
        names = self._listed(self._home) if self._home is not None and self._home.work_tree is not None else self._walked(under)
        found = []
        for name in sorted(names):
            if under and not any(name == path or name.startswith(path + b"/") for path in under):
                continue
            mode = self._mode(name)
            if mode:
                found.append(Entry(path=name, mode=mode, oid=""))
        return tuple(found)

    def read(self, path: bytes) -> bytes | None:
        """See ``Tree``."""
        place = os.path.join(os.fsencode(self.root), path)  # noqa: PTH118 - bytes
        mode = self._mode(path)
        if mode == LINK:
            return os.readlink(place)  # noqa: PTH115 - bytes
        if not mode:
            return None
        with open(place, "rb") as file:  # noqa: PTH123 - bytes
            return file.read()

    def _mode(self, path: bytes) -> int:
        try:
            facts = os.lstat(os.path.join(os.fsencode(self.root), path))  # noqa: PTH118 - bytes
        except OSError:
            return 0
        if stat.S_ISLNK(facts.st_mode):
            return LINK
        if not stat.S_ISREG(facts.st_mode):
            return 0
        return EXECUTABLE if facts.st_mode & stat.S_IXUSR else FILE

    def _listed(self, home: Home) -> set[bytes]:
        program = git_program()
        env = git_environment(program, home.git_dir) | {"GIT_WORK_TREE": str(self.root)}
        args = [program, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(args, cwd=self.root, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        if done.returncode:
            raise GitError("git cannot list the files of the work tree", where=str(self.root))
        return set(done.stdout.split(b"\0")[:-1])

    def _walked(self, under: tuple[bytes, ...]) -> set[bytes]:
        root = os.fsencode(self.root)
        found: set[bytes] = set()
        for start in under or (b"",):
            place = os.path.join(root, start) if start else root  # noqa: PTH118 - bytes
            if start and self._mode(start):
                found.add(start)
            for folder, inner, files in os.walk(place):
                inner[:] = [name for name in inner if name != b".git"]
                links = [name for name in inner if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118 - bytes
                found.update(os.path.relpath(os.path.join(folder, name), root) for name in [*files, *links])  # noqa: PTH118 - bytes
        return found


class PlainTree:
    """A tree of plain bytes, for scaffolds and tests. Object ids are ""."""

    def __init__(self, files: Mapping[bytes, bytes], label: str = "plain tree", modes: Mapping[bytes, int] | None = None) -> None:
        self._files = dict(files)
        self._modes = dict(modes or {})
        self._label = label

    @property
    def label(self) -> str:
        """The given name."""
        return self._label

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        """See ``Tree``."""
        names = [n for n in sorted(self._files) if not under or any(n == path or n.startswith(path + b"/") for path in under)]
        return tuple(Entry(path=name, mode=self._modes.get(name, FILE), oid="") for name in names)

    def read(self, path: bytes) -> bytes | None:
        """See ``Tree``."""
        return self._files.get(path)
