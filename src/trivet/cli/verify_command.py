"""Check a signed decision, and answer the decision.

FILE is decision.dsse.json; given the folder that holds it, the files beside it must be what was signed. Without FILE or DIR the decision
is looked for in --repo, where `trivet attach` put it. With --repo the judged head must still be what --head names (default HEAD). Works
offline, and needs no repository for what does not need one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack

from trivet.attest import LEGS, property_of
from trivet.attest.decided import Attested
from trivet.attest.trust import Trust
from trivet.cli import Door, trusting
from trivet.errors import SignatureError, UsageError
from trivet.verifying import DECISION, KEYLESS_DECISION, Wanted, answer, check_folder, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trivet.git import Repository


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", nargs="?", metavar="FILE|DIR", help="decision.dsse.json, or the folder that holds it")
    trusting.arguments(parser)
    parser.add_argument("--repo", metavar="DIR", help="the repository that was judged; its head must be the one that was judged")
    parser.add_argument("--repository", default="", metavar="NAME", help="the name of the repository that must have been judged")
    parser.add_argument("--base", metavar="REV", help="the base that must have been judged against (a revision of --repo, or a full id)")
    parser.add_argument("--head", metavar="REV", help="the head that must have been judged (with --repo: a revision, default HEAD)")
    parser.add_argument("--policy", default="", metavar="DIGEST", help="the policy digest that must have been used")
    parser.add_argument("--session", default="", metavar="ID", help="the CI run that must have judged")
    parser.add_argument("--max-age", type=float, metavar="SECONDS", help="refuse a decision that is older")
    parser.add_argument("--require", action="append", default=[], metavar="NAME", help="a property that must be there (TRIVET_SRC_SCORE)")
    parser.add_argument("--log", metavar="FILE", help="the transparency log that must hold the decision, not withdrawn")
    trusting.checkpoint_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Verify; 0 = verified and may merge, 1 = blocked or refused."""
    path = None if args.path is None else os.path.join(door.folder, args.path)  # noqa: PTH118 - no pathlib here
    if path is None and args.repo is None:
        raise UsageError("name a FILE or DIR, or the repository with --repo DIR", hint="see `trivet verify --help`")
    if path is not None and not os.path.exists(path):  # noqa: PTH110
        raise UsageError("no such file or folder", where=args.path)
    if args.checkpoint is not None and args.log is None:
        raise UsageError("--checkpoint needs --log FILE")
    if args.log is not None and not os.path.isfile(os.path.join(door.folder, args.log)):  # noqa: PTH113, PTH118
        raise UsageError("no such log", where=args.log)
    with ExitStack() as stack:
        repository = None
        if args.repo is not None:
            from trivet.git import open_repository  # noqa: PLC0415 - verifying needs no repository otherwise

            repository = stack.enter_context(open_repository(door.cwd / args.repo))
        try:
            trust = trusting.trust_of(args, door, repository)
            attested = _checked(path, args, door, trust, repository)
        except SignatureError as error:
            return _refused(error, as_json=args.json)
    missing = [name for name in args.require if name not in attested.properties]
    return _told(attested, missing, as_json=args.json)


def _checked(path: str | None, args: argparse.Namespace, door: Door, trust: Trust, repository: Repository | None) -> Attested:
    wanted = Wanted(repository=args.repository, policy=args.policy, session=args.session, max_age_s=args.max_age)
    if repository is None:
        wanted = wanted._replace(base=args.base or "", head=args.head or "")
    if path is None:
        assert repository is not None  # noqa: S101 - run() refused the call otherwise
        from trivet.attaching import find_decision  # noqa: PLC0415

        attested, data = find_decision(repository, args.head or "HEAD", trust, wanted, now=door.now, root=trusting.root_of(args, door))
    else:
        folder = path if os.path.isdir(path) else None  # noqa: PTH112
        data = read_file(_decision(folder) if folder else path)
        attested = answer(data, trust, wanted, now=door.now, root=trusting.root_of(args, door))
        if folder is not None:
            check_folder(folder, attested, trust, now=door.now, root=trusting.root_of(args, door))
    if repository is not None:
        from trivet.verifying import check_repository  # noqa: PLC0415

        check_repository(repository, attested, head=args.head or "HEAD", base=args.base, within=args.keys_at)
    if args.log is not None:
        from trivet.attest.log import Log  # noqa: PLC0415
        from trivet.verifying import check_log  # noqa: PLC0415

        check_log(Log(door.cwd / args.log), data, trusting.checkpoint_of(args, door))
    return attested


def _decision(folder: str) -> str:
    key, keyless = f"{folder}/{DECISION}", f"{folder}/{KEYLESS_DECISION}"
    return keyless if os.path.lexists(keyless) and not os.path.lexists(key) else key


def _told(attested: Attested, missing: list[str], *, as_json: bool) -> int:
    ok = attested.merge and not missing
    facts = attested.facts
    if as_json:
        result = {
            "verified": True, "merge": attested.merge, "ok": ok, "missing": missing, "key": attested.key, "time": attested.time,
            "repository": facts["repository"], "base": facts["base"], "head": facts["head"], "policy": facts["policy"],
            "session": facts["session"], "verdicts": dict(attested.statuses), "properties": list(attested.properties), "reason": "",
        }  # fmt: skip
        sys.stdout.write(json.dumps(result) + "\n")
        return 0 if ok else 1
    lines = [f"verified: signed by {_who(attested.key)} at {attested.time}", f"  head {attested.head}", f"  base {attested.base}"]
    if facts["repository"]:
        lines.append(f"  repository {ascii(facts['repository'])[1:-1]}")
    lines += [f"  {property_of(leg):26} {attested.statuses[leg]}" for leg in LEGS]
    lines += [f"  missing property {ascii(name)[1:-1]}" for name in missing]
    lines.append("MERGE_OK" if ok else "MERGE_BLOCKED: " + " ".join(attested.statuses[leg] for leg in LEGS))
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if ok else 1


def _who(key: str) -> str:
    """The beginning of a key's id, or the whole name of an identity."""
    return ascii(key)[1:-1] if " " in key else key[:16]


def _refused(error: SignatureError, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"verified": False, "merge": False, "ok": False, "reason": error.message}) + "\n")
    from trivet.report import escape  # noqa: PLC0415 - a message can quote what an attacker wrote

    lines = [f"refused: {escape.line(error.message)}"]
    lines += [f"    where  {escape.line(error.where)}"] if error.where else []
    lines += [f"    hint   {escape.line(error.hint)}"] if error.hint else []
    sys.stderr.write("\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n")
    return 1
