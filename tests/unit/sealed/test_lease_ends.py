"""An expiry may not be moved by the change that needs it."""

from __future__ import annotations

import json

import pytest

from trivet.git import PlainTree
from trivet.sealed.lease_ends import moved_ends
from trivet.sealed.ledger import read_ledger
from trivet.sealed.matching import digests_of, match_leases
from trivet.sealed.policy import read_policy

NOW, DAY = 1_800_000_000.0, 86_400
FILE = "tests/sealed/test_a.py"
OLD = "import pytest\n\n@pytest.mark.skip\ndef test_a():\n    assert 1 == 2\n"
NEW = OLD.replace("== 2", "== 3")


def tree(text: str, days: int) -> PlainTree:
    files = {FILE.encode(): text.encode(), b"trivet.toml": b"schema = 1\n"}
    digest = digests_of(PlainTree(files), read_policy(PlainTree(files))).of(FILE, "test_a")
    assert digest is not None
    row = {
        "qualname": "test_a.test_a",
        "bytecode_hash": digest.strong,
        "failure_signature": "ValueError: x",
        "expires_at": NOW + days * DAY,
        "owner": "o",
        "reason": "r",
    }
    return PlainTree({**files, b"ci/flake_leases.json": json.dumps({"leases": [row]}).encode()})


@pytest.mark.parametrize(
    ("text", "days", "found"),
    [(NEW, 20, 1), (NEW, 10, 0), (NEW, 5, 0), (OLD, 20, 0), ("# moved\n" + OLD.replace("@pytest.mark.skip\n", ""), 20, 0)],
    ids=["altered-and-later", "altered", "altered-and-earlier", "later", "later-and-mark-removed"],
)
def test_only_a_later_end_beside_altered_code_is_named(text: str, days: int, found: int) -> None:
    base, head = tree(OLD, 10), tree(text, days)
    policy = read_policy(base)
    before, after = (match_leases(read_ledger(one, policy, now=NOW), one, (FILE,), policy=policy, now=NOW) for one in (base, head))
    drifts = list(moved_ends(base, head, before, after, policies=(policy, policy), path="ci/flake_leases.json"))
    assert [drift.rule for drift in drifts] == ["TRV125"] * found
