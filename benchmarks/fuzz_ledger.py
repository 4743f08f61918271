"""Fuzz of ledgers and manifests: no crash, and nothing granted that an independent reference reading would refuse.

The reference below was written from the contract alone and shares no code with the readers; it is stupid and slow on purpose. Documents are
made from good ones by changes of values, of rows and of bytes. A ledger without a finding grants only what the reference grants as well; a
manifest is accepted only if the reference accepts it. The other way round a good document must stay good, so that the fuzz cannot pass by
refusing everything.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import math
import random
import sys
from dataclasses import dataclass, field
from typing import Any

from trivet.git import PlainTree
from trivet.sealed.ledger import parse_ledger
from trivet.sealed.manifest import read_seal
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

NOW, DAYS, DAY_S = 1_800_000_000.0, 90, 86_400
TESTS = (b"tests/sealed/test_a.py", b"tests/sealed/test_b.py", b"tests/sealed/sub/test_c.py")
DATA = {b"fixtures/sealed/a.json": b"{}\n", b"fixtures/sealed/b c.txt": b"x", b"fixtures/sealed/d/e.bin": b"\0\1"}
PATH = "ci/flake_leases.json"


@dataclass(slots=True)
class Result:
    """What a fuzz run has seen. ``granted`` and ``accepted`` count good verdicts, so that nobody fuzzes only refusals."""

    cases: int = 0
    granted: int = 0
    accepted: int = 0
    wrong: list[str] = field(default_factory=list)


# --- the reference --------------------------------------------------------------------------------


class _RefusedError(Exception):
    pass


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise _RefusedError("a key twice")
    return dict(pairs)


def _constant(name: str) -> object:
    raise _RefusedError(name)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _hexed(text: str, length: int) -> bool:
    return len(text) == length and all(letter in "0123456789abcdef" for letter in text)


def reference_leases(data: bytes) -> set[str]:
    """The qualnames that a ledger may grant at ``NOW`` at most; empty where it must not be read at all."""
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_constant)
    except (_RefusedError, ValueError, RecursionError):
        return set()
    if not isinstance(document, dict) or set(document) != {"leases"} or not isinstance(document["leases"], list):
        return set()
    names = [row.get("qualname") for row in document["leases"] if isinstance(row, dict)]
    rows = [row for row in document["leases"] if isinstance(row, dict)]
    return {row["qualname"] for row in rows if _row_holds(row) and names.count(row["qualname"]) == 1}


def _row_holds(row: dict[str, Any]) -> bool:  # noqa: PLR0911 - one refusal a rule
    needed = {"qualname", "bytecode_hash", "failure_signature", "expires_at", "owner", "reason"}
    if not needed <= set(row) or set(row) - needed - {"python", "path", "source_hash"}:
        return False
    if not all(_is_text(row[name]) for name in ("qualname", "failure_signature", "owner", "reason")):
        return False
    digest, ends = row["bytecode_hash"], row["expires_at"]
    if not isinstance(digest, str) or not (_hexed(digest, 16) or (digest.startswith("v1:") and _hexed(digest[3:], 64))):
        return False
    if isinstance(ends, bool) or not isinstance(ends, (int, float)) or math.isnan(ends) or not ends <= NOW + DAYS * DAY_S + 3600:
        return False
    name, path = row["qualname"], row.get("path")
    if "." not in name and "::" not in name:
        return False
    if "path" in row and (not isinstance(path, str) or path.startswith("/") or ".." in path.split("/") or not path.endswith(".py")):
        return False
    if "python" in row and not _is_text(row["python"]):
        return False
    if "source_hash" in row and not (isinstance(row["source_hash"], str) and _hexed(row["source_hash"].removeprefix("v1:"), 64)):
        return False
    return not _covers_everything(row["failure_signature"])


def _covers_everything(signature: str) -> bool:
    """One common type and nothing that narrows it down."""
    for part in signature.split(" || "):
        kind, _, rest = part.strip().partition(":")
        plain = "".join(letter for letter in rest if letter.isalnum())
        if kind.strip() in ("", "*", "Exception", "BaseException", "AssertionError") and not plain and " @ " not in part:
            return True
    return False


def reference_tests(data: bytes) -> bool:
    """Whether a list of tests is exactly what exists, in its order."""
    return data == b"".join(path + b"\n" for path in sorted(TESTS))


def reference_sums(data: bytes, files: dict[bytes, bytes]) -> bool:
    """Whether every file has exactly one row with its digest, and no row is of anything else."""
    if not data.endswith(b"\n"):
        return False
    seen = {}
    for line in data[:-1].split(b"\n"):
        digest, name = line[:64], line[66:]
        if line[64:66] != b"  " or name in seen or b"\\" in line or b"\r" in line:
            return False
        seen[name] = digest.decode("latin-1")
    return seen == {path[len(b"fixtures/sealed/") :]: hashlib.sha256(content).hexdigest() for path, content in files.items()}


# --- documents ------------------------------------------------------------------------------------

ODD: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1e400, float("nan"), "", " ", "x", [], {}, [1], {"a": 1}, NOW + 10 * DAY_S, NOW - 5, NOW * 1000, 10**30),
    *("v1:" + "0" * 64, "v1:" + "0" * 63, "0" * 16, "0" * 17, "A" * 16, "../a.py", "/a.py", "tests/sealed/test_a.py", "test_a.test_x"),
    *("AssertionError", "AssertionError: .*", "Exception: *", "ValueError: bad", "*", "AssertionError: one cent off", "E || Exception"),
    *("tests/sealed/test_a.py::T::test_x", "test_a", "a.py::", "\u202e", "x" * 300, "cpython-311", "pypy", "\ud800"),
)


def good_row(rng: random.Random, number: int) -> dict[str, object]:
    """A row that holds."""
    row: dict[str, object] = {
        "qualname": rng.choice([f"test_a.test_{number}", f"tests/sealed/test_b.py::T.test_{number}"]),
        "bytecode_hash": rng.choice(["v1:" + "ab" * 32, "0123456789abcdef"]),
        "failure_signature": rng.choice(
            ["ValueError: no such thing", "AssertionError: one cent off", "KeyError", "OSError @ tests/sealed/test_a.py"]
        ),
        "expires_at": rng.choice([NOW + 30 * DAY_S, int(NOW) + 5, NOW + 89.5 * DAY_S]),
        "owner": "@quality",
        "reason": "race in the driver",
    }
    if rng.random() < 0.4:
        row |= {"python": "cpython-311", "source_hash": "cd" * 32}
    return row


def ledger(rng: random.Random) -> tuple[bytes, bool]:
    """A ledger, and whether nothing was done to it."""
    rows: list[Any] = [good_row(rng, number) for number in range(rng.randrange(4))]
    document: Any = {"leases": rows}
    turns = rng.randrange(4)
    for _ in range(turns):
        what = rng.randrange(7)
        if what == 0 and rows and isinstance(rows[-1], dict):
            rows[-1][rng.choice([*rows[-1], "extra", "path", "python", "source_hash"])] = copy.deepcopy(rng.choice(ODD))
        elif what == 1 and rows and isinstance(rows[0], dict) and rows[0]:
            rows[0].pop(rng.choice(list(rows[0])))
        elif what == 2 and rows:
            rows.append(copy.deepcopy(rng.choice(rows)))
        elif what == 3:
            rows.append(copy.deepcopy(rng.choice(ODD)))
        elif what == 4 and isinstance(document, dict):
            document[rng.choice(["x", "leases"])] = copy.deepcopy(rng.choice([*ODD, rows]))
        elif what == 5:
            document = copy.deepcopy(rng.choice([document, rows, rng.choice(ODD)]))
    data = json.dumps(document, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
    if turns and rng.random() < 0.5:
        data = bent(rng, data)
        turns += 1
    return data, not turns


PIECES = (b"", b'"', b"{", b"}", b"[", b",", b"\\", b"\0", b"\xff", b"\r", b"\n", b" ", b"/", b"NaN", b"1", b"a", b'"owner": "x", ')


def bent(rng: random.Random, data: bytes) -> bytes:
    """Some bytes changed."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data) + 1)
        piece = rng.choice(PIECES)
        cut = rng.randrange(4)
        data = data[:at] + piece + data[at + cut :]
    if rng.random() < 0.05:
        data = b"\xef\xbb\xbf" + data
    return data


