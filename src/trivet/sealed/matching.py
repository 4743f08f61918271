"""Leases against tests: which test each row means, and whether the row holds for the test as it stands."""

from __future__ import annotations

import posixpath

from trivet.git import Tree
from trivet.model import Lease, LeaseMatch, Ledger, Policy
from trivet.sealed.digest import Digest, Digests
from trivet.sealed.digest_memory import Memory
from trivet.sealed.ledger import DAY_S, function_of
from trivet.sealed.modules import deep_trees
from trivet.zones import match


def match_leases(
    ledger: Ledger, tree: Tree, tests: tuple[str, ...], *, policy: Policy, now: float, memory: Memory | None = None
) -> tuple[LeaseMatch, ...]:
    """Match every good row of the ledger.

    Args:
        ledger: the rows.
        tree: the tree in which the tests stand (base, for a patch).
        tests: its sealed test files.
        policy: base's policy (which files are sealed, and the import path).
        now: seconds since the epoch, the one reading of the process.
        memory: keeps digests by the blobs that they depend on; None digests anew.

    Returns:
        One match a row. ``problem`` says why it does not hold: no or several tests (TRV318), several rows (TRV311), expired (TRV303),
        other code (TRV304).
    """
    if not ledger.leases:
        return ()
    digests = digests_of(tree, policy)
    if memory is not None:
        named = [lease.path or lease.qualname.partition(".")[0] for lease in ledger.leases]
        digests.remember(memory, named, policy.zones.oracle)
    with deep_trees():
        found = [_match(lease, digests, tests, now) for lease in ledger.leases]
    if digests.book is not None:
        digests.book.save()
    rows: dict[tuple[str, str], int] = {}
    for one in found:
        if one.file:
            rows[one.file, one.function] = rows.get((one.file, one.function), 0) + 1
    return tuple(_several(one) if rows.get((one.file, one.function), 0) > 1 else one for one in found)


def digests_of(tree: Tree, policy: Policy) -> Digests:
    """The digests of a tree as a policy sees it."""
    return Digests(tree, lambda path: match(policy.zones.oracle, path), policy.score.paths)


def _several(one: LeaseMatch) -> LeaseMatch:
    problem = f"several rows name {one.file}::{one.function}"
    return LeaseMatch(file=one.file, function=one.function, lease=one.lease, problem=problem, rule="TRV311")


def _match(lease: Lease, digests: Digests, tests: tuple[str, ...], now: float) -> LeaseMatch:
    function = function_of(lease)
    files = [lease.path] if lease.path is not None else _of_stem(lease.qualname.partition(".")[0], tests, digests)
    seen = [(file, digest) for file in files if (digest := digests.of(file, function)) is not None]
    if len(seen) != 1:
        what = "no test" if not seen else f"{len(seen)} tests ({', '.join(file for file, _ in seen)})"
        return LeaseMatch(file="", function=function, lease=lease, problem=f"{lease.qualname} names {what}", rule="TRV318")
    file, digest = seen[0]
    if lease.expires_at <= now:
        days = int(now // DAY_S) - int(lease.expires_at // DAY_S)  # whole days of the calendar: one replay key, one text
        problem, rule = f"the lease has expired {days} days ago (owner {lease.owner})", "TRV303"
    elif not holds(lease, digest):
        problem, rule = "the lease was given for other code: the test, or what it reaches in the sealed tree, has changed", "TRV304"
    else:
        problem, rule = "", ""
    return LeaseMatch(file=file, function=function, lease=lease, problem=problem, rule=rule)


def _of_stem(stem: str, tests: tuple[str, ...], digests: Digests) -> list[str]:
    files = [file for file in tests if posixpath.basename(file) == f"{stem}.py"]
    if stem == "conftest":
        files += sorted({level.path for file in tests for level in digests.library.conftests(file)} - set(files))
    return files


def holds(lease: Lease, digest: Digest) -> bool:
    """Whether a lease was given for this code.

    The strong digest is of compiled code and changes with the interpreter; where the lease was made by another one, the digest of the
    syntax tree decides.
    """
    if lease.weak:
        return lease.digest == digest.weak
    if lease.digest == digest.strong:
        return True
    other = lease.python is not None and lease.python != digest.python
    return other and lease.source_hash is not None and lease.source_hash.removeprefix("v1:") == digest.source_hash
