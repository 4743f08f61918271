"""The walk of ``trivet seal``: the manifests of a work tree, checked or written anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trivet.git import WorkTree
from trivet.model import Drift, Seal, text_of
from trivet.sealed.manifest import read_seal, rebuilt
from trivet.sealed.policy import read_policy
from trivet.sealed.work_tree import write
from trivet.zones import Zones


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What `seal` did: files written, files that were right, drifts that writing cannot mend, number of sealed tests."""

    wrote: tuple[str, ...]
    kept: tuple[str, ...]
    left: tuple[Drift, ...]
    tests: int


def check(root: Path) -> Seal:
    """Read the seal of a work tree.

    Raises:
        PolicyError: the policy can't be read.
    """
    tree = WorkTree(root)
    policy = read_policy(tree)
    return read_seal(tree, policy, Zones(policy.zones))


def seal(root: Path) -> Sealed:
    """Write the manifests that the policy names, and nothing else.

    Raises:
        PolicyError: the policy can't be read.
        UsageError: a manifest can't be written.
    """
    tree = WorkTree(root)
    policy = read_policy(tree)
    zones = Zones(policy.zones)
    wrote: list[str] = []
    kept: list[str] = []
    # The list of tests first: a digest manifest in a folder above it holds its digest.
    for path in rebuilt(tree, policy, zones):
        data = rebuilt(tree, policy, zones)[path]
        if tree.read(path) == data:
            kept.append(text_of(path))
        else:
            write(tree.root, path, data)
            wrote.append(text_of(path))
    after = read_seal(tree, policy, zones)
    return Sealed(wrote=tuple(wrote), kept=tuple(kept), left=after.drifts, tests=len(after.tests))
