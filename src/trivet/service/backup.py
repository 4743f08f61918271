"""Backups of what the service knows: store and jobs, while it runs. Mirrors and caches can be had again and are left out; so are keys.

The two databases may be of moments apart: the sweep that every worker does puts in what one of them lacks.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url

from trivet.errors import StoreError
from trivet.service.settings import Settings

_FILES = {"store_url": "store.db", "jobs_url": "jobs.db"}
_DUMP = "store.pgdump"
_TIMEOUT_S = 24 * 3600


def back_up(settings: Settings, folder: Path) -> tuple[Path, ...]:
    """Write a backup into a new folder; the files it wrote.

    Raises:
        StoreError: the folder exists, or the database cannot be read.
    """
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"the folder of a backup must be new: {error.strerror}", where=str(folder)) from error
    if not settings.store_url.startswith("sqlite"):
        dump = folder / _DUMP
        _postgresql("pg_dump", settings.store_url, ["--format=custom", f"--file={dump}"])
        return (dump,)
    made = []
    for which, name in _FILES.items():
        source = _file(getattr(settings, which))
        if source.exists():
            _copy(source, folder / name)
            made.append(folder / name)
    if not made:
        raise StoreError("there is no store to back up", where=settings.store_url)
    return tuple(made)


def restore(settings: Settings, folder: Path) -> tuple[Path, ...]:
    """Put a backup in the place of the store, which must be empty (PostgreSQL) or not exist (SQLite): nothing is overwritten.

    Raises:
        StoreError: there is no backup in the folder, something is in its place, or the database refuses.
    """
    if not settings.store_url.startswith("sqlite"):
        dump = folder / _DUMP
        if not dump.is_file():
            raise StoreError("this folder holds no backup of PostgreSQL", where=str(folder))
        _postgresql("pg_restore", settings.store_url, ["--exit-on-error", "--no-owner", "--single-transaction"], str(dump))
        return (dump,)
    if not (folder / _FILES["store_url"]).is_file():
        raise StoreError("this folder holds no backup of a store in a file", where=str(folder))
    targets = {name: _file(getattr(settings, which)) for which, name in _FILES.items()}
    for target in targets.values():
        if target.exists():
            raise StoreError("there is a store already, and it is not overwritten", where=str(target), hint="move it away first")
    for name, target in targets.items():
        if (folder / name).is_file():
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _copy(folder / name, target)
    return tuple(targets.values())


def _file(url: str) -> Path:
    return Path(str(make_url(url).database))


def _copy(source: Path, target: Path) -> None:
    """Copy a database that may be in use: SQLite's own way, which sees one moment of it."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old, closing(sqlite3.connect(partial)) as new:
            old.backup(new)
            if new.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise StoreError("the copy is broken", where=str(source))
        partial.chmod(0o600)
        partial.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the database cannot be copied: {error}", where=str(source)) from error
    finally:
        partial.unlink(missing_ok=True)


def _postgresql(program: str, url: str, words: list[str], *more: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise StoreError(f"no {program} on this machine", hint="apt-get install postgresql-client, of the server's version or newer")
    parsed = make_url(url)
    place = {
        "PGHOST": parsed.host,
        "PGPORT": parsed.port,
        "PGUSER": parsed.username,
        "PGPASSWORD": parsed.password,
        "PGDATABASE": parsed.database,
    }
    query = {key: value for key, value in parsed.query.items() if isinstance(value, str)}
    env = {key: str(value) for key, value in place.items() if value is not None} | {"PATH": os.defpath, "LC_ALL": "C"}
    if "host" in query:
        env["PGHOST"] = query["host"]
    target = [f"--dbname={parsed.database}"]
    done = subprocess.run([found, *words, *target, *more], env=env, capture_output=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise StoreError(f"{program} failed: {done.stderr.decode('utf-8', 'replace').strip()[-500:]}")
