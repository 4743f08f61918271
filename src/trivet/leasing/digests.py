"""``trivet lease digest``: the digest that belongs into ``bytecode_hash``."""

from __future__ import annotations

from pathlib import Path

from trivet.errors import UsageError
from trivet.git import WorkTree
from trivet.sealed.digest import Digest, digest_of
from trivet.sealed.policy import read_policy
from trivet.zones import match

_MARKERS = (".git", "trivet.toml", ".pyrefix-lanes.toml", "tests/sealed", "tests/oracles")


def digest(cwd: Path, file: str, function: str) -> Digest:
    """Digest one test of a folder that may be, but need not be, a git work tree.

    Args:
        cwd: the caller's folder.
        file: the test file, absolute or relative to ``cwd``.
        function: ``name``, ``Class.name`` (``Class::name`` is taken as well) or ``<module>``.

    Raises:
        UsageError: no such file or function.
        PolicyError: the folder's policy can't be read.
    """
    place = (cwd / file).absolute()
    root = _root(cwd.absolute(), place)
    tree = WorkTree(root, plain=not (root / ".git").exists())
    try:
        inner = place.relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{file} lies outside of {root}", hint="call it in the folder of the repository") from None
    policy = read_policy(tree)
    return digest_of(
        tree,
        inner,
        function.replace("::", "."),
        is_sealed=lambda path: match(policy.zones.oracle, path),
        roots=policy.score.paths,
    )


def _root(cwd: Path, place: Path) -> Path:
    """The root of the tree: the current folder where it looks like one, else the nearest folder above it (or the file) that does."""
    starts = [cwd] if place.is_relative_to(cwd) else [place.parent]
    for start in starts:
        for folder in (start, *start.parents):
            if any((folder / marker).exists() for marker in _MARKERS):
                return folder
    return starts[0]
