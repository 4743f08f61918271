"""Check a signed decision with a public key, and answer the decision.

Works offline and needs no repository. Given a folder, the verdict files beside the envelope must say what was signed. With --repo the
judged head must still be what the revision names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from trivet.attest import LEGS, Attested, property_of, verify
from trivet.attest_key import load_public
from trivet.cli import Door
from trivet.errors import SignatureError, UsageError

_LIMIT_B = 64_000_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", metavar="FILE|DIR", help="decision.dsse.json, or the folder that holds it")
    parser.add_argument("--key", required=True, metavar="PUB", help="the public key that must have signed")
    parser.add_argument("--repo", metavar="DIR", help="the repository whose head must be the one that was judged")
    parser.add_argument("--base", metavar="REV", help="the base that must have been judged against (a revision of --repo, or an id)")
    parser.add_argument("--head", metavar="REV", help="the head that must have been judged (with --repo: a revision, default HEAD)")
    parser.add_argument("--policy", metavar="DIGEST", help="the policy digest that must have been used")
    parser.add_argument("--require", action="append", default=[], metavar="NAME", help="a property that must be there (TRIVET_SRC_SCORE)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Verify; 0 = verified and may merge, 1 = blocked or refused."""
    path = door.cwd / args.path
    if not path.exists():
        raise UsageError("no such file or folder", where=args.path)
    if not (door.cwd / args.key).is_file():
        raise UsageError("no such public key", where=args.key)
    try:
        attested = _checked(path, args, door)
    except SignatureError as error:
        return _refused(error, as_json=args.json)
    missing = [name for name in args.require if name not in attested.properties]
    return _told(attested, missing, as_json=args.json)


def _checked(path: Path, args: argparse.Namespace, door: Door) -> Attested:
    folder = path if path.is_dir() else None
    data = _read(path / "decision.dsse.json" if folder else path)
    attested = verify(data, load_public(door.cwd / args.key))
    if folder is not None:
        _check_folder(folder, attested)
    base, head = args.base, args.head
    if args.repo is not None:
        from trivet.git import open_repository  # noqa: PLC0415 - verifying needs no repository otherwise

        with open_repository(door.cwd / args.repo) as repository:
            head = repository.commit(args.head or "HEAD").oid
            base = repository.commit(args.base).oid if args.base else None
    if head is not None and head.lower() != attested.head:
        message = f"this decision is about head {attested.head[:12]}, not {head[:12]}"
        raise SignatureError(message, hint="judge the present head with `trivet gate`")
    if base is not None and base.lower() != attested.base:
        raise SignatureError(f"this decision is about base {attested.base[:12]}, not {base[:12]}", hint="judge against the present base")
    policy = str((attested.facts.get("policy") or {}).get("digest"))
    if args.policy is not None and args.policy.removeprefix("sha256:") != policy.removeprefix("sha256:"):
        raise SignatureError(f"this decision used policy {policy[:16]}, not {args.policy[:16]}")
    return attested


def _check_folder(folder: Path, attested: Attested) -> None:
    """The files beside the envelope must be the signed ones."""
    document = folder / "decision.json"
    if document.exists() and hashlib.sha256(_read(document)).hexdigest() != attested.facts["decision_sha256"]:
        raise SignatureError("decision.json is not the file that was signed", where=str(document))
    for leg in LEGS:
        word = folder / (leg.replace("-", "_") + ".txt")
        if word.exists() and _read(word) != f"{attested.statuses[leg]}\n".encode():
            raise SignatureError(f"{word.name} does not say what was signed ({attested.statuses[leg]})", where=str(word))


def _told(attested: Attested, missing: list[str], *, as_json: bool) -> int:
    ok = attested.merge and not missing
    if as_json:
        result = {
            "verified": True, "merge": attested.merge, "ok": ok, "missing": missing, "key": attested.key, "time": attested.time,
            "base": attested.facts["base"], "head": attested.facts["head"], "policy": attested.facts["policy"],
            "verdicts": dict(attested.statuses), "properties": list(attested.properties), "reason": "",
        }
        sys.stdout.write(json.dumps(result) + "\n")
        return 0 if ok else 1
    lines = [f"verified: signed by key {attested.key[:16]} at {attested.time}", f"  head {attested.head}", f"  base {attested.base}"]
    lines += [f"  {property_of(leg):26} {attested.statuses[leg]}" for leg in LEGS]
    lines += [f"  missing property {name}" for name in missing]
    lines.append("MERGE_OK" if ok else "MERGE_BLOCKED: " + " ".join(attested.statuses[leg] for leg in LEGS))
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if ok else 1


def _refused(error: SignatureError, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"verified": False, "merge": False, "ok": False, "reason": error.message}) + "\n")
    sys.stderr.write(f"refused: {error.message}\n" + (f"    hint   {error.hint}\n" if error.hint else ""))
    return 1


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_B + 1)
    except OSError as error:
        raise SignatureError(f"{path.name} cannot be read: {error.strerror or error}", where=str(path)) from error
    if len(data) > _LIMIT_B:
        raise SignatureError(f"{path.name} is too long", where=str(path))
    return data
