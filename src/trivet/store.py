"""One SQLite file of values by kind and key, safe under concurrent processes and `kill -9`, bounded, and no authority on anything.

Every row carries a digest of all that it says; what does not fit is no row. A file that is damaged or of another version is set aside with
one message. Rows belong to a *family* (one base in one environment); a family whose values proved wrong is kept out until `clear`.

Nothing is synced to disk: a kill loses nothing, and what a power cut tears is found by the digests or by SQLite itself.
"""

from __future__ import annotations

import os
import stat
import zlib

from trivet.stamps import blake2b

TYPE_CHECKING = False  # this module is on the way of every cache hit: typing, pathlib and dataclasses cost more than the look-up
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

FILE = "trivet.db"
VERSION = 1
BOUND_B = 512 * 1024 * 1024
"""Bytes of values at most; the rows that were used longest ago go first."""
VALUE_MAX_B = 64 * 1024 * 1024
_BUSY_S = 5.0
_STALE = 64
"""A row that is asked for is marked as used only if that many marks were given since: a hit shall not cost a write."""
_SCHEMA = f"""
PRAGMA user_version = {VERSION};
CREATE TABLE rows (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, family TEXT NOT NULL, made REAL NOT NULL, used INTEGER NOT NULL,
  size INTEGER NOT NULL, digest BLOB NOT NULL, value BLOB NOT NULL, UNIQUE (kind, key)
);
CREATE INDEX rows_used ON rows (used, size);
CREATE INDEX rows_family ON rows (family);
CREATE TABLE quarantine (family TEXT PRIMARY KEY, made REAL NOT NULL, why TEXT NOT NULL);
"""
_FIND = (
    "SELECT id, family, used, digest, value, (SELECT max(used) FROM rows) FROM rows WHERE kind = ? AND key = ?"
    " AND family NOT IN (SELECT family FROM quarantine)"
)


def _silent(_line: str) -> None:
    return None


def trusted(folder: str | Path, say: Callable[[str], object] = _silent, *, make: bool = True) -> bool:
    """Whether a folder exists (or, with ``make``, can be made), belongs to this user, and is closed to all others (mode 0700)."""
    try:
        if make:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.stat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            say(f"the cache folder {folder} belongs to another user: nothing is kept; name another with XDG_CACHE_HOME")
            return False
        if found.st_mode & 0o022:
            say(f"the cache folder {folder} can be written by others: nothing is kept; remove it, or `chmod 700` it if you trust it")
            return False
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        if make:
            say(f"the cache folder {folder} cannot be used: {error.strerror}; nothing is kept")
        return False
    return True