ROWS = (b"\n", b" \n", b"../x\n", b"/x\n", b"# x\n", b"a" * 64 + b"  nothing\n", b"tests/sealed/test_z.py\n")


def manifests(rng: random.Random) -> tuple[dict[bytes, bytes], bool]:
    """Both manifests, and whether nothing was done to them."""
    tests = [path + b"\n" for path in sorted(TESTS)]
    sums = [hashlib.sha256(content).hexdigest().encode() + b"  " + path[16:] + b"\n" for path, content in sorted(DATA.items())]
    touched = False
    for rows in (tests, sums):
        for _ in range(rng.choice([0, 0, 1, 2])):
            touched = True
            at = rng.randrange(len(rows)) if rows else 0
            what = rng.randrange(5)
            if what == 0 and rows:
                rows[at] = bent(rng, rows[at])
            elif what == 1 and rows:
                rows.pop(at)
            elif what == 2 and rows:
                rows.insert(rng.randrange(len(rows) + 1), rows[at])
            elif what == 3 and len(rows) > 1:
                rows.append(rows.pop(0))
            else:
                rows.insert(at, rng.choice(ROWS))
    return {b"tests/sealed/MANIFEST.txt": b"".join(tests), b"fixtures/sealed/MANIFEST.sha256": b"".join(sums)}, not touched


