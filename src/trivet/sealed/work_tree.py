"""Writing into a work tree: manifests and the ledger, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from trivet.errors import UsageError


def write(root: Path, path: bytes, data: bytes) -> None:
    """Write one file of the work tree whole: to a temporary name beside it, then renamed.

    Raises:
        UsageError: the folder or the file can't be written.
    """
    target = root / os.fsdecode(path)
    name = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".trivet-", delete=False) as file:
            name = file.name
            file.write(data)
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(name).replace(target)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise UsageError(f"cannot be written: {error.strerror or error}", where=str(target)) from error
