"""A decision as the plain data of ``decision.json``, and back.

``docs/decision.schema.json`` describes the data; a test holds the two together.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import cast, get_args

from trivet import __version__
from trivet.errors import TrivetError
from trivet.model import Cause, Decision, Finding, LegName, Level, Status, Verdict, text_of

Plain = dict[str, object]
"""What JSON can hold."""

SCHEMA = 1
MESSAGE_LIMIT = 20_000
"""Characters of one message in the files: enough for every message of ours, too little to fill a disk from behind the wall."""

FACTS: tuple[tuple[str, object], ...] = (
    ("base", None),
    ("head", None),
    ("turned_green", []),
    ("merge_base", None),
    ("score_tree", None),
    ("policy", None),
    ("change", None),
)
"""Facts that stand before the verdicts, with what is written when nothing is known."""
LATER_FACTS: tuple[tuple[str, object], ...] = (("replay_key", None), ("run", None), ("advisory", None))
IDENTITY = ("base", "head", "merge_base", "score_tree", "policy", "replay_key")
"""Facts that each verdict file repeats, so that a join can see what belongs together."""
OWN: dict[LegName, tuple[str, ...]] = {"src-score": ("turned_green", "run"), "oracle-integrity": ("change",), "flake-lease": ()}
"""Facts that only the file of one leg carries."""


def document(decision: Decision) -> Plain:
    """The whole of ``decision.json``."""
    facts = decision.facts
    return {
        "schema": SCHEMA,
        "tool": tool(),
        **_named(decision),
        **{key: plain(facts.get(key, empty)) for key, empty in FACTS},
        "verdicts": {verdict.leg: _verdict(verdict) for verdict in reversed(decision.verdicts)},
        "merge": decision.merge,
        **{key: plain(facts.get(key, empty)) for key, empty in LATER_FACTS},
    }


def leg_document(decision: Decision, verdict: Verdict) -> Plain:
    """The whole of one verdict file, such as ``src_score.json``."""
    known = {key: plain(decision.facts.get(key)) for key in (*IDENTITY, *OWN[verdict.leg])}
    return {"schema": SCHEMA, "tool": tool(), **_named(decision), "leg": verdict.leg, **_verdict(verdict), **known}


def _named(decision: Decision) -> Plain:
    """The repository's name, where the caller gave one."""
    return {"repository": decision.facts["repository"]} if decision.facts.get("repository") else {}


def tool() -> Plain:
    """Name and version of what wrote the file."""
    return {"name": "trivet", "version": __version__}


def text(data: Mapping[str, object]) -> str:
    """JSON in ASCII alone: a path that is not UTF-8 stays readable by every parser."""
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def plain(value: object) -> object:
    """Make a value of the rooms into JSON data: tuples to lists, paths to text with ``path_b64`` where they are not UTF-8."""
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, Mapping):
        made: Plain = {}
        for key, part in value.items():
            made[str(key)] = plain(part)
            if key == "path" and isinstance(part, (bytes, str)):
                made |= _encoded(part)
        return made
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    return value


def decision_of(data: Mapping[str, object]) -> Decision:
    """Read ``decision.json`` back.

    Raises:
        TrivetError: the data is not what ``document`` writes.
    """
    verdicts = data.get("verdicts")
    if not isinstance(verdicts, Mapping):
        raise TrivetError("a decision without verdicts", hint="run `trivet gate` again")
    parts = {leg: verdict_of(leg, verdicts.get(leg)) for leg in get_args(LegName)}
    facts = {key: data.get(key) for key, _ in (*FACTS, *LATER_FACTS)} | ({"repository": data["repository"]} if "repository" in data else {})
    decision = Decision(
        src_score=parts["src-score"], oracle_integrity=parts["oracle-integrity"], flake_lease=parts["flake-lease"], facts=facts
    )
    if data.get("schema") != SCHEMA or data.get("merge") is not decision.merge:
        raise TrivetError("a decision that contradicts itself", hint="run `trivet gate` again")
    return decision


def verdict_of(leg: LegName, data: object) -> Verdict:
    """Read one verdict.

    Raises:
        TrivetError: it is not one.
    """
    if not isinstance(data, Mapping) or data.get("status") not in get_args(Status) or data.get("cause", "") not in get_args(Cause):
        raise TrivetError(f"no readable verdict of {leg}", hint="run the leg again")
    rows = data.get("findings")
    if not isinstance(rows, list):
        raise TrivetError(f"a verdict of {leg} without findings", hint="run the leg again")
    return Verdict(
        leg=leg, status=cast("Status", data["status"]), cause=cast("Cause", data.get("cause", "")), findings=tuple(_findings(leg, rows))
    )


def _findings(leg: LegName, rows: Iterable[object]) -> Iterable[Finding]:
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("rule"), str) or row.get("level", "error") not in get_args(Level):
            raise TrivetError(f"a malformed finding of {leg}", hint="run the leg again")
        where, number = row.get("path"), row.get("line")
        yield Finding(
            rule=row["rule"],
            message=str(row.get("message", "")),
            path=where.encode("utf-8", "surrogateescape") if isinstance(where, str) else None,
            line=number if isinstance(number, int) else None,
            next=str(row.get("next", "")),
            level=cast("Level", row.get("level", "error")),
        )


def _verdict(verdict: Verdict) -> Plain:
    return {"status": verdict.status, "cause": verdict.cause, "findings": [_finding(finding) for finding in verdict.findings]}


def _finding(finding: Finding) -> Plain:
    return {
        "rule": finding.rule,
        "level": finding.level,
        "message": _bounded(finding.message),
        "path": None if finding.path is None else text_of(finding.path),
        **({} if finding.path is None else _encoded(finding.path)),
        "line": finding.line,
        "next": _bounded(finding.next),
    }


def _bounded(message: str) -> str:
    return message if len(message) <= MESSAGE_LIMIT else f"{message[:MESSAGE_LIMIT]}… ({len(message) - MESSAGE_LIMIT} more characters)"


def _encoded(path: bytes | str) -> Plain:
    raw = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return {"path_b64": base64.b64encode(raw).decode()}
    return {}
