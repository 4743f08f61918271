"""Warm trees: laid once, and from then on only the files that differ are switched. What a tree costs grows with the patch.

Each place of the pool holds one tree, a lock, and a note of what lies there. The lock belongs to the open file of one process: a killed
one gives it back, and since the note is removed before the first byte is touched, what it left half-switched is laid afresh. Runs can read
a tree and never write to it; without a wall no pool is used.

What was switched is read back and compared with its object id, and every folder that was touched with its tree; of the rest some folders
are compared by names and modes each time, and the whole by content once in a hundred times.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import GitError
from trivet.git import Repository
from trivet.model import Entry
from trivet.room import remove
from trivet.stage.overlay import lay
from trivet.stage.switching import Broken, sample, switch, verify

PLACES = 8
"""Trees that are kept at most; a gate needs two, so that four may run side by side."""
BOUND_B = 1024 * 1024 * 1024
FREE_B = 512 * 1024 * 1024
"""What must stay free on the file system."""
AUDITED = 100
_SAMPLED = 2
_VERSION = 1


@dataclass(slots=True)
class Place:
    """One locked place."""

    folder: Path
    lock: int

    @property
    def root(self) -> Path:
        """Where the tree lies."""
        return self.folder / "tree"

    @property
    def note(self) -> Path:
        """The file that says what lies there; absent while that is not sure."""
        return self.folder / "note.json"

    def release(self) -> None:
        """Let others have it."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


class Pool:
    """The warm trees of this user.

    Args:
        folder: where they lie; see ``Pool.find``.
        say: is told one line when a tree was not what it had to be.
    """

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        self.folder, self._say = folder, say
        self._held: list[Place] = []

    @classmethod
    def find(cls, say: Callable[[str], object], folder: Path | None = None, *, make: bool = True) -> Pool | None:
        """The pool in the system's temporary folder, or None where it cannot be trusted or there is no room.

        Not in ``/dev/shm``: behind both walls a run has one of its own there. A temporary folder on tmpfs is used like any other.
        """
        place = folder if folder is not None else Path(tempfile.gettempdir()) / f"trivet-trees-{os.getuid()}"
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    place.mkdir(mode=0o711)
            facts = place.lstat()
            room = os.statvfs(place)
        except OSError:
            return None
        ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022
        return cls(place, say) if ours and room.f_bavail * room.f_frsize >= FREE_B else None

    def take(self, repository: Repository, tree: str, entries: Callable[[], Iterable[Entry]]) -> Path | None:
        """Make a tree ready, hold it until ``close``, and give its folder; None where all places are taken.

        Args:
            repository: where objects come from.
            tree: the tree's id.
            entries: its leaves; asked only where it must be laid whole.

        Raises:
            GitError: an object is missing, or a path cannot be laid out.
            OSError: the disk is full.
        """
        found = self._claim(tree)
        if found is None:
            return None
        place, note = found
        try:
            if note is None or not self._warm(place, note, repository, tree):
                self._lay(place, repository, tree, tuple(entries()))
            if secrets.randbelow(AUDITED) == 0:
                self._audit(place, repository, tree, tuple(entries()))
        except BaseException:
            place.note.unlink(missing_ok=True)
            place.release()
            raise
        self._held.append(place)
        return place.root.resolve()

    def close(self) -> None:
        """Give all places back; what is too much goes."""
        for place in self._held:
            place.release()
        self._held.clear()
        self.shrink(BOUND_B)

    def shrink(self, bound_b: int) -> None:
        """Remove the trees that were used longest ago until the rest keeps to the bound; those in use stay."""
        rows = [(folder, _read(folder / "note.json")) for folder in self._folders()]
        total = sum(_size(note) for _, note in rows)
        for folder, note in rows:
            if total <= bound_b and note is not None:
                continue
            place = _locked(folder)
            if place is not None:
                total -= _size(note)
                _drop(place)

    def info(self) -> tuple[int, int]:
        """How many trees there are, and how many bytes their files have."""
        notes = [_read(folder / "note.json") for folder in self._folders()]
        return len(notes), sum(map(_size, notes))

    # --- inside ---------------------------------------------------------------------------------------

    def _folders(self) -> list[Path]:
        """The places, the one that was used longest ago first."""
        found = []
        for folder in self.folder.iterdir():
            with contextlib.suppress(OSError):
                found.append(((folder / "lock").stat().st_mtime_ns, folder))
        return [folder for _, folder in sorted(found)]

    def _claim(self, tree: str) -> tuple[Place, dict[str, object] | None] | None:
        """A locked place: one that holds the tree already, else the last used, else a new one, else the one used longest ago."""
        rows = [(folder, _read(folder / "note.json")) for folder in reversed(self._folders())]
        same = [row for row in rows if row[1] is not None and row[1]["tree"] == tree]
        others = [row for row in rows if row[1] is not None and row[1]["tree"] != tree]
        for folder, _ in (*same, *others):
            place = _locked(folder)
            if place is not None:
                os.utime(place.lock)
                return place, _read(place.note)  # as it is now that nobody else can change it
        if len(rows) >= PLACES:
            place = next((place for folder, _ in reversed(rows) if (place := _locked(folder)) is not None), None)
            return None if place is None else (place, None)
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o711)
        place = _locked(folder)
        return None if place is None else (place, None)

    def _warm(self, place: Place, note: dict[str, object], repository: Repository, tree: str) -> bool:
        own = note.get("own")
        known = {str(oid): bytes.fromhex(str(data)) for oid, data in own.items()} if isinstance(own, dict) else {}
        try:
            if note["tree"] != tree:
                place.note.unlink()
                switch(repository, str(note["tree"]), known, tree, place.root)
                _write(place, {**note, "tree": tree, "own": _own(repository)})
            sample(repository, tree, place.root, _SAMPLED)
        except Broken as problem:
            self._say(f"a warm tree was not what it had to be ({problem}); it is laid afresh")
            return False
        except (GitError, OSError, ValueError):
            return False  # of another repository, or changed since: laying it whole says what is wrong
        return True

    def _lay(self, place: Place, repository: Repository, tree: str, entries: tuple[Entry, ...]) -> None:
        place.note.unlink(missing_ok=True)
        remove(place.root)
        place.root.mkdir(mode=0o755)
        lay(repository, entries, place.root)
        size = sum(facts.st_blocks * 512 for facts in _facts(place.root))
        _write(place, {"version": _VERSION, "tree": tree, "own": _own(repository), "bytes": size})

    def _audit(self, place: Place, repository: Repository, tree: str, entries: tuple[Entry, ...]) -> None:
        try:
            verify(repository, entries, place.root)
        except Broken as problem:
            self._say(f"a warm tree was not what it had to be ({problem}); it is laid afresh")
            self._lay(place, repository, tree, entries)


