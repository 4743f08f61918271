"""Ends of leases that a change moves although it needs them: a change that alters a leased test may not also give its lease a later end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trivet.git import Tree
from trivet.model import Drift, LeaseMatch, Policy
from trivet.sealed.matching import digests_of

_SAME_S = 1.0


def moved_ends(
    base: Tree, head: Tree, before: Sequence[LeaseMatch], after: Sequence[LeaseMatch], *, policies: tuple[Policy, Policy], path: str
) -> Iterator[Drift]:
    """Name the leases whose end lies later on head while the code of their test is another one.

    Args:
        base: the tree in which ``before`` was matched.
        head: the tree in which ``after`` was matched.
        before: base's leases.
        after: head's leases.
        policies: base's and head's.
        path: head's ledger.
    """
    known = {(match.file, match.function): match.lease for match in before if match.file}
    later = [
        (match.file, match.function, match.lease)
        for match in after
        if match.lease is not None
        and (old := known.get((match.file, match.function))) is not None
        and match.lease.expires_at > old.expires_at + _SAME_S
    ]
    if not later:
        return
    old_code, new_code = digests_of(base, policies[0]), digests_of(head, policies[1])
    for file, function, lease in later:
        was, now = old_code.of(file, function), new_code.of(file, function)
        if was is not None and now is not None and was.source_hash != now.source_hash:
            message = f"the lease of {file}::{function} gets a later end in the change that alters the test"
            yield Drift(rule="TRV125", message=message, path=path, line=lease.line)
