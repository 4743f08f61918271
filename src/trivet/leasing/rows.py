"""Single rows of the ledger: add, renew, remove, list, check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trivet import signature as signatures
from trivet.errors import UsageError
from trivet.leasing import seen
from trivet.leasing.adopt import signature_of
from trivet.leasing.ages import since
from trivet.leasing.desk import DAY_S, Desk
from trivet.leasing.flake import look
from trivet.leasing.lab import Lab
from trivet.legs.lease import function_of, judge_static
from trivet.model import Finding, TestResult
from trivet.sealed import ledger as ledger_file
from trivet.stage.cache import Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One row as ``lease list`` shows it. ``days``: left, negative once it has ended; ``state``: ``holds`` or why not.

    ``age``: days since the row was committed as it stands, None where it is not. ``failed`` and ``passed``: when runs of this user last
    saw the test do so with its marks lifted, in seconds since the epoch; 0 = never.
    """

    test: str
    owner: str
    reason: str
    signature: str
    days: float
    state: str
    age: float | None = None
    failed: float = 0.0
    passed: float = 0.0


def failures(lab: Lab, file: str, function: str) -> tuple[Sequence[TestResult], Sequence[TestResult]]:
    """The results of one test in a run of its file, and those with its marks lifted.

    Raises:
        UsageError: the sealed tests, as they run here, hold no such test.
    """
    record = lab.run([file])
    mine = [result for result in record.results if function_of(result.id) == (file, function)]
    if not mine:
        raise UsageError(f"{file}::{function} did not run", hint="see whether it is collected: its module may fail to import")
    return mine, lab.lifted([result.id for result in mine])


def add(desk: Desk, lab: Lab | None, test: str, *, owner: str, reason: str, days: float, signature: str | None) -> dict[str, object]:
    """Add one row: run the test with its marks lifted, record how it fails.

    Raises:
        UsageError: no such test, a row exists, or the test passes and so needs no lease.
    """
    file, function = desk.find(test)
    if desk.of(file, function) is not None:
        raise UsageError(f"{file}::{function} has a lease", hint="`trivet lease renew` or `remove` it")
    if signature is None:
        if lab is None:
            raise UsageError("a signature is needed where the test is not run", where="--signature")
        mine, lifted = failures(lab, file, function)
        if lifted and all(result.outcome in ("passed", "xpassed") for result in lifted):
            raise UsageError(f"{file}::{function} passes with its marks lifted: it needs no lease", hint="remove the mark")
        signature = signature_of(file, mine, lifted)
    row = desk.row(file, function, signature=signature, expires_at=desk.expiry(days), owner=owner, reason=reason)
    desk.save(desk.added([row]))
    return row


def add_flaky(desk: Desk, lab: Lab, test: str, *, owner: str, reason: str, days: float) -> dict[str, object]:
    """Add one row for a test that perturbed runs have seen green and red; its signature is how it failed then.

    Raises:
        UsageError: no such test, a row exists, or the test always ends the same way: a steady failure is a defect, and no flake.
    """
    file, function = desk.find(test)
    if desk.of(file, function) is not None:
        raise UsageError(f"{file}::{function} has a lease", hint="`trivet lease renew` or `remove` it")
    found = look(lab, [file], say=lab.say)
    mine = [one for one in found.tests if function_of(one.id) == (file, function)]
    flaky = [one for one in mine if one.kind == "flaky"]
    if not flaky:
        fails = any(one.kind == "fails" for one in mine)
        what = "fails in every run: that is a defect, not a flake" if fails else "ended the same way in every run"
        raise UsageError(f"{file}::{function} {what}", hint="mend what the test shows" if fails else "it needs no lease as a flaky test")
    if any(one.kind == "fails" for one in mine):
        raise UsageError(f"{file}::{function} fails in every run for some of its parameters", hint="mend what they show")
    ids = {one.id for one in flaky}
    seen_failing = [signatures.signature_of(why.type, why.message, why.file or file) for name, why in found.failures if name in ids]
    told = f"{reason} (flaky: {', '.join(sorted({one.cause for one in flaky}))})"
    row = desk.row(file, function, signature=signatures.joined(seen_failing), expires_at=desk.expiry(days), owner=owner, reason=told)
    desk.save(desk.added([row]))
    return row