class Store:
    """The rows of one folder. A connection lives for one call, so that forks and threads need no care.

    Args:
        folder: where the file lies; ask ``trusted`` first.
        say: is told one line when the file had to be set aside or cannot be used.
        bound_b: bytes of values to keep at most.
    """

    def __init__(self, folder: str | Path, say: Callable[[str], object] = _silent, *, bound_b: int = BOUND_B) -> None:
        self.folder = os.fspath(folder)
        self.path = os.path.join(self.folder, FILE)
        self.bound_b = bound_b
        self._say = say

    def get(self, kind: str, key: str) -> tuple[str, bytes] | None:
        """``(family, value)``, or None where there is no whole row outside of quarantine."""
        found = self._tried(lambda link: self._get(link, kind, key))
        return found if isinstance(found, tuple) else None

    def put(self, kind: str, key: str, value: bytes, *, family: str, made: float = 0.0) -> bool:
        """Keep a value; False where it cannot be kept (too large, disk full, busy, family in quarantine)."""
        packed = zlib.compress(value, 1)
        if len(packed) > min(VALUE_MAX_B, self.bound_b):
            return False
        row = (kind, key, family, made, len(packed), _digest(kind, key, family, packed), packed)
        return self._tried(lambda link: self._put(link, row)) is True

    def quarantine(self, family: str, why: str, *, made: float = 0.0) -> None:
        """Take out all rows of a family, and keep it out."""

        def write(link: sqlite3.Connection) -> bool:
            link.execute("BEGIN IMMEDIATE")
            link.execute("INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?)", (family, made, why))
            link.execute("DELETE FROM rows WHERE family = ?", (family,))
            link.execute("COMMIT")
            return True

        if self._tried(write) is not True:
            # A family that proved wrong must not be asked again: without a way to note that, the whole file goes.
            self._aside(self._stamp(), f"{family[:12]} could not be put into quarantine")

    def info(self) -> dict[str, object]:
        """``rows`` by kind as ``[count, bytes]``, ``bytes``, ``bound``, ``file_bytes``, ``families`` and ``quarantine`` (family, why)."""

        def read(link: sqlite3.Connection) -> dict[str, object]:
            kinds = {kind: [count, size] for kind, count, size in link.execute("SELECT kind, count(*), sum(size) FROM rows GROUP BY kind")}
            return {
                "rows": kinds,
                "bytes": sum(size for _, size in kinds.values()),
                "bound": self.bound_b,
                "file_bytes": os.stat(self.path).st_size,
                "families": link.execute("SELECT count(DISTINCT family) FROM rows").fetchone()[0],
                "quarantine": link.execute("SELECT family, why FROM quarantine ORDER BY family").fetchall(),
            }

        found = self._tried(read) if os.path.exists(self.path) else None
        empty: dict[str, object] = {"rows": {}, "bytes": 0, "bound": self.bound_b, "file_bytes": 0, "families": 0, "quarantine": []}
        return found if isinstance(found, dict) else empty

    def clear(self) -> None:
        """Remove everything, what was set aside included."""
        with _Lock(self.folder):
            for name in os.listdir(self.folder):
                if name.startswith(FILE):
                    os.unlink(os.path.join(self.folder, name))

    def check(self) -> tuple[int, list[str]]:
        """Read every row: how many are whole, and what is wrong with the others (which are removed)."""
        problems: list[str] = []

        def read(link: sqlite3.Connection) -> int:
            problems.extend(text for (text,) in link.execute("PRAGMA integrity_check") if text != "ok")
            bad = []
            count = 0
            for number, kind, key, family, digest, value in link.execute("SELECT id, kind, key, family, digest, value FROM rows"):
                count += 1
                if _digest(kind, key, family, value) != digest:
                    bad.append(number)
                    problems.append(f"{kind} {key[:12]}: the row does not have the bytes that its digest names")
            link.executemany("DELETE FROM rows WHERE id = ?", [(number,) for number in bad])
            return count - len(bad)

        found = self._tried(read) if os.path.exists(self.path) else 0
        return (found if isinstance(found, int) else 0), problems

    def values(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """``(key, value)`` of all whole rows of one kind."""
        rows = self._tried(lambda link: link.execute("SELECT key FROM rows WHERE kind = ? ORDER BY used DESC", (kind,)).fetchall())
        for (key,) in rows if isinstance(rows, list) else []:
            found = self.get(kind, key)
            if found is not None:
                yield key, found[1]

    # --- inside ---------------------------------------------------------------------------------------

    def _get(self, link: sqlite3.Connection, kind: str, key: str) -> tuple[str, bytes] | None:
        row = link.execute(_FIND, (kind, key)).fetchone()
        if row is None:
            return None
        number, family, used, digest, packed, last = row
        if not isinstance(packed, bytes) or not isinstance(family, str) or _digest(kind, key, family, packed) != digest:
            return None
        if last - used > _STALE:
            link.execute("UPDATE rows SET used = ? WHERE id = ?", (last + 1, number))
        return family, zlib.decompress(packed)

    def _put(self, link: sqlite3.Connection, row: tuple[str, str, str, float, int, bytes, bytes]) -> bool:
        kind, key, family, made, size, digest, packed = row
        link.execute("BEGIN IMMEDIATE")
        if link.execute("SELECT 1 FROM quarantine WHERE family = ?", (family,)).fetchone():
            link.execute("ROLLBACK")
            return False
        used = 1 + (link.execute("SELECT max(used) FROM rows").fetchone()[0] or 0)
        columns = "(kind, key, family, made, used, size, digest, value)"
        values = (kind, key, family, made, used, size, digest, packed)
        link.execute(f"INSERT OR REPLACE INTO rows {columns} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608 - a constant
        total = link.execute("SELECT sum(size) FROM rows").fetchone()[0]
        if total > self.bound_b:
            self._shrink(link, total)
        link.execute("COMMIT")
        return True

    def _shrink(self, link: sqlite3.Connection, total: int) -> None:
        """Drop what was used longest ago, down to nine tenths of the bound, so that not every write has to."""
        gone = []
        for number, size in link.execute("SELECT id, size FROM rows ORDER BY used").fetchall()[:-1]:
            if total <= self.bound_b * 9 // 10:
                break
            gone.append((number,))
            total -= size
        link.executemany("DELETE FROM rows WHERE id = ?", gone)

    def _tried(self, work: Callable[[sqlite3.Connection], object]) -> object:
        """Do one thing with a fresh connection; a file that is damaged or not ours is set aside, and there is nothing then."""
        sqlite = _sqlite()
        stamp = self._stamp()
        try:
            link = self._open()
            try:
                return work(link)
            finally:
                link.close()
        except _ForeignError as error:
            self._aside(stamp, str(error))
        except sqlite.OperationalError as error:
            if str(error).startswith("no such"):
                self._aside(stamp, str(error))
            elif "locked" not in str(error) and "busy" not in str(error):
                self._say(f"the cache {self.path} cannot be used: {error}")
        except sqlite.DatabaseError as error:
            self._aside(stamp, str(error))
        except (zlib.error, OSError) as error:
            self._say(f"the cache {self.path} cannot be used: {error}")
        return None

    def _open(self) -> sqlite3.Connection:
        link: sqlite3.Connection = _sqlite().connect(self.path, timeout=_BUSY_S, isolation_level=None)
        try:
            link.execute("PRAGMA synchronous = OFF")
            link.execute("PRAGMA trusted_schema = OFF")
            version = link.execute("PRAGMA user_version").fetchone()[0]
            if version != VERSION:
                self._make(link)
        except BaseException:
            link.close()
            raise
        return link

    def _make(self, link: sqlite3.Connection) -> None:
        """Make the tables of a new file; another process may be at it too."""
        if link.execute("PRAGMA user_version").fetchone()[0] == 0:
            link.execute("PRAGMA journal_mode = WAL")
        link.execute("BEGIN IMMEDIATE")
        version = link.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and not link.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in _SCHEMA.split(";"):
                link.execute(statement)
            link.execute("COMMIT")
            return
        link.execute("ROLLBACK")
        if version != VERSION:
            raise _ForeignError(f"it is of version {version}, and this trivet keeps version {VERSION}")

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _aside(self, stamp: tuple[int, int] | None, why: str) -> None:
        """Rename the file that could not be used, unless another process has done so already; one that was set aside before goes."""
        with _Lock(self.folder):
            if stamp is None or self._stamp() != stamp:
                return
            os.replace(self.path, self.path + ".aside")
            for ending in ("-wal", "-shm"):
                if os.path.exists(self.path + ending):
                    os.unlink(self.path + ending)
            self._say(f"the cache {self.path} was set aside as {FILE}.aside: {why}; a new one is begun")


class _ForeignError(Exception):
    """The file is not one of this version."""


class _Lock:
    """Holds the folder's lock for a block, and lets errors of the system pass: then nothing was done. A dead process holds no lock."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "lock")
        self._handle = -1

    def __enter__(self) -> None:
        import fcntl  # noqa: PLC0415 - only when a file is set aside or removed

        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        os.close(self._handle)
        return kind is not None and issubclass(kind, OSError)


def _sqlite() -> ModuleType:
    """The part of sqlite3 that is written in C: its other half imports datetime, which takes longer than a look-up."""
    try:
        return __import__("_sqlite3")
    except ImportError:
        return __import__("sqlite3")


def _digest(kind: str, key: str, family: str, packed: bytes) -> bytes:
    digest = blake2b(f"{kind}\0{key}\0{family}\0".encode(), digest_size=32)
    digest.update(packed)
    return digest.digest()
