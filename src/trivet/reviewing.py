"""The walk of review evidence: which teams base's CODEOWNERS names, and approvals that a merge queue carried to another commit."""

from __future__ import annotations

import re
from dataclasses import replace

from trivet.forge.standing import queued_number
from trivet.forge.words import Evidence, Subject
from trivet.git import CommitTree, Repository
from trivet.sealed.owners import read_owners
from trivet.sealed.policy import read_policy

__all__ = ["NAMES_LIMIT", "carried", "named_teams", "queued_number"]

NAMES_LIMIT = 100
"""Teams that are looked up for one change; each costs a call."""
_OWNER = re.compile(r"(?<![\w@.-])(@@?[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*)")


def named_teams(repository: Repository, base: str) -> tuple[str, ...]:
    """The teams, groups and roles that CODEOWNERS of a commit names: ``org/team``, ``@maintainers``; on GitLab plain names too.

    Raises:
        TrivetError: the commit or its policy cannot be read.
    """
    tree = CommitTree(repository, repository.commit(base), "base")
    owners = read_owners(tree, read_policy(tree))
    if not owners.path:
        return ()
    text = (tree.read(owners.path.encode("utf-8", "surrogateescape")) or b"").decode("utf-8", "replace")
    rows = [row for row in text.splitlines() if not row.lstrip().startswith("#")]
    found = dict.fromkeys(name[1:] for row in rows for name in _OWNER.findall(row))
    teams = [name for name in found if "/" in name or name.startswith("@") or owners.dialect == "gitlab"]
    return tuple(teams[:NAMES_LIMIT])


def carried(repository: Repository, queued: Subject, pull: Subject, evidence: Evidence) -> Evidence:
    """The evidence of a pull request for the commit that the merge queue made of it.

    An approval is for exactly one commit. It counts for the queue's commit only where that holds what was approved and nothing else: its
    tree must be the merge of the approved head into the queue's base, as git makes it here.

    Raises:
        TrivetError: a commit is not in this repository.
    """
    base, head, approved = (repository.commit(oid) for oid in (queued.base, queued.head, pull.head))
    merged = repository.merge(base, approved)
    if merged.conflicts or merged.tree != head.tree:
        return replace(evidence, approvals=())
    moved = tuple((login, queued.head) for login, commit in evidence.approvals if commit == pull.head)
    return replace(evidence, approvals=moved)
