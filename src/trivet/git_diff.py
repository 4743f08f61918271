"""The rows of ``diff-tree --raw -z``, read while git still writes them."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator

from trivet.errors import GitError
from trivet.model import RawChange

ARGUMENTS = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
"""No similarity score ever decides which zone a path left."""
_CHUNK_B = 262_144
_MODES = {f"{mode:06o}": mode for mode in (0, 0o100644, 0o100755, 0o100664, 0o120000, 0o160000, 0o040000)}


def batches_of(child: subprocess.Popen[bytes], timeout_s: float) -> Iterator[list[RawChange]]:
    """All rows in git's order, as they come: with two cores the reader does not wait for the whole of git's work.

    Raises:
        GitError: git failed, wrote something else, or was silent for ``timeout_s``.
    """
    rest = b""
    with child:
        try:
            for data in _chunks(child, timeout_s):
                parts = (rest + data).split(b"\0")
                whole = (len(parts) - 1) // 2 * 2
                rest = b"\0".join(parts[whole:])
                yield list(map(_row, parts[0:whole:2], parts[1:whole:2]))
        except BaseException:
            child.kill()
            raise
    if child.returncode or rest:
        raise GitError(f"git diff-tree failed with status {child.returncode}", hint="see `git fsck`; git 2.38 or later is needed")


def _chunks(child: subprocess.Popen[bytes], timeout_s: float) -> Iterator[bytes]:
    if child.stdout is None:
        return
    handle = child.stdout.fileno()
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    while True:
        if not waiting.poll(timeout_s * 1000):
            raise GitError(f"git diff-tree was silent for {timeout_s:.0f} s")
        data = os.read(handle, _CHUNK_B)
        if not data:
            return
        yield data


def _row(meta: bytes, path: bytes) -> RawChange:
    text = meta.decode("ascii")
    stop = len(text) - 2  # two modes of six digits, two ids of one length, one letter
    middle = (15 + stop) // 2
    old, new = _MODES.get(text[1:7]), _MODES.get(text[8:14])
    if old is None or new is None or text[middle] != " " or text[stop] != " ":
        raise GitError(f"git diff-tree wrote a row that cannot be read: {text[:200]!r}")
    return RawChange(path=path, status=text[-1], old_mode=old, new_mode=new, old_oid=text[15:middle], new_oid=text[middle + 1 : stop])
