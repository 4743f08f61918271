"""A real PostgreSQL server for tests, from the distribution's package, started by the suite itself and gone with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")) if Path("/usr/lib/postgresql").is_dir() else []
    return str(found[-1]) if found else shutil.which(name)


needs_postgresql = pytest.mark.skipif(_program("initdb") is None, reason="no initdb: apt-get install -y postgresql")


def _unprivileged() -> str | None:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


@contextmanager
def postgresql() -> Iterator[str]:
    """Start a server on a Unix socket of its own; gives the URL of an empty database."""
    user = _unprivileged()
    root = Path(tempfile.mkdtemp(prefix="trivet-pg-", dir="/tmp"))
    try:
        if user is not None:
            shutil.chown(root, user)
        initdb, server = _program("initdb"), _program("postgres")
        assert initdb is not None
        assert server is not None
        data = root / "data"
        as_user = {"user": user, "extra_groups": []} if user is not None else {}
        env = {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(root)}
        done = subprocess.run([initdb, "-D", data, "-U", "trivet", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"], cwd=root, env=env, capture_output=True, check=False, **as_user)
        assert done.returncode == 0, done.stderr.decode()
        words = [server, "-D", data, "-k", root, "-h", "", "-F", "-c", "max_connections=120", "-c", "shared_buffers=32MB", "-c", "full_page_writes=off"]
        with (root / "log").open("wb") as log:
            child = subprocess.Popen(words, cwd=root, env=env, stdout=log, stderr=log, **as_user)
        try:
            _wait(child, root / "log")
            yield f"postgresql+psycopg://trivet@/postgres?host={root}"
        finally:
            child.terminate()
            child.wait(30)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _wait(child: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while b"ready to accept connections" not in log.read_bytes():
        assert child.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)
