"""The folder in which leases are kept: its policy, seal, ledger, skips and digests, and the edits of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import UsageError
from trivet.git import WorkTree
from trivet.model import LeaseMatch, Ledger, Policy, Seal, SkipSite
from trivet.sealed import ledger as ledger_file
from trivet.sealed.digest import Digest, Digests
from trivet.sealed.manifest import read_seal
from trivet.sealed.matching import digests_of, match_leases
from trivet.sealed.policy import read_policy
from trivet.sealed.skips import scan_skips
from trivet.sealed.strict_json import StrictError
from trivet.sealed.work_tree import write
from trivet.zones import Zones

DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A work tree as ``trivet lease`` sees it."""

    tree: WorkTree
    policy: Policy
    zones: Zones
    seal: Seal
    ledger: Ledger
    sites: tuple[SkipSite, ...]
    matches: tuple[LeaseMatch, ...]
    digests: Digests
    now: float

    @property
    def path(self) -> bytes:
        """The ledger's path.

        Raises:
            UsageError: the policy names no ledger.
        """
        if self.policy.oracle.leases is None:
            raise UsageError(
                "the policy names no lease ledger", where=self.policy.source, hint="name it as `leases` in [oracle] of trivet.toml"
            )
        return self.policy.oracle.leases.encode("utf-8", "surrogateescape")

    def data(self) -> bytes:
        """The ledger's bytes; a ledger without rows where there is none yet."""
        return self.tree.read(self.path) or ledger_file.EMPTY

    def find(self, test: str) -> tuple[str, str]:
        """File and function of ``path::Class::name``, ``path::name`` or ``stem.name``.

        Raises:
            UsageError: no or several sealed tests are meant.
        """
        plain = test.split("[", 1)[0]
        file, colons, rest = plain.partition("::")
        if colons:
            found = [(file, rest.replace("::", "."))]
        else:
            stem, _, function = plain.partition(".")
            found = [(path, function) for path in self.seal.tests if path.rpartition("/")[2] == f"{stem}.py"]
        found = [place for place in found if self.digests.of(*place) is not None]
        if len(found) != 1:
            what = "no sealed test is" if not found else f"{len(found)} sealed tests are"
            raise UsageError(f"{what} meant by {test!r}", hint="write it as `path::Class::function`")
        return found[0]

    def digest(self, file: str, function: str) -> Digest:
        """The digest of a test that is known to exist."""
        digest = self.digests.of(file, function)
        if digest is None:
            raise UsageError(f"{file} has no {function}", where=self.tree.label)
        return digest

    def of(self, file: str, function: str) -> LeaseMatch | None:
        """The row that names a test, whether it holds or not."""
        return next((match for match in self.matches if (match.file, match.function) == (file, function)), None)

    def row(self, file: str, function: str, *, signature: str, expires_at: int, owner: str, reason: str) -> dict[str, object]:
        """A new row with the strong digest of the test as it stands."""
        digest = self.digest(file, function)
        stem = file.rpartition("/")[2].removesuffix(".py")
        short = function.isidentifier() and stem.replace("-", "_").isidentifier() and file.endswith(".py")
        return {
            "qualname": f"{stem}.{function}" if short else f"{file}::{function}",
            "path": file,
            "bytecode_hash": digest.strong,
            "source_hash": digest.source_hash,
            "python": digest.python,
            "failure_signature": signature,
            "expires_at": expires_at,
            "owner": owner,
            "reason": reason,
        }

    def expiry(self, days: float) -> int:
        """Seconds since the epoch, ``days`` from now.

        Raises:
            UsageError: not more than 0, or past the longest lease of the policy.
        """
        longest = self.policy.oracle.max_lease_days
        if not 0 < days <= longest:
            raise UsageError(f"a lease lasts more than 0 and at most {longest} days", where="--days")
        return int(self.now + days * DAY_S)

    def save(self, data: bytes) -> None:
        """Write the ledger, but never one that would not be read."""
        read = ledger_file.parse_ledger(
            data, self.path.decode("utf-8", "replace"), now=self.now, max_lease_days=self.policy.oracle.max_lease_days
        )
        new = [drift for drift in read.drifts if (drift.rule, drift.message) not in {(old.rule, old.message) for old in self.ledger.drifts}]
        if new:
            raise UsageError(f"the row would be refused: {new[0].message}", where=new[0].rule)
        write(self.tree.root, self.path, data)

    def replaced(self, rows: Sequence[Mapping[str, object]], stale: set[int | None]) -> bytes:
        """The ledger with new rows, the stale ones (by line) taken away."""
        data = self.data()
        for line in sorted((line for line in stale if line is not None), reverse=True):
            data = ledger_file.remove_row(data, line)
        return self.added(rows, data)

    def added(self, rows: Sequence[Mapping[str, object]], data: bytes | None = None) -> bytes:
        """The ledger with further rows.

        Raises:
            UsageError: the ledger is broken.
        """
        data = self.data() if data is None else data
        try:
            for row in rows:
                data = ledger_file.add_row(data, row)
        except StrictError as error:
            raise UsageError(f"the ledger can't be edited: {error.message}", where=self.path.decode("utf-8", "replace")) from error
        return data


def open_desk(root: Path, now: float) -> Desk:
    """Read a work tree.

    Raises:
        PolicyError: its policy can't be read.
    """
    tree = WorkTree(root)
    policy = read_policy(tree)
    zones = Zones(policy.zones)
    seal = read_seal(tree, policy, zones)
    ledger = ledger_file.read_ledger(tree, policy, now=now)
    return Desk(
        tree=tree,
        policy=policy,
        zones=zones,
        seal=seal,
        ledger=ledger,
        sites=scan_skips(tree, seal.tests, policy=policy),
        matches=match_leases(ledger, tree, seal.tests, policy=policy, now=now),
        digests=digests_of(tree, policy),
        now=now,
    )