def _locked(folder: Path) -> Place | None:
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == (folder / "lock").stat().st_ino:
            return Place(folder, handle)
    except OSError:
        pass
    os.close(handle)
    return None


def _drop(place: Place) -> None:
    place.note.unlink(missing_ok=True)
    remove(place.folder)
    place.release()


def _read(note: Path) -> dict[str, object] | None:
    try:
        found = json.loads(note.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("version") == _VERSION and isinstance(found.get("tree"), str) else None


def _write(place: Place, note: dict[str, object]) -> None:
    partial = place.folder / "note.new"
    partial.write_text(json.dumps(note), "ascii")
    partial.chmod(0o600)
    partial.replace(place.note)


def _own(repository: Repository) -> dict[str, str]:
    """Trees that no repository keeps: those of merges, which the next switch has to read."""
    return {oid: data.hex() for oid, data in repository.own.items()}


def _size(note: dict[str, object] | None) -> int:
    size = note.get("bytes", 0) if note is not None else 0
    return size if isinstance(size, int) else 0


def _facts(root: Path) -> Iterator[os.stat_result]:
    for folder, _, files in os.walk(root):
        for name in files:
            yield os.lstat(os.path.join(folder, name))  # noqa: PTH118 - text from walk


def clear(folder: Path | None = None) -> int:
    """Remove all trees that are not in use; how many there were."""
    pool = Pool.find(lambda _line: None, folder)
    if pool is None:
        return 0
    count = pool.info()[0]
    pool.shrink(-1)
    with contextlib.suppress(OSError):
        pool.folder.rmdir()
    return count - (pool.info()[0] if pool.folder.is_dir() else 0)
