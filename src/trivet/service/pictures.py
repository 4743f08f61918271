"""Pictures of what base says, for people: its leases and owners as they stood at the newest base that was judged. They decide nothing."""

from __future__ import annotations

import contextlib

from trivet.errors import TrivetError
from trivet.git import CommitTree, open_repository
from trivet.sealed.ledger import read_ledger
from trivet.sealed.manifest import read_seal
from trivet.sealed.owners import read_owners
from trivet.sealed.policy import read_policy
from trivet.service.mirrors import Brought
from trivet.service.store import Store, keep_picture
from trivet.zones import Zones

_MOST = 2_000


def keep_pictures(store: Store, brought: Brought, repo: str, base: str, now: float) -> None:
    """Read leases and owners at a base and keep them; what cannot be read stays as it was, the command has said why."""
    with contextlib.suppress(TrivetError), open_repository(brought.path) as repository:
        tree = CommitTree(repository, repository.commit(brought.base))
        policy = read_policy(tree)
        ledger = read_ledger(tree, policy, now=now)
        leases = [
            {
                "qualname": lease.qualname,
                "path": lease.path or "",
                "owner": lease.owner,
                "reason": lease.reason,
                "signature": lease.signature,
                "expires_at": lease.expires_at,
            }
            for lease in ledger.leases
        ]
        named = read_owners(tree, policy)
        sealed = [*read_seal(tree, policy, Zones(policy.zones)).tests, *([ledger.path] if ledger.path else [])]
        owners = [{"pattern": path, "names": " ".join(named.of(path.encode("utf-8", "surrogateescape")))} for path in sealed]
        keep_picture(store, repo, base, leases=leases[:_MOST], owners=owners[:_MOST], now=now)
