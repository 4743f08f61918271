"""SARIF 2.1.0: each finding a result, each rule described, a run that could not judge marked as not successful."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from trivet import __version__
from trivet.model import Decision, Finding, Verdict
from trivet.report import escape
from trivet.rules import RULES

SHOWN = 5000
"""Results of one run that GitHub shows; more are counted in a notification."""
NOWHERE = b"trivet.toml"
"""Where a finding without a path is shown: forges refuse a result without a location."""


def render(decision: Decision) -> str:
    """The log with one run."""
    findings = [(verdict, finding) for verdict in reversed(decision.verdicts) for finding in verdict.findings]
    used = sorted({finding.rule for _, finding in findings})
    notes = [f"{verdict.leg} was not run" for verdict in decision.verdicts if verdict.status == "NOT_RUN"]
    if len(findings) > SHOWN:
        notes.append(f"{len(findings) - SHOWN} more results are in decision.json")
    run = {
        "tool": {"driver": {"name": "trivet", "version": __version__, "semanticVersion": __version__, "rules": [*map(_rule, used)]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": all(verdict.status != "NOT_RUN" for verdict in decision.verdicts),
                "toolExecutionNotifications": [{"level": "warning", "message": {"text": note}} for note in notes],
            },
        ],
        "results": [_result(verdict, finding, used.index(finding.rule)) for verdict, finding in findings[:SHOWN]],
        "properties": {"merge": decision.merge, "statuses": {verdict.leg: verdict.status for verdict in decision.verdicts}},
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def _rule(rule: str) -> dict[str, object]:
    known = RULES.get(rule)
    if known is None:
        return {"id": escape.line(rule, 20)}
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", known.title)),
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.why},
        "help": {"text": known.next},
        "properties": {"leg": known.leg},
    }


def _result(verdict: Verdict, finding: Finding, index: int) -> dict[str, object]:
    path = NOWHERE if finding.path is None else finding.path
    identity = b"\0".join((finding.rule.encode("utf-8", "replace"), path, finding.message.encode("utf-8", "replace")))
    place: dict[str, object] = {"artifactLocation": {"uri": quote(path[: escape.LIMIT]), "uriBaseId": "%SRCROOT%"}}
    if finding.path is None or finding.line:
        place["region"] = {"startLine": max(1, finding.line or 1)}
    return {
        "ruleId": escape.line(finding.rule, 20),
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": "\n".join(_sentences(finding))},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"trivet/v1": hashlib.sha256(identity).hexdigest()},
        "properties": {"leg": verdict.leg},
    }


def _sentences(finding: Finding) -> Iterator[str]:
    """Message and advice; a viewer would make a link of ``[text](target)``, so brackets of that form are escaped."""
    known = RULES.get(finding.rule)
    advice = finding.next or (known.next if known else "")
    for row in (*escape.lines(finding.message), *([f"Next: {escape.line(advice)}"] if advice else [])):
        yield re.sub(r"\[(?=[^\]]*\]\()", r"\\[", row)
