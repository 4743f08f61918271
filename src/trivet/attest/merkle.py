"""The Merkle tree of RFC 6962: root, proofs of inclusion and of consistency, made from leaf hashes and checked without them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def leaf_hash(data: bytes) -> bytes:
    """The hash of one entry."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_hash(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes; that of no leaves is the hash of nothing."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    stack: list[tuple[int, bytes]] = []  # complete subtrees from left to right: (leaves, hash)
    for leaf in leaves:
        size, value = 1, leaf
        while stack and stack[-1][0] == size:
            value = node_hash(stack.pop()[1], value)
            size *= 2
        stack.append((size, value))
    value = stack.pop()[1]
    while stack:
        value = node_hash(stack.pop()[1], value)
    return value


def inclusion(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """The audit path of one leaf, from the leaf upward.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise ValueError(f"no entry {index} among {len(leaves)}")
    path: list[bytes] = []
    low, high = 0, len(leaves)
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(root_hash(leaves[middle:high]))
            high = middle
        else:
            path.append(root_hash(leaves[low:middle]))
            low = middle
    return tuple(reversed(path))


def consistency(leaves: Sequence[bytes], first: int) -> tuple[bytes, ...]:
    """The proof that the tree over all leaves extends the tree over the first ``first`` of them.

    Raises:
        ValueError: ``first`` is not between 0 and the number of leaves.
    """
    if not 0 <= first <= len(leaves):
        raise ValueError(f"no tree of {first} entries before one of {len(leaves)}")
    if first in (0, len(leaves)):
        return ()
    path: list[bytes] = []
    low, high, whole = 0, len(leaves), True  # whole: the old tree is still a subtree whose hash the verifier knows
    while first - low != high - low:
        middle = low + _split(high - low)
        if first <= middle:
            path.append(root_hash(leaves[middle:high]))
            high = middle
        else:
            path.append(root_hash(leaves[low:middle]))
            low, whole = middle, False
    if not whole:
        path.append(root_hash(leaves[low:high]))
    return tuple(reversed(path))


def includes(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether an audit path leads from a leaf hash to the root of a tree of ``size`` leaves (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    inner, last, value = index, size - 1, leaf
    for step in path:
        if last == 0:
            return False
        if inner & 1 or inner == last:
            value = node_hash(step, value)
            while not inner & 1 and inner:
                inner, last = inner >> 1, last >> 1
        else:
            value = node_hash(value, step)
        inner, last = inner >> 1, last >> 1
    return last == 0 and value == root


def extends(first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether a consistency proof shows that the second tree begins with the first (RFC 9162, 2.1.4.2)."""
    if not 0 <= first <= second:
        return False
    if first in (0, second):
        same = first_root == second_root if first == second else first_root == root_hash(())
        return same and not path
    steps = list(path)
    if first & (first - 1) == 0:
        steps.insert(0, first_root)
    if not steps:
        return False
    inner, last = first - 1, second - 1
    while inner & 1:
        inner, last = inner >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if inner & 1 or inner == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while not inner & 1 and inner:
                inner, last = inner >> 1, last >> 1
        else:
            new = node_hash(new, step)
        inner, last = inner >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _split(size: int) -> int:
    """The largest power of two below ``size``."""
    return 1 << (size - 1).bit_length() - 1
