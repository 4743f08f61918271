"""GitLab code quality report: a list of issues with fingerprints that stay while a finding stays."""

from __future__ import annotations

import collections
import hashlib
import json

from trivet.model import Decision, Finding, Level
from trivet.report import escape
from trivet.rules import RULES

SHOWN = 5000
NOWHERE = "trivet.toml"
"""Where a finding without a path is shown: the format asks for a path."""
_SEVERITIES: dict[Level, str] = {"error": "blocker", "warning": "minor", "note": "info"}


def render(decision: Decision) -> str:
    """The report; an empty list where nothing was found."""
    seen: collections.Counter[str] = collections.Counter()
    issues = []
    for finding in [finding for verdict in reversed(decision.verdicts) for finding in verdict.findings][:SHOWN]:
        identity = f"{finding.rule}\0{finding.path!r}\0{finding.message}"
        seen[identity] += 1
        digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "replace")).hexdigest()
        issues.append(_issue(finding, digest))
    return json.dumps(issues, indent=1, ensure_ascii=True) + "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, object]:
    known = RULES.get(finding.rule)
    title = known.title if known else ""
    return {
        "type": "issue",
        "check_name": escape.line(finding.rule, 20),
        "description": escape.line(f"{title}: {finding.message}" if title else finding.message),
        "content": {"body": f"{known.why} {known.next}" if known else ""},
        "categories": ["Security"],
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.level],
        "location": {
            "path": NOWHERE if finding.path is None else escape.name(finding.path),
            "lines": {"begin": max(1, finding.line or 1)},
        },
    }
