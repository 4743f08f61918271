"""Decision documents and envelopes for the tests of attest, made from values."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from trivet.attest import LEGS, Data
from trivet.attest.envelope import sign
from trivet.attest.keys import key_id
from trivet.attest.statement import decision_statement, leg_file_statement
from trivet.attest.trust import Trust, one_key

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
NOW = 1_790_000_000.0
HEAD, BASE = "d" * 40, "b" * 40


def trust(key: Ed25519PrivateKey = KEY) -> Trust:
    """One key, trusted for everything."""
    return one_key(key.public_key(), "test")


def document(**statuses: str) -> dict[str, Any]:
    """A decision document; ``src_score="FAIL"`` sets one status."""
    words = {leg: statuses.get(leg.replace("-", "_"), "PASS") for leg in LEGS}
    found = [{"rule": "TRV201", "level": "error", "message": "m", "path": None, "line": None, "next": ""}]
    return {
        "schema": 1, "tool": {"name": "trivet", "version": "0"}, "repository": "https://forge.example/o/r",
        "base": {"commit": BASE, "tree": "c" * 40}, "head": {"commit": HEAD, "tree": "e" * 40},
        "merge_base": BASE, "score_tree": "f" * 40, "policy": {"digest": "1" * 64, "source": "trivet.toml"},
        "verdicts": {leg: {"status": word, "cause": "", "findings": found if word == "FAIL" else []} for leg, word in words.items()},
        "merge": all(word == "PASS" for word in words.values()),
        "replay_key": {"digest": "2" * 64},
        "run": {
            "tests": {"passed": 3}, "controls": {"red": 4}, "isolation": {"split": ["t.py"]},
            "wall": {"name": "kernel", "guarantees": ["g"], "lacks": []},
        },
    }  # fmt: skip


def leg_file(leg: str, data: dict[str, Any] | None = None) -> bytes:
    """The bytes of one verdict file."""
    whole = data or document()
    kept = {key: whole[key] for key in ("schema", "tool", "repository", "base", "head", "merge_base", "score_tree", "policy", "replay_key", "run")}
    return json.dumps({**kept, "leg": leg, **whole["verdicts"][leg]}).encode()


def statement(data: dict[str, Any] | None = None, *, now: float = NOW, session: str = "") -> Data:
    """The SVR statement of a decision, over the statements of its legs."""
    whole = data or document()
    content = json.dumps(whole).encode()
    legs = [leg_file_statement(leg_file(leg, whole), leg, now=now, session=session) for leg in LEGS]
    keys = dict.fromkeys(LEGS, key_id(KEY.public_key()))
    return decision_statement(whole, decision_sha256=hashlib.sha256(content).hexdigest(), now=now, session=session, legs=legs, keys=keys)


def envelope(data: dict[str, Any] | None = None, key: Ed25519PrivateKey = KEY, *, now: float = NOW) -> bytes:
    """A signed decision."""
    return sign(statement(data, now=now), key)


def random_document(dice: random.Random) -> dict[str, Any]:
    """Any decision that a run could write."""
    def oid(size: int) -> str:
        return dice.randbytes(size).hex()

    size = dice.choice((20, 32))
    words = {leg.replace("-", "_"): dice.choice(("PASS", "FAIL", "NOT_RUN")) for leg in LEGS}
    if dice.random() < 0.3:
        words = {}
    made = document(**words)
    made["repository"] = dice.choice((None, "https://forge.example/" + "".join(dice.choices('aüß/日.-\u202e"\\', k=6))))
    made["base"], made["head"] = ({"commit": oid(size), "tree": oid(size)} for _ in range(2))
    made["merge_base"] = dice.choice((oid(size), [oid(size), oid(size)]))
    made["score_tree"] = dice.choice((None, oid(size)))
    made["policy"] = {"digest": oid(32), "source": dice.choice(("trivet.toml at base", "preset lanes at base"))}
    made["replay_key"] = dice.choice((None, {"digest": oid(32)}))
    if dice.random() < 0.3:
        made["run"] = None
    else:
        made["run"] |= {
            "tests": {"passed": dice.randrange(9999), "skipped": dice.randrange(9)},
            "controls": {word: dice.randrange(1, 9) for word in dice.sample(("red", "passed", "elsewhere", "timeout"), 2)},
            "isolation": {word: ["f"] * dice.randrange(1, 4) for word in dice.sample(("shared", "split"), dice.randrange(1, 3))},
            "wall": dice.choice((None, {"name": dice.choice(("kernel", "bubblewrap", "none")), "guarantees": [], "lacks": []})),
        }
    return made