def renew(desk: Desk, lab: Lab | None, test: str, *, days: float, signature: str | None, keep_end: bool = False) -> dict[str, object]:
    """Write one row anew: digest of the code as it stands (the strong form), and a later end, or with ``keep_end`` the end that it has.

    Raises:
        UsageError: no such row, or the test no longer fails with the row's signature.
    """
    file, function = desk.find(test)
    match = desk.of(file, function)
    if match is None or match.lease is None or match.lease.line is None:
        raise UsageError(f"no row of the ledger names {file}::{function}", hint="`trivet lease list` shows the rows")
    named = signature or match.lease.signature
    if lab is not None:
        _, lifted = failures(lab, file, function)
        for result in lifted:
            seen = result.failure
            if seen is not None and not signatures.matches(named, type_=seen.type, message=seen.message, file=seen.file):
                told = signatures.signature_of(seen.type, seen.message, seen.file)
                raise UsageError(f"{result.id} fails otherwise: {told}", hint="give the new signature with --signature")
        if lifted and all(result.outcome in ("passed", "xpassed") for result in lifted):
            raise UsageError(f"{file}::{function} passes again", hint="`trivet lease remove` the row and remove the mark")
    old = ledger_file.raw_row(desk.data(), match.lease.line)
    new = desk.row(
        file, function, signature=named, expires_at=desk.expiry(days), owner=str(old.get("owner", "")), reason=str(old.get("reason", ""))
    )
    if keep_end:
        new["expires_at"] = old.get("expires_at")
    new["qualname"] = old.get("qualname", new["qualname"])
    desk.save(ledger_file.replace_row(desk.data(), match.lease.line, new))
    return new


def upgrade(desk: Desk) -> tuple[str, ...]:
    """Give every row that holds by the weak digest the strong one; ends, signatures and all else stay. Returns the rows' names."""
    data = desk.data()
    named = []
    weak = [match for match in desk.matches if match.lease is not None and match.lease.weak and match.lease.line and not match.problem]
    for match in sorted(weak, key=lambda one: one.lease.line or 0 if one.lease else 0, reverse=True):
        line = match.lease.line if match.lease is not None and match.lease.line is not None else 0
        old = ledger_file.raw_row(data, line)
        digest = desk.digest(match.file, match.function)
        new = {**old, "path": match.file, "bytecode_hash": digest.strong, "source_hash": digest.source_hash, "python": digest.python}
        data = ledger_file.replace_row(data, line, new)
        named.append(str(old.get("qualname", "")))
    if named:
        desk.save(data)
    return tuple(reversed(named))


def sightings(desk: Desk, lab: Lab, cache: Cache) -> None:
    """Run every leased test with its marks lifted, and keep what was seen."""
    record = lab.run(tuple(dict.fromkeys(match.file for match in desk.matches if match.file in desk.seal.tests)))
    leased = {(match.file, match.function) for match in desk.matches if match.lease is not None}
    lifted = lab.lifted([result.id for result in record.results if function_of(result.id) in leased])
    seen.note(cache, desk.matches, lifted, desk.now)


def remove(desk: Desk, test: str) -> str:
    """Take one row away. A row whose test is gone is named as it stands in ``qualname``.

    Raises:
        UsageError: no such row.
    """
    for match in desk.matches:
        lease = match.lease
        if lease is None or lease.line is None:
            continue
        names = {lease.qualname, f"{match.file}::{match.function}", f"{match.file}::{match.function.replace('.', '::')}"}
        if test.split("[", 1)[0] in names:
            desk.save(ledger_file.remove_row(desk.data(), lease.line))
            return lease.qualname
    raise UsageError(f"no row of the ledger names {test!r}", hint="`trivet lease list` shows the rows")


def listed(desk: Desk, cache: Cache) -> tuple[Listed, ...]:
    """All good rows, in the order of the ledger; ``cache`` knows when their tests were last seen failing."""
    rows = []
    written = since(desk.tree.root, desk.path) if desk.matches else {}
    for match in desk.matches:
        lease = match.lease
        if lease is not None:
            state = "weak digest" if lease.weak and not match.problem else match.problem or "holds"
            days = (lease.expires_at - desk.now) / DAY_S
            test = f"{match.file}::{match.function}" if match.file else lease.qualname
            began = written.get(lease.line or 0)
            sighting = seen.last(cache, match)
            row = Listed(
                test=test,
                owner=lease.owner,
                reason=lease.reason,
                signature=lease.signature,
                days=days,
                state=state,
                age=None if began is None else max(0.0, (desk.now - began) / DAY_S),
                failed=sighting.failed,
                passed=sighting.passed,
            )
            rows.append(row)
    return tuple(rows)


def check(desk: Desk) -> tuple[Finding, ...]:
    """What the static half of flake-lease finds in the work tree."""
    found = judge_static(desk.ledger, desk.sites, desk.matches, now=desk.now).findings
    broken = [
        Finding(rule=match.rule, message=f"{match.file}::{match.function}: {match.problem}", path=desk.path, line=match.lease.line)
        for match in desk.matches
        if match.lease is not None and match.problem and match.rule in ("TRV303", "TRV304")
    ]
    known = {(finding.rule, finding.message) for finding in found}
    return (*found, *(finding for finding in broken if (finding.rule, finding.message) not in known))
