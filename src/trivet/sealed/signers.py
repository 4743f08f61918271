"""Signed commits: who of base's signers stands behind each commit of a change.

A commit counts as signed when its SSH signature over the raw object (without the signature header) was made by a key that base's
allowed_signers file names for the namespace ``git``, and is valid at the clock reading of the process. ``ssh-keygen`` does the checking;
where it is missing nothing counts as signed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from trivet.model import Policy, Signed

_LIMIT_B = 1_000_000
_TIMEOUT_S = 20


class _Commits(Protocol):
    def raw_commit(self, oid: str) -> bytes: ...


class _Tree(Protocol):
    def read(self, path: bytes) -> bytes | None: ...


def read_signers(tree: _Tree, policy: Policy) -> bytes | None:
    """The allowed_signers file of base, or None where there is none or it is over 1 MB."""
    data = tree.read(policy.owners.signers.encode("utf-8", "surrogateescape"))
    return data if data is not None and len(data) <= _LIMIT_B else None


def check_commits(repository: _Commits, oids: tuple[str, ...], signers: bytes | None, *, now: float) -> tuple[Signed, ...]:
    """Say for each commit who signed it; stops at the first that nobody signed, since one is enough to refuse."""
    tool = shutil.which("ssh-keygen")
    if signers is None or not oids:
        return ()
    rows: list[Signed] = []
    with tempfile.TemporaryDirectory(prefix="trivet-signers-") as folder:
        allowed = Path(folder, "allowed_signers")
        allowed.write_bytes(signers)
        for oid in oids:
            row = Signed(commit=oid, problem="ssh-keygen is missing on this host")
            if tool:
                row = _check(repository.raw_commit(oid), oid, tool, Path(folder), now)
            rows.append(row)
            if not row.principal:
                break
    return tuple(rows)


def split_signature(raw: bytes) -> tuple[bytes, bytes] | None:
    """Split a raw commit into what was signed and its one SSH signature; None when there is no such single signature."""
    head, blank, message = raw.partition(b"\n\n")
    payload: list[bytes] = []
    signature: list[bytes] = []
    target: list[bytes] | None = None
    found = 0
    for line in head.split(b"\n"):
        if line.startswith(b" ") and target is not None:
            target.append(line[1:] if target is signature else line)
            continue
        name = line.partition(b" ")[0]
        if name in (b"gpgsig", b"gpgsig-sha256"):
            found += 1
            target = signature
            target.append(line[len(name) + 1 :])
        else:
            target = payload
            target.append(line)
    text = b"\n".join(signature).strip() + b"\n"
    if found != 1 or not text.startswith(b"-----BEGIN SSH SIGNATURE-----\n"):
        return None
    return b"\n".join(payload) + blank + message, text


def _check(raw: bytes, oid: str, tool: str, folder: Path, now: float) -> Signed:
    parts = split_signature(raw)
    if parts is None:
        return Signed(commit=oid, problem="it carries no SSH signature")
    payload, signature = parts
    Path(folder, "signature").write_bytes(signature)
    when = "-Overify-time=" + datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S")
    common = ["-f", str(folder / "allowed_signers"), "-s", str(folder / "signature"), when]
    found = _call([tool, "-Y", "find-principals", *common], b"", folder)
    if found is None:
        return Signed(commit=oid, problem="its key is not among base's signers")
    for principal in found.decode("utf-8", "replace").splitlines():
        name = principal.strip()
        if name and _call([tool, "-Y", "verify", "-n", "git", "-I", name, *common], payload, folder) is not None:
            return Signed(commit=oid, principal=name)
    return Signed(commit=oid, problem="its signature does not verify")


def _call(argv: list[str], data: bytes, folder: Path) -> bytes | None:
    """Run ssh-keygen in a bare environment; None unless it ends with 0."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": str(folder)}
    try:
        done = subprocess.run(argv, input=data, capture_output=True, timeout=_TIMEOUT_S, check=False, env=env, cwd=folder)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
