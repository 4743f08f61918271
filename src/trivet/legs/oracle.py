"""oracle-integrity: may this change set be judged by the oracles at all, and are they what was sealed?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trivet.model import Change, ChangeFacts, Finding, Seal, Verdict
from trivet.rules import RULES

Kind = Literal["patch", "oracle", "mixed", "empty"]
_SHOWN = 3
_STATUS = {"A": "added", "M": "modified", "D": "deleted", "T": "type changed"}


def change_kind(changes: Iterable[Change]) -> Kind:
    """What a change set is: ``patch`` (source, proposed, inert), ``oracle`` (oracle or control, no source), ``mixed`` or ``empty``."""
    zones = {change.zone for change in changes}
    if not zones:
        return "empty"
    if not zones & {"oracle", "control"}:
        return "patch"
    return "mixed" if "source" in zones else "oracle"


def judge(facts: ChangeFacts, seal: Seal) -> Verdict:
    """Judge a patch, an empty or a mixed change against what base seals.

    An oracle change is not judged here but admitted: `findings_of_names` and `findings_of_seal` are the part of it that no owner can allow.
    """
    kind = change_kind(facts.changes)
    findings = (*_mixed(facts, kind), *findings_of_names(facts), *findings_of_seal(seal))
    failed = any(finding.level == "error" for finding in findings)
    return Verdict(leg="oracle-integrity", status="FAIL" if failed else "PASS", findings=findings)


def findings_of_names(facts: ChangeFacts) -> tuple[Finding, ...]:
    """Malformed trees, links, collisions and shadows: wrong in every change, whoever sends it."""
    return (
        *(_finding("TRV109", f"the tree of head is malformed: {why}", path) for path, why in facts.tricks),
        *(_finding("TRV105", f"link or gitlink may not stand here: {why}", path) for path, why in facts.links),
        *(
            _finding("TRV106", f"collides with {_quoted(other)} where case or Unicode form do not count", path)
            for path, other in facts.collisions
        ),
        *(_finding("TRV107", f"a top-level module {name!r} hides the one of the {what}", path) for path, name, what in facts.shadows),
    )


def findings_of_seal(seal: Seal) -> tuple[Finding, ...]:
    """Every drift of manifests, fixtures and sealed files, one to one. For an oracle change, give the seal of head."""
    return tuple(
        Finding(
            rule=drift.rule,
            message=drift.message,
            path=drift.path.encode("utf-8", "surrogateescape"),
            line=drift.line,
            next=RULES[drift.rule].next,
            level=drift.level,
        )
        for drift in seal.drifts
    )


def _mixed(facts: ChangeFacts, kind: Kind) -> Iterable[Finding]:
    """One finding for each oracle or control path that moves together with production code."""
    if kind not in ("mixed", "oracle"):
        return
    source = [change for change in facts.changes if change.zone == "source"]
    beside = f" with {_few(source)}" if source else ""
    told = {path for path, _ in facts.links} | {path for path, _, _ in facts.shadows}
    keys: dict[bytes, list[str]] = {}
    for path, key in facts.keys:
        keys.setdefault(path, []).append(key)
    for change in facts.changes:
        status = _STATUS.get(change.raw.status, change.raw.status)
        if change.zone == "oracle":
            yield _finding("TRV101" if source else "TRV103", f"sealed path {status}{beside}", change.path)
        elif change.zone != "control" or change.path in told or change.placed.by.startswith("path that collides"):
            continue
        elif change.path in keys:
            named = ", ".join(keys[change.path][:_SHOWN])
            more = f" and {len(keys[change.path]) - _SHOWN} more" if len(keys[change.path]) > _SHOWN else ""
            yield _finding("TRV108", f"key moved that only an oracle change may move: {named}{more}", change.path)
        elif change.placed.by.startswith("influence name"):
            yield _finding("TRV104", f"{status}{beside}: {change.placed.influence}", change.path)
        elif source:
            yield _finding("TRV102", f"control path {status}{beside}: {_why(change)}", change.path)
        else:
            yield _finding("TRV103", f"control path {status}: {_why(change)}", change.path)


def _why(change: Change) -> str:
    return "it is in no zone of the policy" if change.placed.by == "in no zone" else change.placed.influence


def _few(changes: list[Change]) -> str:
    first = _quoted(changes[0].path)
    return first if len(changes) == 1 else f"{first} and {len(changes) - 1} more"


def _quoted(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _finding(rule: str, message: str, path: bytes) -> Finding:
    return Finding(rule=rule, message=message, path=path, next=RULES[rule].next)
