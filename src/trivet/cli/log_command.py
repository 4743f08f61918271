"""Keep and check a transparency log of decisions: append-only, hash-chained, with the Merkle proofs of RFC 6962.

`append FILE|DIR` checks a signed decision and adds it; `withdraw FILE|SHA256 --reason TEXT` takes one back, which stays to be seen.
`head` prints size and root, or with --sign and --origin a signed checkpoint; whoever keeps one sees later that the log was rewritten.
`check` goes through the whole log, and with --checkpoint shows that it extends the one that was kept.
`prove FILE|DIR|INDEX` prints the proof that a decision is in the log, `prove --from N` the proof that the log extends that of N entries;
`verify PROOF` checks such a proof without the log, against --checkpoint or --root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from trivet.attest.log import Log, entry_of, verdict_entry, withdrawn_entry
from trivet.attest.merkle import extends, includes, leaf_hash
from trivet.cli import Door, trusting
from trivet.errors import SignatureError, UsageError
from trivet.verifying import DECISION, Wanted, answer, read_file

_HEX = 64

INTERMIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("append", "withdraw", "head", "check", "prove", "verify"), help="what to do")
    parser.add_argument("what", nargs="*", metavar="WHAT", help="an envelope, the folder that holds it, its SHA-256, an index, or a proof")
    parser.add_argument("--log", metavar="FILE", help="the log (not needed by `verify`)")
    trusting.arguments(parser)
    parser.add_argument("--repo", type=Path, metavar="DIR", help="the repository that --keys-at reads")
    parser.add_argument("--reason", metavar="TEXT", help="why the decision is withdrawn")
    parser.add_argument("--size", type=int, metavar="N", help="prove about the log when it had N entries")
    parser.add_argument("--from", type=int, dest="first", metavar="N", help="prove that the log extends that of N entries")
    parser.add_argument("--sign", metavar="KEY", help="sign the head: a private key file, or fd:N")
    trusting.checkpoint_arguments(parser)
    parser.add_argument("--root", metavar="HEX", help="for `verify`: the root that is trusted, where there is no checkpoint")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do one of the actions; 0 = done or holds, 1 = refused."""
    actions = {"append": _append, "withdraw": _withdraw, "head": _head, "check": _check, "prove": _prove, "verify": _verify}
    if args.log is None and args.action != "verify":
        raise UsageError(f"`log {args.action}` needs --log FILE")
    if args.action in ("head", "check", "prove") and not (door.cwd / args.log).is_file():
        raise UsageError("no such log", where=args.log)
    try:
        actions[args.action](args, door)
    except SignatureError as error:
        from trivet.report import escape  # noqa: PLC0415

        sys.stderr.write(f"refused: {escape.line(error.message)}\n")
        sys.stderr.write(f"    where  {escape.line(error.where)}\n" if error.where else "")
        sys.stderr.write(f"    hint   {escape.line(error.hint)}\n" if error.hint else "")
        return 1
    return 0


def _append(args: argparse.Namespace, door: Door) -> None:
    if not args.what:
        raise UsageError("`log append` needs an envelope, or the folder that holds it")
    trust = trusting.opened(args, door)
    log = Log(door.cwd / args.log)
    for name in args.what:
        data = _envelope(door.cwd / name)
        found = answer(data, trust, Wanted(), now=door.now)
        receipt = log.append(verdict_entry(data, found.facts, merge=found.merge, key=found.key), now=door.now)
        sys.stdout.write(f"{receipt.number} {receipt.leaf.hex()}\n")


def _withdraw(args: argparse.Namespace, door: Door) -> None:
    if len(args.what) != 1 or not args.reason:
        raise UsageError("`log withdraw` needs an envelope or its SHA-256, and --reason TEXT")
    log = Log(door.cwd / args.log)
    digest = _digest(args.what[0], door)
    if log.find(digest)[0] is None:
        raise SignatureError("this decision is not in the log", where=args.log)
    receipt = log.append(withdrawn_entry(digest, args.reason), now=door.now)
    sys.stdout.write(f"{receipt.number} {receipt.leaf.hex()}\n")


def _head(args: argparse.Namespace, door: Door) -> None:
    head = Log(door.cwd / args.log).head(args.size)
    if args.sign is None:
        sys.stdout.write(f"{head.size} {head.root.hex()}\n")
        return
    from trivet.attest.checkpoint import Checkpoint, signed  # noqa: PLC0415
    from trivet.attest.keys import load_private  # noqa: PLC0415

    private = load_private(args.sign if args.sign.startswith("fd:") else str(door.cwd / args.sign), door.environ)
    sys.stdout.write(signed(Checkpoint(origin=args.origin, size=head.size, root=head.root), private).decode())


