"""What the oracles are worth as they are written: there at all, able to fail, the same each time, their leases not spent."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from trivet.doctor.words import Problem
from trivet.git import Tree
from trivet.model import Drift, Policy, Seal
from trivet.rules import RULES
from trivet.sealed.ledger import read_ledger
from trivet.sealed.manifest import read_seal
from trivet.sealed.matching import match_leases
from trivet.sealed.properties import Property, read_properties
from trivet.zones import Zones

DAY_S = 86_400.0
_VACUOUS = ("TRV120", "TRV121", "TRV122")
_OUTSIDE = ("TRV123", "TRV124")
_SNAPSHOT_NAMES = frozenset(
    {
        *("snapshot", "snapshot_json", "data_regression", "file_regression", "num_regression", "dataframe_regression", "image_regression"),
        *("ndarrays_regression", "golden", "inline_snapshot"),
    }
)
_SNAPSHOT_CALLS = frozenset(
    {"assert_match", "assert_match_dir", "verify", "verify_as_json", "verify_all", "snapshot", "external", "golden_test"}
)
_SNAPSHOT_MODULES = frozenset({"approvaltests", "inline_snapshot", "snapshottest", "syrupy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The seal of a tree, its properties, and which of them compare with a recorded snapshot."""

    seal: Seal
    properties: tuple[Property, ...]
    snapshots: tuple[Property, ...]


def look(tree: Tree, policy: Policy, zones: Zones) -> Seen:
    """Read the sealed tests of a tree."""
    seal = read_seal(tree, policy, zones)
    there = tuple(test for test in seal.tests if tree.read(test.encode("utf-8", "surrogateescape")) is not None)
    properties = read_properties(tree, there, policy, zones)
    recorded = {file: _recorded(tree.read(file.encode("utf-8", "surrogateescape")) or b"") for file in there}
    return Seen(seal=seal, properties=properties, snapshots=tuple(one for one in properties if one.function in recorded[one.file]))


def weakened(policy: Policy) -> Iterator[Problem]:
    """Settings of the policy that give up a part of what the gate can hold."""
    place = policy.source
    if policy.score.controls == "off":
        yield Problem(
            detail="controls are off: a run that lies about its outcomes is not noticed", remedy='controls = "sample"', place=place
        )
    if policy.score.wall == "none":
        yield Problem(detail="no wall: code under test can do what the gate can", remedy='wall = "auto"', place=place)
    if policy.score.isolation == "shared":
        text = "shared isolation everywhere: code under test lives in the process of its judge"
        yield Problem(detail=text, remedy='isolation = "auto"', place=place, level="warning")
    for row in policy.score.exclude:
        text = f"{row.id} is not run: {row.reason}"
        yield Problem(detail=text, remedy="run it elsewhere, or drop it from the oracles", place=place, level="warning")


def presence(seen: Seen) -> Iterator[Problem]:
    """No oracle at all, or manifests that are not what they must be."""
    if not seen.seal.tests:
        yield Problem(detail="no sealed test: whatever a patch does passes", remedy="put tests that must hold under seal, then trivet seal")
    elif not seen.properties:
        yield Problem(detail="the sealed files hold no test function", remedy="write what production code must do as tests")
    for drift in (row for row in seen.seal.drifts if seen.seal.tests or row.rule != "TRV115"):
        yield _of(drift, "trivet seal writes the manifests anew; an owner sends that as an oracle change")


def vacuous(seen: Seen) -> Iterator[Problem]:
    """Properties that cannot fail, whatever production code does; one that looks at fixtures alone is told as a warning."""
    idle = [one for one in seen.properties if any(fault.rule in _VACUOUS for fault in one.faults)]
    if idle and len(idle) == len(seen.properties):
        text = f"none of the {len(idle)} sealed properties can refuse a patch"
        yield Problem(detail=text, remedy="write what production code must do as assertions", place=idle[0].file)
    for drift in _faults(seen, _VACUOUS):
        yield _of(drift, RULES[drift.rule].next, warning=drift.rule == "TRV122")


def outside(seen: Seen) -> Iterator[Problem]:
    """Properties that ask something which is another thing each time."""
    for drift in _faults(seen, _OUTSIDE):
        yield _of(drift, RULES[drift.rule].next, warning=True)


def snapshots(seen: Seen) -> Iterator[Problem]:
    """Suites that mostly compare with what was recorded once: whoever may record again, decides again."""
    number, total = len(seen.snapshots), len(seen.properties)
    if number * 2 > total:
        files = sorted({one.file for one in seen.snapshots})
        yield Problem(
            detail=f"{number} of {total} sealed properties compare with a snapshot; nobody can say from them what must hold",
            remedy="say what must hold as assertions; keep snapshots under the digest manifest so that an owner alone records them anew",
            place=files[0] if files else "",
            level="warning",
        )


def leases(tree: Tree, policy: Policy, seen: Seen, now: float, days: float) -> Iterator[Problem]:
    """Rows of the ledger that are malformed, spent, of other code, or near their end."""
    ledger = read_ledger(tree, policy, now=now)
    for drift in ledger.drifts:
        yield _of(drift, RULES[drift.rule].next if drift.rule in RULES else "mend the row")
    for match in match_leases(ledger, tree, seen.seal.tests, policy=policy, now=now):
        lease = match.lease
        if lease is None:
            continue
        place = f"{ledger.path}:{lease.line}" if lease.line else ledger.path
        if match.problem:
            remedy = RULES[match.rule].next if match.rule in RULES else "renew or remove the lease"
            yield Problem(detail=f"{match.rule} {lease.qualname}: {match.problem}", remedy=remedy, place=place)
        elif lease.expires_at - now < days * DAY_S:
            left = max(0, int((lease.expires_at - now) // DAY_S))
            text = f"{lease.qualname} is leased for {left} more {'day' if left == 1 else 'days'} (owner {lease.owner})"
            yield Problem(detail=text, remedy="mend the test, or an owner renews: trivet lease renew", place=place, level="warning")


def _faults(seen: Seen, rules: tuple[str, ...]) -> Iterator[Drift]:
    for one in seen.properties:
        yield from (fault for fault in one.faults if fault.rule in rules)


def _of(drift: Drift, remedy: str, *, warning: bool = False) -> Problem:
    place = f"{drift.path}:{drift.line}" if drift.line else drift.path
    level = drift.level if drift.level == "error" and not warning else "warning"
    return Problem(detail=f"{drift.rule} {drift.message}", remedy=remedy, place=place, level="error" if level == "error" else "warning")


def _recorded(source: bytes) -> frozenset[str]:
    """The test functions of a file that compare with a recorded snapshot, as ``name`` or ``Class.name``."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    loaded = {alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    loaded |= {(node.module or "").partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    whole = bool(loaded & _SNAPSHOT_MODULES)
    found = set()
    for owner, node in _functions(tree):
        given = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        calls = {call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "") for call in _calls(node)}
        if given & _SNAPSHOT_NAMES or (whole and calls & _SNAPSHOT_CALLS) or {"assert_match", "assert_match_dir"} & calls:
            found.add(f"{owner}.{node.name}" if owner else node.name)
    return frozenset(found)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            yield from ((node.name, inner) for inner in node.body if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))
