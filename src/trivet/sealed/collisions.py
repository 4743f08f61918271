"""Names of which a reader may see something else: those that file systems cannot tell from others, those that a tree holds twice."""

from __future__ import annotations

from collections.abc import Mapping

from trivet.git import FOLDER, Repository
from trivet.model import Change, Commit
from trivet.zones_names import folded


def collisions(repository: Repository, base: Commit, head: Commit, changes: tuple[Change, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """``(new path, other path)`` for each new name that collides with a neighbour in head, or with one that base gained meanwhile.

    Only the folders of new names are read. Names that collide on base already, and a rename by case alone, are no news.
    """
    raws = [change.raw for change in changes]
    new = [raw.path for raw in raws if raw.new_mode and not raw.old_mode]
    gone = {raw.path for raw in raws if not raw.new_mode} if new else set()
    looked: set[bytes] = set()
    found: dict[bytes, bytes] = {}
    for path in new:
        parts = path.split(b"/")
        for depth in range(len(parts)):
            place = b"/".join(parts[: depth + 1])
            if place in looked:
                continue
            looked.add(place)
            other = _twin(repository, base, head, place, gone)
            if other is not None:
                found[path] = other
    return tuple(found.items())


def _twin(repository: Repository, base: Commit, head: Commit, place: bytes, gone: set[bytes]) -> bytes | None:
    folder, _, name = place.rpartition(b"/")
    on_base = _names(repository, base.tree, folder)
    if name in on_base:
        return None
    wanted = folded(name)
    prefix = folder + b"/" if folder else b""
    on_head = _names(repository, head.tree, folder)
    for other in (*on_head, *(row for row in on_base if row not in on_head)):
        if other == name or folded(other) != wanted:
            continue
        path = prefix + other
        if other not in on_head and (path in gone or any(row.startswith(path + b"/") for row in gone)):
            continue
        return path
    return None


def _names(repository: Repository, tree: str, folder: bytes) -> Mapping[bytes, object]:
    oid = tree
    if folder:
        item = repository.find(tree, folder)
        if item is None or item.mode != FOLDER:
            return {}
        oid = item.oid
    return repository.names(oid)


def contradictions(repository: Repository, base: Commit, head: Commit) -> tuple[bytes, ...]:
    """Changed paths of which a tree says two things: named twice or out of order, so that each reader may see another file.

    No honest git writes such a tree. It shows as a path that is new although it was there, or gone although it still is.
    """
    found: dict[bytes, None] = {}
    for tree in repository.trees_before(base, head):
        for row in repository.diff(tree, head.tree):
            if row.old_mode and row.new_mode:
                continue
            before, after = repository.find(tree, row.path), repository.find(head.tree, row.path)
            new = None if after is None or after.mode == FOLDER else after.oid
            old = None if before is None or before.mode == FOLDER else before.oid
            if (new, old) != ((row.new_oid, None) if row.new_mode else (None, row.old_oid)):
                found[row.path] = None
    return tuple(found)