def _check(args: argparse.Namespace, door: Door) -> None:
    log = Log(door.cwd / args.log)
    kept = trusting.checkpoint_of(args, door)
    head = log.head() if kept is None else log.check_extends(kept)
    sys.stdout.write(f"{head.size} {head.root.hex()}\n")


def _prove(args: argparse.Namespace, door: Door) -> None:
    log = Log(door.cwd / args.log)
    if args.first is not None:
        if args.what:
            raise UsageError("`log prove` takes --from N or a decision, not both")
        proof = log.prove_consistency(args.first, args.size)
    elif len(args.what) == 1:
        index = int(args.what[0]) if args.what[0].isdecimal() else log.find(_digest(args.what[0], door))[0]
        if index is None:
            raise SignatureError("this decision is not in the log", where=args.log)
        proof = log.prove_inclusion(index, args.size)
    else:
        raise UsageError("`log prove` needs an envelope, a folder, a SHA-256 or an index, or --from N")
    sys.stdout.write(json.dumps(proof, indent=1) + "\n")


def _verify(args: argparse.Namespace, door: Door) -> None:
    if not 1 <= len(args.what) <= 2:  # noqa: PLR2004 - the proof, and what it is about
        raise UsageError("`log verify` needs a PROOF, and for one of inclusion may have the envelope")
    from trivet.attest.envelope import strict_json  # noqa: PLC0415

    proof = strict_json(read_file(str(door.cwd / args.what[0])), "proof")
    try:
        told = _inclusion(proof, args, door) if proof["kind"] == "inclusion" else _consistency(proof, args, door)
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError(f"the proof is not of the documented form: {error}", where=args.what[0]) from error
    sys.stdout.write(told + "\n")


def _inclusion(proof: dict[str, object], args: argparse.Namespace, door: Door) -> str:
    size, root = _trusted(args, door)
    if set(proof) != {"kind", "index", "size", "root", "entry", "path"}:
        raise ValueError("unknown or missing fields")
    if proof["root"] != root.hex() or (size is not None and proof["size"] != size):
        raise SignatureError("the proof is about another head of the log", where=args.what[0])
    line = str(proof["entry"]).encode()
    entry = entry_of(line, args.what[0])
    if len(args.what) == 2 and entry["sha256"] != _digest(args.what[1], door):  # noqa: PLR2004
        raise SignatureError("the proof is about another decision", where=args.what[0])
    index, count = _number(proof["index"]), _number(proof["size"])
    if entry["index"] != index or not includes(leaf_hash(line), index, count, _path(proof["path"]), root):
        raise SignatureError("the proof does not lead to the root of the log", where=args.what[0])
    return f"included: entry {index} of {count}, {entry['kind']} {entry['sha256']}"


def _consistency(proof: dict[str, object], args: argparse.Namespace, door: Door) -> str:
    if set(proof) != {"kind", "first", "first_root", "second", "second_root", "path"} or proof["kind"] != "consistency":
        raise ValueError("unknown or missing fields")
    size, root = _trusted(args, door)
    first, second = _number(proof["first"]), _number(proof["second"])
    roots = bytes.fromhex(str(proof["first_root"])), bytes.fromhex(str(proof["second_root"]))
    if (root not in roots) or (size is not None and (size, root) not in ((first, roots[0]), (second, roots[1]))):
        raise SignatureError("the proof is about another head of the log", where=args.what[0])
    if not extends(first, roots[0], second, roots[1], _path(proof["path"])):
        raise SignatureError("the proof does not show that the log was only appended to", where=args.what[0])
    return f"consistent: {second} entries extend {first}; roots {roots[0].hex()} {roots[1].hex()}"


def _trusted(args: argparse.Namespace, door: Door) -> tuple[int | None, bytes]:
    kept = trusting.checkpoint_of(args, door)
    if kept is not None:
        return kept.size, kept.root
    if args.root is None:
        raise UsageError("`log verify` needs --checkpoint FILE and --log-key PUB, or --root HEX", hint="a proof alone proves nothing")
    return None, bytes.fromhex(args.root)


def _digest(name: str, door: Door) -> str:
    if len(name) == _HEX and all(char in "0123456789abcdef" for char in name):
        return name
    return hashlib.sha256(_envelope(door.cwd / name)).hexdigest()


def _envelope(path: Path) -> bytes:
    if not path.exists():
        raise UsageError("no such file or folder", where=str(path))
    return read_file(str(path / DECISION if path.is_dir() else path))


def _number(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no number of entries")
    return value


def _path(value: object) -> list[bytes]:
    steps = [bytes.fromhex(step) for step in value] if isinstance(value, list) else []
    if not isinstance(value, list) or any(len(step) != 32 or step.hex() != text for step, text in zip(steps, value, strict=True)):  # noqa: PLR2004
        raise ValueError("the path is no list of digests")
    return steps
