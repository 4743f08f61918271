"""From one laid tree to another: only the folders whose ids differ are read, only the leaves that differ are written.

Nothing is believed that was not looked at: each leaf that was written is read back and hashed, each folder in which something came or went
is compared with its tree by names and modes.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trivet.git import EXECUTABLE, FOLDER, GITLINK, LINK, Item, Repository
from trivet.git_objects import hash_of, parse_tree
from trivet.model import Entry
from trivet.stage import overlay

_READ_RUN = 0o555
Level = Callable[[str], dict[bytes, Item]]
"""Gives one level of a tree by name."""


class Broken(Exception):  # noqa: N818 - a state, told to people
    """A laid tree is not what its note says."""


@dataclass(slots=True)
class _Plan:
    """What to do, as paths relative to the root: leaves to remove and to write, folders to make, to remove, and to compare at the end."""

    gone: list[tuple[bytes, int]] = field(default_factory=list)
    new: list[Entry] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)
    removed: list[bytes] = field(default_factory=list)
    touched: dict[bytes, str] = field(default_factory=dict)


def switch(repository: Repository, old: str, own: Mapping[str, bytes], new: str, root: Path) -> None:
    """Turn the tree ``old`` that lies in ``root`` into ``new``.

    Args:
        repository: where objects come from.
        old: the id of what lies there.
        own: raw trees of ``old`` that the repository need not have.
        new: the id of what shall lie there.
        root: the folder; read-only before and after.

    Raises:
        Broken: what lies there is not ``old``, or what was written is not ``new``.
        GitError: an object is missing.
    """

    def level(oid: str) -> dict[bytes, Item]:
        rows = parse_tree(own[oid], len(oid) // 2) if oid in own else repository.level(oid)
        return {row.name: row for row in rows}

    plan = _Plan()
    _compare(level, old, new, b"", plan)
    base = os.fsencode(root)
    try:
        _carry_out(repository, plan, base)
    except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise Broken(f"{error.strerror} while it was switched") from error
    for entry in plan.new:
        _check_leaf(repository, entry, base)
    for folder, oid in plan.touched.items():
        check_folder(repository, oid, folder, base)


def _compare(level: Level, old: str, new: str, folder: bytes, plan: _Plan) -> None:
    before, after = level(old), level(new)
    for name, item in before.items():
        other = after.get(name)
        if other == item:
            continue
        path = folder + b"/" + name if folder else name
        if item.mode == FOLDER and other is not None and other.mode == FOLDER:
            _compare(level, item.oid, other.oid, path, plan)
            continue
        plan.touched[folder] = new
        if item.mode == FOLDER:
            _all_gone(level, item.oid, path, plan)
        else:
            plan.gone.append((path, item.mode))
    for name, item in after.items():
        was = before.get(name)
        if item == was or (item.mode == FOLDER and was is not None and was.mode == FOLDER):
            continue
        plan.touched[folder] = new
        path = folder + b"/" + name if folder else name
        if item.mode == FOLDER:
            _all_new(level, item.oid, path, plan)
        else:
            plan.new.append(Entry(path=path, mode=item.mode, oid=item.oid))


def _all_gone(level: Level, tree: str, folder: bytes, plan: _Plan) -> None:
    for item in level(tree).values():
        path = folder + b"/" + item.name
        if item.mode == FOLDER:
            _all_gone(level, item.oid, path, plan)
        else:
            plan.gone.append((path, item.mode))
    plan.removed.append(folder)


def _all_new(level: Level, tree: str, folder: bytes, plan: _Plan) -> None:
    plan.made.append(folder)
    plan.touched[folder] = tree
    for item in level(tree).values():
        path = folder + b"/" + item.name
        if item.mode == FOLDER:
            _all_new(level, item.oid, path, plan)
        else:
            plan.new.append(Entry(path=path, mode=item.mode, oid=item.oid))


def _carry_out(repository: Repository, plan: _Plan, base: bytes) -> None:
    made = set(plan.made)
    open_folders = [folder for folder in (*plan.touched, *plan.removed) if folder not in made]
    for entry in plan.new:
        overlay.refuse_odd(entry.path)
    for folder in open_folders:
        os.chmod(_at(base, folder), stat.S_IRWXU)  # noqa: PTH101 - bytes
    for path, mode in plan.gone:
        if mode == GITLINK:
            os.rmdir(_at(base, path))  # noqa: PTH106 - bytes
        elif mode != LINK or os.path.lexists(_at(base, path)):  # a link that leaves the tree was never laid
            os.unlink(_at(base, path))  # noqa: PTH108 - bytes
    for folder in plan.removed:
        os.rmdir(_at(base, folder))  # noqa: PTH106 - bytes
    for folder in plan.made:
        overlay.refuse_odd(folder)
        os.mkdir(_at(base, folder), stat.S_IRWXU)  # noqa: PTH102 - bytes
    overlay.write_leaves(repository, plan.new, base)
    for folder in plan.touched:
        os.chmod(_at(base, folder), _READ_RUN)  # noqa: PTH101 - bytes


def _check_leaf(repository: Repository, entry: Entry, base: bytes) -> None:
    place = _at(base, entry.path)
    if entry.mode == GITLINK:
        return
    if entry.mode == LINK:
        target = os.readlink(place) if os.path.islink(place) else None  # noqa: PTH114, PTH115 - bytes
        if target is None and not overlay.stays_inside(entry.path, repository.blob(entry.oid)):
            return
        data = target
    else:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123 - a handle
            data = file.read()
    if data is None or hash_of("blob", data, "sha256" if len(entry.oid) > 40 else "sha1") != entry.oid:  # noqa: PLR2004 - hex digits of SHA-1
        raise Broken(f"{os.fsdecode(entry.path)} does not have the bytes of its object")


def check_folder(repository: Repository, tree: str, folder: bytes, base: bytes) -> None:
    """Compare one laid folder with its tree: names, kinds, permissions, and that nobody else has a hand in it.

    Raises:
        Broken: they differ.
    """
    place = _at(base, folder)
    wanted = {item.name: item for item in repository.level(tree)}
    if stat.S_IMODE(os.lstat(place).st_mode) != _READ_RUN:
        raise Broken(f"the folder {os.fsdecode(folder) or '.'} can be written")
    seen = set()
    with os.scandir(place) as rows:
        for row in rows:
            item = wanted.get(row.name)
            facts = row.stat(follow_symlinks=False)
            if item is None or not _fits(item, facts):
                raise Broken(f"{os.fsdecode(os.path.join(folder, row.name))} is not what stands in the tree")  # noqa: PTH118 - bytes
            seen.add(row.name)
    for name in wanted.keys() - seen:
        path = folder + b"/" + name if folder else name
        if wanted[name].mode != LINK or overlay.stays_inside(path, repository.blob(wanted[name].oid)):
            raise Broken(f"{os.fsdecode(path)} is missing")


def _fits(item: Item, facts: os.stat_result) -> bool:
    if facts.st_uid != os.geteuid():
        return False
    if item.mode == LINK:
        return stat.S_ISLNK(facts.st_mode)
    if item.mode in (FOLDER, GITLINK):
        return stat.S_ISDIR(facts.st_mode)
    return facts.st_mode == stat.S_IFREG | (0o555 if item.mode == EXECUTABLE else 0o444) and facts.st_nlink == 1


def sample(repository: Repository, tree: str, root: Path, count: int) -> None:
    """Compare the folders on ``count`` random ways from the root down.

    Raises:
        Broken: one of them is not what stands in the tree.
    """
    draw = random.SystemRandom()
    base = os.fsencode(root)
    done = set[bytes]()
    for _ in range(count):
        folder, oid = b"", tree
        while True:
            if folder not in done:
                done.add(folder)
                check_folder(repository, oid, folder, base)
            inner = [item for item in repository.level(oid) if item.mode == FOLDER]
            if not inner:
                break
            item = draw.choice(inner)
            folder, oid = (folder + b"/" + item.name if folder else item.name), item.oid


def verify(repository: Repository, entries: Iterable[Entry], root: Path) -> None:
    """Compare a whole laid tree by content: every leaf is read, and nothing else may be there.

    Raises:
        Broken: they differ.
    """
    base = os.fsencode(root)
    paths = set[bytes]()
    for entry in entries:
        try:
            _check_leaf(repository, entry, base)
        except OSError as error:
            raise Broken(f"{os.fsdecode(entry.path)}: {error.strerror}") from error
        paths.add(entry.path)
    for path in _leaves(base):
        if path not in paths:
            raise Broken(f"{os.fsdecode(path)} is in no tree")


def _leaves(base: bytes) -> Iterator[bytes]:
    for folder, inner, files in os.walk(base):
        links = [name for name in inner if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118 - bytes
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(folder, name), base)  # noqa: PTH118 - bytes


def _at(base: bytes, path: bytes) -> bytes:
    return base + b"/" + path if path else base