# --- the run --------------------------------------------------------------------------------------


def check_ledger(rng: random.Random, result: Result) -> None:
    """One ledger."""
    data, untouched = ledger(rng)
    read = parse_ledger(data, PATH, now=NOW, max_lease_days=DAYS)
    # A fault anywhere in the ledger fails the leg, so that nothing passes on the rows beside it.
    granted = set() if read.drifts else {lease.qualname for lease in read.leases}
    result.granted += bool(granted)
    if not granted <= (allowed := reference_leases(data)):
        result.wrong.append(f"ledger grants {granted - allowed}: {data!r}")
    if untouched and (read.drifts or len(granted) != len(allowed)):
        result.wrong.append(f"good ledger refused: {read.drifts}: {data!r}")


def check_manifests(rng: random.Random, result: Result) -> None:
    """One tree."""
    written, untouched = manifests(rng)
    files = {**dict.fromkeys(TESTS, b"def test_x():\n    assert 1\n"), **DATA, **written, b"trivet.toml": b"schema = 1\n", b"src/a.py": b""}
    tree = PlainTree(files)
    policy = read_policy(tree)
    drifts = [drift for drift in read_seal(tree, policy, Zones(policy.zones)).drifts if drift.level == "error"]
    right = reference_tests(written[b"tests/sealed/MANIFEST.txt"]) and reference_sums(written[b"fixtures/sealed/MANIFEST.sha256"], DATA)
    result.accepted += not drifts
    if not drifts and not right:
        result.wrong.append(f"manifests accepted: {written!r}")
    if drifts and untouched:
        result.wrong.append(f"good manifests refused: {drifts}")


def fuzz(count: int, seed: int) -> Result:
    """Check ``count`` documents, half of each kind; the same ones for one seed."""
    result = Result()
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        try:
            (check_ledger if number % 2 else check_manifests)(rng, result)
        except Exception as error:  # noqa: BLE001 - any exception is a find
            result.wrong.append(f"{type(error).__name__}: {error} (seed {seed}, number {number})")
        result.cases += 1
        if len(result.wrong) > 20:
            break
    return result


def main() -> int:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    result = fuzz(args.count, args.seed)
    good = f"{result.granted} ledgers granted something, {result.accepted} trees accepted"
    print(f"{result.cases} documents; {good}; {len(result.wrong)} wrong")
    for line in result.wrong:
        print(line[:600])
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
