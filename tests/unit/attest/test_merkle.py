"""The tree of RFC 6962, beside its own recursive definition and its known values."""

from __future__ import annotations

import hashlib
import random

from trivet.attest.merkle import consistency, extends, includes, inclusion, leaf_hash, node_hash, root_hash

# The eight inputs of the test vectors that implementations of certificate transparency share, and the roots over the first n of them.
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def plain(leaves: list[bytes]) -> bytes:
    """MTH, as section 2.1 of RFC 6962 defines it."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(plain(leaves[:split]), plain(leaves[split:]))


def test_the_known_roots_come_out() -> None:
    """Also that of nothing."""
    leaves = [leaf_hash(bytes.fromhex(text)) for text in INPUTS]
    assert [root_hash(leaves[:size]).hex() for size in range(1, 9)] == ROOTS
    assert root_hash([]) == hashlib.sha256(b"").digest()


def test_every_proof_of_every_small_tree_holds_and_no_other_does() -> None:
    """Inclusion of each leaf, consistency with each earlier tree; a changed step, root, index or size is refused."""
    dice = random.Random(3)
    leaves = [leaf_hash(bytes([number])) for number in range(33)]
    roots = [plain(leaves[:size]) for size in range(34)]
    assert roots == [root_hash(leaves[:size]) for size in range(34)]
    for size in range(1, 34):
        for index in range(size):
            path = inclusion(leaves[:size], index)
            assert includes(leaves[index], index, size, path, roots[size])
            assert not includes(leaves[index], (index + 1) % (size + 1), size, path, roots[size])
            assert not includes(leaf_hash(b"x"), index, size, path, roots[size])
            assert not includes(leaves[index], index, size, (*path, roots[0]), roots[size])
            assert not path or not includes(leaves[index], index, size, path[:-1], roots[size])
        for first in range(size + 1):
            proof = consistency(leaves[:size], first)
            assert extends(first, roots[first], size, roots[size], proof)
            if first:
                assert not extends(first, leaf_hash(b"x"), size, roots[size], proof)
                assert not extends(first, roots[first], size, leaf_hash(b"x"), proof)
            if proof:
                place = dice.randrange(len(proof))
                changed = (*proof[:place], leaf_hash(b"y"), *proof[place + 1 :])
                assert not extends(first, roots[first], size, roots[size], changed)
                assert not extends(first, roots[first], size, roots[size], proof[:-1])
            assert not extends(first, roots[first], size, roots[size], (*proof, roots[0]))


def test_numbers_that_cannot_be_are_refused() -> None:
    """Negative ones, and trees that shrink."""
    assert not includes(b"", -1, 1, (), b"")
    assert not includes(b"", 1, 1, (), b"")
    assert not extends(2, b"", 1, b"", ())
    assert not extends(-1, b"", 1, b"", ())
