"""A repository, read by plumbing alone.

Names, objects and tree differences are read in the user's repository, with every setting overruled that could matter there; merges and
new trees are made in an empty bare repository that borrows its objects (see ``git_home.make_shadow``), so that configuration,
attributes and hooks have no say, and nothing is ever written to the user's repository.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from trivet import git_diff
from trivet.errors import GitError, UsageError
from trivet.git_home import Home, find_home, git_environment, git_program, make_shadow, object_format_of, refuse_tricks
from trivet.git_objects import FOLDER, Item, Reader, format_tree, hash_of, parse_tree, write_loose
from trivet.model import Commit, Entry, RawChange
from trivet.room import Room

_TIMEOUT_S = 300.0
_CHAIN = 256
_HINT = "see `git fsck`; git 2.38 or later is needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merge that exists in no branch: the id of its tree, and the paths that conflict (exact bytes)."""

    tree: str
    conflicts: tuple[bytes, ...]


class Repository:
    """An open repository; use as a context manager. Object ids are full hex."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._program = git_program()
        self._format = object_format_of(home)
        self._stored = Reader(self._program, home.git_dir, self._format)
        self._diffs: dict[tuple[str, str], tuple[RawChange, ...]] = {}
        self._bases: dict[tuple[str, str], tuple[str, ...]] = {}
        self._levels: dict[str, tuple[Item, ...]] = {}
        self._by_name: dict[str, dict[bytes, Item]] = {}
        self._early: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self.own: dict[str, bytes] = {}  # raw trees that were written here and stand in no repository
        self._scratch: Room | None = None
        self._written: Reader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the children and remove the temporary folder."""
        self._stored.close()
        for child in self._early.values():
            child.kill()
            child.communicate()
        if self._written is not None:
            self._written.close()
        if self._scratch is not None:
            self._scratch.close()

    @property
    def _shadow(self) -> Path:
        """The empty bare repository for what is merged and written; made when it is needed first."""
        if self._scratch is None:
            try:
                self._scratch = Room("trivet-git-")
                make_shadow(self.home, self._scratch.path, self._format)
            except OSError as error:
                raise GitError(f"no temporary folder could be written: {error.strerror}", where=tempfile.gettempdir()) from error
        return self._scratch.path / "shadow.git"

    @property
    def empty_blob(self) -> str:
        """The id of the empty blob in this repository's object format."""
        return hash_of("blob", b"", self._format)

    # --- names and history -------------------------------------------------------------------------

    def commit(self, rev: str) -> Commit:
        """Resolve a revision in the user's repository.

        Raises:
            UsageError: it names no commit, or more than one.
        """
        found = self._stored.object(rev + "^{commit}") if rev and "\n" not in rev and "\0" not in rev else None
        if found is None:
            raise UsageError(f"no such revision: {rev!r}", where=str(self.home.git_dir), hint="fetch it first, or check the spelling")
        return Commit(oid=found[0], tree=_header_of(found[2], b"tree")[0])

    def raw_commit(self, oid: str) -> bytes:
        """The bytes of a commit object, signature included."""
        return self._read(oid, "commit")

    def merge_bases(self, a_oid: str, b_oid: str) -> tuple[str, ...]:
        """All best common ancestors of two commits.

        Raises:
            GitError: there is none.
        """
        known = self._bases.get((a_oid, b_oid))
        if known is None:
            known = self._bases[a_oid, b_oid] = (a_oid,) if self._descends(b_oid, a_oid) else self._common(a_oid, b_oid)
        return known

    def _common(self, a_oid: str, b_oid: str) -> tuple[str, ...]:
        status, out = self._run(self.home.git_dir, "merge-base", "--all", a_oid, b_oid)
        found = tuple(out.decode().split())
        if status not in (0, 1) or not found:
            raise GitError(
                "head and base have no common commit",
                where=f"{a_oid[:12]} and {b_oid[:12]}",
                hint="branch from the base branch, or fetch the whole history",
            )
        return found

    def _descends(self, oid: str, ancestor: str) -> bool:
        """Whether a short chain of single parents leads from ``oid`` to ``ancestor``: the usual case, answered without a process."""
        for _ in range(_CHAIN):
            if oid == ancestor:
                return True
            parents = _header_of(self.raw_commit(oid), b"parent")
            if len(parents) != 1:
                return False
            oid = parents[0]
        return False

    def commits(self, base: Commit, head: Commit) -> tuple[str, ...]:
        """The ids of the commits that head has and base has not, newest first."""
        return tuple(self._out("rev-list", head.oid, f"^{base.oid}").decode().split())

    def changes(self, base: Commit, head: Commit) -> tuple[RawChange, ...]:
        """What changed from each merge base to head, without renames: the union of distinct rows, in tree order."""
        if len(trees := self.trees_before(base, head)) == 1:
            return self.diff(trees[0], head.tree)
        rows: dict[RawChange, None] = {}
        for tree in trees:
            rows.update(dict.fromkeys(self.diff(tree, head.tree)))
        return tuple(sorted(rows, key=lambda row: row.path))

    def trees_before(self, base: Commit, head: Commit) -> list[str]:
        """The trees of the merge base(s): what head is compared with."""
        return [_header_of(self.raw_commit(oid), b"tree")[0] for oid in self.merge_bases(base.oid, head.oid)]

    def foresee(self, base: Commit, head: Commit) -> None:
        """Let git find out what changed while the caller reads something else; ``changes`` waits for it.

        Raises:
            GitError: the commits share no history.
        """
        for tree in self.trees_before(base, head):
            pair = (tree, head.tree)
            if pair[0] != pair[1] and pair not in self._diffs and pair not in self._early:
                self._early[pair] = self._start(*git_diff.ARGUMENTS, *pair)

    def diff(self, old_tree: str, new_tree: str) -> tuple[RawChange, ...]:
        """The leaves that differ between two trees, in git's order, without renames."""
        if (old_tree, new_tree) not in self._diffs:
            deque(self._batches(old_tree, new_tree), maxlen=0)
        return self._diffs[old_tree, new_tree]

    def batches(self, base: Commit, head: Commit) -> Iterator[Sequence[RawChange]]:
        """The rows of ``changes`` as git finds them."""
        trees = self.trees_before(base, head)
        return iter([self.changes(base, head)]) if len(trees) > 1 else self._batches(trees[0], head.tree)

    def _batches(self, old_tree: str, new_tree: str) -> Iterator[Sequence[RawChange]]:
        pair = (old_tree, new_tree)
        if old_tree == new_tree:
            self._diffs[pair] = ()
        if pair in self._diffs:
            yield self._diffs[pair]
            return
        child = self._early.pop(pair, None)
        found: list[RawChange] = []
        # With trees of our own making the shadow is asked, which sees the user's objects too.
        for batch in git_diff.batches_of(child or self._start(*git_diff.ARGUMENTS, *pair), _TIMEOUT_S):
            found += batch
            yield batch
        self._diffs[pair] = tuple(found)

    # --- objects -----------------------------------------------------------------------------------

    def level(self, tree: str) -> tuple[Item, ...]:
        """One level of a tree, as stored."""
        known = self._levels.get(tree)
        if known is None:
            known = self._levels[tree] = parse_tree(self._read(tree, "tree"), len(tree) // 2)
        return known

    def names(self, tree: str) -> Mapping[bytes, Item]:
        """One level of a tree by name; of a malformed one that names something twice, the first row counts."""
        known = self._by_name.get(tree)
        if known is None:
            known = self._by_name[tree] = {row.name: row for row in reversed(self.level(tree))}
        return known

    def tree(self, oid: str, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        """All leaves of a tree, in tree order; with ``under`` only those at or below these paths (no other folder is read)."""
        if not under:
            rows = self._out("ls-tree", "-r", "-z", "--full-tree", oid).split(b"\0")[:-1]
            return tuple(_entry(row) for row in rows)
        found: dict[bytes, Entry] = {}
        for path in under:
            for entry in self._leaves(oid, path):
                found[entry.path] = entry
        return tuple(found[path] for path in sorted(found))

    def _leaves(self, tree: str, path: bytes) -> Iterator[Entry]:
        item = self.find(tree, path)
        if item is None:
            return
        if item.mode != FOLDER:
            yield Entry(path=path, mode=item.mode, oid=item.oid)
            return
        waiting = [(path, item.oid)]
        while waiting:
            folder, oid = waiting.pop()
            for row in self.level(oid):
                inner = folder + b"/" + row.name
                if row.mode == FOLDER:
                    waiting.append((inner, row.oid))
                else:
                    yield Entry(path=inner, mode=row.mode, oid=row.oid)

    def find(self, tree: str, path: bytes) -> Item | None:
        """What is at ``path`` in a tree: a leaf or a folder (mode 0o040000), or None."""
        item = Item(name=b"", mode=FOLDER, oid=tree)
        for part in path.split(b"/"):
            if item.mode != FOLDER:
                return None
            found = self.names(item.oid).get(part)
            if found is None:
                return None
            item = found
        return item

    def blob(self, oid: str) -> bytes:
        """The bytes of one blob."""
        return self._read(oid, "blob")

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """``(oid, bytes)`` of many blobs, in the order asked for."""
        reader = self._stored if self._scratch is None else self._both()
        return reader.blobs(oids)

    def _both(self) -> Reader:
        """A reader that sees what was written here as well."""
        if self._written is None:
            self._written = Reader(self._program, self._shadow, self._format)
        return self._written

    def _read(self, oid: str, kind: str) -> bytes:
        found = self._stored.object(oid)
        if found is None and self._scratch is not None:
            found = self._both().object(oid)
        if found is None or found[1] != kind:
            raise GitError(f"the repository lacks {kind} {oid}", hint="fetch all objects; a partial or broken clone cannot be judged")
        return found[2]

    # --- trees that exist in no branch -------------------------------------------------------------

    def merge(self, base: Commit, head: Commit) -> Merged:
        """Merge head into base as a forge would, without any merge driver; nothing is checked out."""
        bases = self.merge_bases(base.oid, head.oid)
        if bases == (base.oid,):
            return Merged(tree=head.tree, conflicts=())
        if bases == (head.oid,):
            return Merged(tree=base.tree, conflicts=())
        status, out = self._run(self._shadow, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base.oid, head.oid)
        parts = out.split(b"\0")
        if status not in (0, 1) or not re.fullmatch(rb"[0-9a-f]{40,64}", parts[0]):
            raise GitError("git could not merge head into base", where=f"{base.oid[:12]} and {head.oid[:12]}", hint=_HINT)
        return Merged(tree=parts[0].decode(), conflicts=tuple(dict.fromkeys(part for part in parts[1:] if part)))

    def write_tree(self, entries: Iterable[Entry]) -> str:
        """Write the tree that holds exactly these leaves to the temporary object store, and give its id."""
        return self.edit(self._write("tree", b""), {entry.path: (entry.mode, entry.oid) for entry in entries})

    def write_blob(self, data: bytes) -> str:
        """Write one blob to the temporary object store, and give its id."""
        return self._write("blob", data)

    def edit(self, tree: str, changes: Mapping[bytes, tuple[int, str] | None]) -> str:
        """Put leaves ``(mode, oid)`` into a tree or take them out (None); give the id of the new tree. Only the touched folders are read.

        Raises:
            GitError: a path would lie below a file, or take the place of a folder that is not emptied.
        """
        here: dict[bytes, Item] = {item.name: item for item in self.level(tree)}
        deeper: dict[bytes, dict[bytes, tuple[int, str] | None]] = {}
        put: dict[bytes, tuple[int, str]] = {}
        for path, leaf in changes.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                deeper.setdefault(name, {})[rest] = leaf
            elif leaf is not None:
                put[name] = leaf
            elif name in here and here[name].mode != FOLDER:
                del here[name]
        for name, inner in deeper.items():
            self._edit_below(here, name, inner)
        for name, (mode, oid) in put.items():
            if name in here and here[name].mode == FOLDER:
                raise GitError(f"{name!r} is a folder and cannot become a file")
            here[name] = Item(name=name, mode=mode, oid=oid)
        return self._write("tree", format_tree(here.values()))

    def _edit_below(self, here: dict[bytes, Item], name: bytes, inner: Mapping[bytes, tuple[int, str] | None]) -> None:
        item = here.get(name)
        if item is not None and item.mode != FOLDER:
            if any(leaf is not None for leaf in inner.values()):
                raise GitError(f"{name!r} is a file and cannot hold other files")
            return
        new = self.edit(item.oid if item else self._write("tree", b""), inner)
        if self.level(new):
            here[name] = Item(name=name, mode=FOLDER, oid=new)
        else:
            here.pop(name, None)

    def _write(self, kind: str, data: bytes) -> str:
        try:
            oid = write_loose(self._shadow / "objects", kind, data, self._format)
        except OSError as error:
            raise GitError(f"a temporary object could not be written: {error.strerror}", where=str(self._shadow)) from error
        if kind == "tree":
            self._levels[oid] = parse_tree(data, len(oid) // 2)
            self.own[oid] = data
        return oid

    # --- children ----------------------------------------------------------------------------------

    def _start(self, *args: str) -> subprocess.Popen[bytes]:
        git_dir = self.home.git_dir if self._scratch is None else self._shadow
        return subprocess.Popen(
            [self._program, *args],
            cwd=git_dir,
            env=git_environment(self._program, git_dir),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _run(self, git_dir: Path, *args: str) -> tuple[int, bytes]:
        try:
            done = subprocess.run(
                [self._program, *args],
                cwd=git_dir,
                env=git_environment(self._program, git_dir),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git {args[0]} did not end within {_TIMEOUT_S:.0f} s") from error
        return done.returncode, done.stdout

    def _out(self, *args: str) -> bytes:
        status, out = self._run(self.home.git_dir if self._scratch is None else self._shadow, *args)
        if status:
            raise GitError(f"git {args[0]} failed with status {status}", where=str(self.home.common_dir), hint=_HINT)
        return out


def open_repository(path: Path) -> Repository:
    """Open the repository that holds ``path``.

    Raises:
        UsageError: there is none.
        GitError: its history is shallow, or replace refs or grafts are set.
    """
    try:
        home = find_home(path)
        refuse_tricks(home)
        return Repository(home)
    except OSError as error:
        raise GitError(f"the repository cannot be read: {error.strerror}", where=str(error.filename or path)) from error


def _header_of(commit: bytes, key: bytes) -> tuple[str, ...]:
    head = commit.partition(b"\n\n")[0]
    return tuple(line[len(key) + 1 :].decode("ascii") for line in head.split(b"\n") if line.startswith(key + b" "))


def _entry(row: bytes) -> Entry:
    meta, _, path = row.partition(b"\t")
    mode, _, oid = meta.decode("ascii").split(" ")
    return Entry(path=path, mode=int(mode, 8), oid=oid)
