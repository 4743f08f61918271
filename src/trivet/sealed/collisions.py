"""New names that some file systems cannot tell from others: case, Unicode form, invisible characters, trailing dots."""

from __future__ import annotations

from trivet.git import FOLDER, Repository
from trivet.model import Change, Commit
from trivet.zones_names import folded


def collisions(repository: Repository, base: Commit, head: Commit, changes: tuple[Change, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """``(new path, other path)`` for each new name that collides with a neighbour in head, or with one that base gained meanwhile.

    Only the folders of new names are read. Names that collide on base already, and a rename by case alone, are no news.
    """
    gone = {change.path for change in changes if not change.raw.new_mode}
    looked: set[bytes] = set()
    found: dict[bytes, bytes] = {}
    for change in changes:
        if not change.raw.new_mode or change.raw.old_mode:
            continue
        parts = change.path.split(b"/")
        for depth in range(len(parts)):
            place = b"/".join(parts[: depth + 1])
            if place in looked:
                continue
            looked.add(place)
            other = _twin(repository, base, head, place, gone)
            if other is not None:
                found[change.path] = other
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


def _names(repository: Repository, tree: str, folder: bytes) -> dict[bytes, None]:
    oid = tree
    if folder:
        item = repository.find(tree, folder)
        if item is None or item.mode != FOLDER:
            return {}
        oid = item.oid
    return dict.fromkeys(row.name for row in repository.level(oid))
