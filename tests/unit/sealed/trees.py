"""A tree in memory, for tests of everything that takes a ``Tree``."""

import hashlib

from trivet.model import Entry, OraclePolicy, Policy, ZonePolicy


class MemoryTree:
    label = "memory"

    def __init__(self, files: dict[str, str | bytes], links: dict[str, str] | None = None) -> None:
        self.files = {
            path.encode("utf-8", "surrogateescape"): text.encode() if isinstance(text, str) else text for path, text in files.items()
        }
        self.links = {path.encode(): target.encode() for path, target in (links or {}).items()}

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        rows = [Entry(path=path, mode=0o100644, oid=hashlib.sha1(data).hexdigest()) for path, data in self.files.items()]
        rows += [Entry(path=path, mode=0o120000, oid=hashlib.sha1(target).hexdigest()) for path, target in self.links.items()]
        kept = [row for row in rows if not under or any(row.path == path or row.path.startswith(path + b"/") for path in under)]
        return tuple(sorted(kept, key=lambda entry: entry.path))

    def read(self, path: bytes) -> bytes | None:
        return self.links.get(path, self.files.get(path))


def policy(**oracle) -> Policy:
    given = {"manifest": "tests/sealed/MANIFEST.txt", "digests": ("fixtures/sealed/MANIFEST.sha256",), "leases": "ci/flake_leases.json"}
    zones = ZonePolicy(
        source=("src/**",),
        oracle=("tests/sealed/**", "fixtures/sealed/**", "ci/flake_leases.json"),
        proposed=("tests/proposed/**",),
        inert=("*.md",),
    )
    return Policy(preset="verdicts", source="preset", digest="0" * 64, zones=zones, oracle=OraclePolicy(**{**given, **oracle}))
