"""The scoring tree: base, with the source zone of the merge of head into base. Nothing else of head is in it.

It is built from objects, never by a checkout: no attribute, filter or hook changes a byte. Its id is the content address of what is
judged, to be compared with what will be merged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import GitError
from trivet.git import EXECUTABLE, GITLINK, LINK, Repository
from trivet.model import Commit, Entry, text_of
from trivet.zones import Zones
from trivet.zones_links import link_place

_READ_ONLY = 0o444
_READ_RUN = 0o555


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """A scoring tree: its id, its leaves in tree order, and the source paths that do not merge (as text)."""

    tree: str
    entries: tuple[Entry, ...]
    conflicts: tuple[str, ...]


def plan_overlay(repository: Repository, base: Commit, head: Commit, zones: Zones) -> Overlay:
    """Compute the scoring tree. Conflicts outside the source zone do not matter: base's side stands there.

    Raises:
        GitError: the commits share no history, or an object is missing.
    """
    merged = repository.merge(base, head)
    conflicts = [text_of(path) for path in merged.conflicts if zones.place(path).zone == "source"]
    moved: dict[bytes, tuple[int, str] | None] = {}
    for change in repository.diff(base.tree, merged.tree):
        mode = change.new_mode or change.old_mode
        if zones.place(change.path, mode).zone != "source" or change.new_mode == GITLINK:
            continue
        if change.new_mode == LINK and not _stays_in_source(repository, zones, change.path, change.new_oid):
            continue
        moved[change.path] = (change.new_mode, change.new_oid) if change.new_mode else None
    try:
        tree = repository.edit(base.tree, moved)
    except GitError as error:
        # Base has a file where the merge has a folder of source, or the other way round; base's side is not in the source zone.
        return Overlay(tree=base.tree, entries=(), conflicts=(*conflicts, error.message))
    return Overlay(tree=tree, entries=repository.tree(tree), conflicts=tuple(conflicts))


def _stays_in_source(repository: Repository, zones: Zones, path: bytes, oid: str) -> bool:
    place = link_place(path, repository.blob(oid))
    return bool(place) and any(zones.place(inner).zone == "source" for inner in (place or b"", (place or b"") + b"/_"))


def lay(
    repository: Repository, entries: Iterable[Entry], root: Path, only: Callable[[Entry], bool] | None = None, *, read_only: bool = True
) -> None:
    """Write leaves below ``root`` (which must exist and be empty) and then take the write permission away.

    Regular files keep their executable bit. Links are made as they are stored when they stay inside the tree, and left out otherwise;
    gitlinks become empty folders, as in a checkout.

    Args:
        repository: where the bytes come from.
        entries: leaves of one tree.
        root: the folder to fill.
        only: which leaves to write; all by default.
        read_only: False leaves the tree writable (for scratch copies).

    Raises:
        GitError: a blob is missing.
        OSError: the disk is full, or a name cannot be written on this file system.
    """
    wanted = [entry for entry in entries if only is None or only(entry)]
    base = os.fsencode(root)
    folders = {b""}
    for entry in wanted:
        refuse_odd(entry.path)
        folder = entry.path if entry.mode == GITLINK else entry.path.rpartition(b"/")[0]
        _make(base, folder, folders)
    write_leaves(repository, (entry for entry in wanted if entry.mode != GITLINK), base)
    if read_only:
        for folder in sorted(folders, reverse=True):
            _chmod(base + b"/" + folder if folder else base, _READ_RUN)


def write_leaves(repository: Repository, entries: Iterable[Entry], base: bytes) -> None:
    """Write leaves into folders that exist and can be written; a gitlink becomes an empty folder, a link that leaves the tree nothing."""
    files: dict[str, list[tuple[bytes, int]]] = {}
    for entry in entries:
        if entry.mode == GITLINK:
            os.mkdir(base + b"/" + entry.path, _READ_RUN)  # noqa: PTH102 - bytes
        else:
            files.setdefault(entry.oid, []).append((entry.path, entry.mode))
    links: list[tuple[bytes, bytes]] = []
    for oid, data in repository.blobs(files):
        for path, mode in files[oid]:
            if mode == LINK:
                links.append((path, data))
            else:
                _write(base + b"/" + path, data, _READ_RUN if mode == EXECUTABLE else _READ_ONLY)
    # Links come last, so that no file is ever written through one.
    for path, target in links:
        if stays_inside(path, target):
            os.symlink(target, base + b"/" + path)  # noqa: PTH211 - bytes


def loosen(root: Path) -> None:
    """Give the write permission of the folders below ``root`` back, so that the tree can be removed."""
    for folder, inner, _ in os.walk(root):
        _chmod(os.fsencode(folder), stat.S_IRWXU)
        inner[:] = [name for name in inner if not (Path(folder) / name).is_symlink()]


def stays_inside(path: bytes, target: bytes) -> bool:
    """Whether a relative link at ``path`` cannot leave the tree, whatever its parts are: ``..`` never outweighs the depth."""
    if not target or target.startswith(b"/") or b"\0" in target:
        return False
    depth = path.count(b"/")
    for part in target.split(b"/"):
        if part == b"..":
            depth -= 1
        elif part not in (b"", b"."):
            depth += 1
        if depth < 0:
            return False
    return True


def _make(base: bytes, folder: bytes, known: set[bytes]) -> None:
    if folder in known:
        return
    parent = folder.rpartition(b"/")[0]
    _make(base, parent, known)
    os.mkdir(base + b"/" + folder, stat.S_IRWXU)  # noqa: PTH102 - bytes
    known.add(folder)


def _write(place: bytes, data: bytes, mode: int) -> None:
    # O_EXCL: two names that a file system cannot tell apart must not overwrite each other.
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        # The umask of the caller must not decide whether the guest can read the file.
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def _chmod(place: bytes, mode: int) -> None:
    os.chmod(place, mode)  # noqa: PTH101 - bytes


def refuse_odd(path: bytes) -> None:
    """Raise ``GitError`` for a path that cannot be laid out: an empty part, ``.``, ``..``, git's own folder."""
    if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/")):
        raise GitError(f"the tree holds a path that cannot be laid out: {text_of(path)!r}", hint="see `git fsck`")
