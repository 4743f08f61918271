"""The transparency log: an append-only file in which a verdict that was given, and one that was withdrawn, both stay to be seen.

One entry is one line of canonical JSON: its index, a time, what it says (``verdict``: the digest of an envelope and what it decided;
``withdrawn``: the digest and a reason) and the SHA-256 of the line before it. Over the lines stands the Merkle tree of RFC 6962. A line is
written at once and synced before ``append`` returns; what a crash left of an unfinished line was never promised to anybody, and the next
``append`` takes it away.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trivet.attest.envelope import strict_json
from trivet.attest.merkle import consistency, inclusion, leaf_hash, root_hash
from trivet.attest.times import read, written
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from trivet.attest.checkpoint import Checkpoint

START = "0" * 64
"""What the first entry names as the line before it."""
LINE_B = 100_000
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_FIELDS = {
    "verdict": {"index", "time", "kind", "sha256", "previous", "repository", "base", "head", "policy", "statuses", "merge", "key"},
    "withdrawn": {"index", "time", "kind", "sha256", "previous", "reason"},
}


class Head(NamedTuple):
    """The state of a log: how many entries, their Merkle root, and the digest of the last line."""

    size: int
    root: bytes
    last: str


class Receipt(NamedTuple):
    """Where an appended entry stands."""

    number: int
    leaf: bytes


class Log:
    """A log file. One process at a time writes; others wait for the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, entry: Mapping[str, Any], *, now: float) -> Receipt:
        """Add one entry; when this returns it is on the disk.

        Args:
            entry: the fields of ``verdict`` or ``withdrawn`` without index, time and previous; see ``verdict_entry``.
            now: the clock reading of the process.

        Raises:
            SignatureError: the entry or the last line of the log is not of the documented form, or the file cannot be written.
        """
        try:
            with self._locked() as descriptor:
                before, end = _tail(descriptor, str(self.path))
                index, previous, at = 0, START, int(now)
                if before is not None:
                    last = _entry(before, None, str(self.path))
                    # A clock that was set back must not break the log for good.
                    index, previous, at = last["index"] + 1, hashlib.sha256(before).hexdigest(), max(at, read(last["time"]))
                row = {**entry, "index": index, "time": written(at), "previous": previous}
                line = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
                if len(line) >= LINE_B:
                    raise SignatureError("the entry is too long for the log", where=str(self.path))
                _entry(line, index, str(self.path))
                os.ftruncate(descriptor, end)
                _write_all(descriptor, line + b"\n")
                os.fsync(descriptor)
                return Receipt(number=index, leaf=leaf_hash(line))
        except OSError as error:
            raise SignatureError(f"the log cannot be written: {error.strerror or error}", where=str(self.path)) from error

    def entries(self) -> list[dict[str, Any]]:
        """All entries, checked: form, index, time and the chain of digests.

        Raises:
            SignatureError: the first entry that is not as it must be.
        """
        return [entry for entry, _ in self._checked()]

    def leaves(self) -> list[bytes]:
        """The leaf hashes of all entries, checked as ``entries`` does."""
        return [leaf_hash(line) for _, line in self._checked()]

    def head(self, size: int | None = None) -> Head:
        """The state of the log, now or when it had ``size`` entries.

        Raises:
            SignatureError: the log is broken, or shorter than that.
        """
        rows = list(self._checked())
        if size is not None and not 0 <= size <= len(rows):
            raise SignatureError(f"the log has {len(rows)} entries, not {size}", where=str(self.path))
        rows = rows[:size]
        last = hashlib.sha256(rows[-1][1]).hexdigest() if rows else START
        return Head(size=len(rows), root=root_hash([leaf_hash(line) for _, line in rows]), last=last)

    def prove_inclusion(self, index: int, size: int | None = None) -> dict[str, Any]:
        """The proof that entry ``index`` is in the log of ``size`` entries (default: all), as JSON data with hex digests.

        Raises:
            SignatureError: there is no such entry.
        """
        rows = list(self._checked())
        leaves = [leaf_hash(line) for _, line in rows][:size]
        if not 0 <= index < len(leaves):
            raise SignatureError(f"the log has no entry {index} among its first {len(leaves)}", where=str(self.path))
        path = [step.hex() for step in inclusion(leaves, index)]
        entry = rows[index][1].decode()
        return {"kind": "inclusion", "index": index, "size": len(leaves), "root": root_hash(leaves).hex(), "entry": entry, "path": path}

    def prove_consistency(self, first: int, second: int | None = None) -> dict[str, Any]:
        """The proof that the log of ``second`` entries (default: all) extends that of ``first``, as JSON data with hex digests.

        Raises:
            SignatureError: the log was never that long.
        """
        leaves = self.leaves()
        size = len(leaves) if second is None else second
        if not 0 <= first <= size <= len(leaves):
            raise SignatureError(f"the log has {len(leaves)} entries: no proof from {first} to {size}", where=str(self.path))
        path = [step.hex() for step in consistency(leaves[:size], first)]
        roots = root_hash(leaves[:first]).hex(), root_hash(leaves[:size]).hex()
        return {"kind": "consistency", "first": first, "first_root": roots[0], "second": size, "second_root": roots[1], "path": path}

    def find(self, sha256: str) -> tuple[int | None, str | None]:
        """Index of the verdict with this envelope digest (None: it is not there), and why it was withdrawn (None: it was not)."""
        index: int | None = None
        reason: str | None = None
        for entry in self.entries():
            if entry["sha256"] != sha256:
                continue
            if entry["kind"] == "withdrawn":
                reason = str(entry["reason"])
            elif index is None:
                index = int(entry["index"])
        return index, reason

    def check_holds(self, envelope: bytes) -> int:
        """Index of an envelope that is in the log and not withdrawn.

        Raises:
            SignatureError: it is not there, or is withdrawn, or the log is broken.
        """
        index, reason = self.find(hashlib.sha256(envelope).hexdigest())
        if reason is not None:
            raise SignatureError(f"this decision was withdrawn: {reason}", where=str(self.path))
        if index is None:
            raise SignatureError("this decision is not in the log", where=str(self.path), hint="`trivet log append` adds it")
        return index

    def check_extends(self, kept: Checkpoint) -> Head:
        """The state of a log that begins with the entries of which a head was kept.

        Raises:
            SignatureError: it was cut or rewritten since, or is broken.
        """
        head = self.head()
        if kept.size > head.size:
            raise SignatureError(f"the log was cut: it has {head.size} entries, the checkpoint says {kept.size}", where=str(self.path))
        if self.head(kept.size).root != kept.root:
            told = f"the log was rewritten: its first {kept.size} entries are not those of the checkpoint"
            raise SignatureError(told, where=str(self.path))
        return head

    def _checked(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        previous, index, at = START, 0, 0
        try:
            # Not to wait at a pipe that somebody put in the place of the log.
            with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise SignatureError("the log is no regular file", where=str(self.path))
                for raw in file:
                    where = f"{self.path} line {index + 1}"
                    if not raw.endswith(b"\n"):
                        raise SignatureError("the last line of the log is torn", where=where, hint="the next append takes it away")
                    line = raw[:-1]
                    entry = _entry(line, index, where)
                    if entry["previous"] != previous:
                        raise SignatureError("the chain of the log is broken: this entry does not follow the one before it", where=where)
                    if read(entry["time"]) < at:
                        raise SignatureError("the log goes back in time", where=where)
                    yield entry, line
                    previous, index, at = hashlib.sha256(line).hexdigest(), index + 1, read(entry["time"])
        except OSError as error:
            raise SignatureError(f"the log cannot be read: {error.strerror or error}", where=str(self.path)) from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        fresh = not self.path.exists()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if fresh:
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
            yield descriptor
        finally:
            os.close(descriptor)


def verdict_entry(envelope: bytes, facts: Mapping[str, Any], *, merge: bool, key: str) -> dict[str, Any]:
    """The entry of a signed decision.

    Args:
        envelope: the bytes of ``decision.dsse.json``; the log keeps their digest.
        facts: ``Attested.facts``.
        merge: what was decided.
        key: the id of the key that signed.
    """
    return {
        "kind": "verdict",
        "sha256": hashlib.sha256(envelope).hexdigest(),
        "repository": facts["repository"],
        "base": facts["base"]["commit"],
        "head": facts["head"]["commit"],
        "policy": (facts["policy"] or {}).get("digest"),
        "statuses": dict(facts["statuses"]),
        "merge": merge,
        "key": key,
    }


def withdrawn_entry(sha256: str, reason: str) -> dict[str, Any]:
    """The entry that withdraws the decision whose envelope has this digest."""
    return {"kind": "withdrawn", "sha256": sha256, "reason": reason}


def entry_of(line: bytes, where: str) -> dict[str, Any]:
    """One line of a log as its entry.

    Raises:
        SignatureError: it is not of the documented form.
    """
    return _entry(line, None, where)


def _entry(line: bytes, index: int | None, where: str) -> dict[str, Any]:
    """One line, in the one form in which it can be written."""
    try:
        return _strict_entry(line, index)
    except SignatureError as error:
        raise SignatureError(f"this entry is not of the documented form: {error.message}", where=where) from error
    except ValueError as error:
        raise SignatureError(f"this entry is not of the documented form: {error}", where=where) from error


def _strict_entry(line: bytes, index: int | None) -> dict[str, Any]:
    entry = strict_json(line, "entry")
    kind = entry.get("kind")
    if not isinstance(kind, str) or set(entry) != _FIELDS.get(kind, set()):
        raise ValueError("it does not have exactly the fields of its kind")
    if json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode() != line:
        raise ValueError("it is not in canonical form")
    if type(entry["index"]) is not int or entry["index"] < 0 or (index is not None and entry["index"] != index):
        raise ValueError(f"its index is {entry['index']!r}, not {index}")
    read(entry["time"])
    for name in ("sha256", "previous"):
        if not isinstance(entry[name], str) or not _DIGEST.match(entry[name]):
            raise ValueError(f"{name} is no SHA-256 digest")
    if kind == "withdrawn" and not (isinstance(entry["reason"], str) and entry["reason"].strip()):
        raise ValueError("a withdrawal needs a reason")
    return entry


def _tail(descriptor: int, where: str) -> tuple[bytes | None, int]:
    """The last whole line (None: there is none) and the offset behind it."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - 2 * LINE_B)
    data = os.pread(descriptor, size - start, start)
    whole = data.rfind(b"\n") + 1
    if not whole:
        if start:
            raise SignatureError("the log ends in something that is no entry", where=where)
        return None, 0
    return data[data.rfind(b"\n", 0, whole - 1) + 1 : whole - 1], start + whole


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; what a full disk cut short is taken away again."""
    begin = os.fstat(descriptor).st_size
    try:
        done = 0
        while done < len(data):
            done += os.write(descriptor, data[done:])
    except OSError:
        os.ftruncate(descriptor, begin)
        raise
