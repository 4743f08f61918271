"""How much of a decision leaves the service. Held-out oracles must not leak to those who are judged by them, call by call.

==========  ====================================================================================================
level       what is told
==========  ====================================================================================================
full        every file as the command wrote it
names       words, causes, rules with their own texts, names of files and test functions; no parameters, messages, lines or values
score       words, causes, how many sealed tests passed, failed and were skipped, how many findings of each rule
verdict     the three words and the merge
==========  ====================================================================================================

What is not listed here is not told: a new key of ``decision.json`` stays inside until somebody decides where it belongs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from trivet.rules import RULES
from trivet.service.settings import Feedback

Plain = dict[str, object]
_TEST = re.compile(r"^(?P<file>[^\s:]+\.py)::(?P<function>[\w.:]+)")
FILES: dict[Feedback, tuple[str, ...]] = {
    "full": ("decision.json", "src_score.json", "oracle_integrity.json", "flake_lease.json", "summary.md", "junit.xml", "advisory.json"),
    "names": (),
    "score": (),
    "verdict": (),
}
"""Files that are given as they are; the words (``*.txt``) are given at every level, envelopes only with the files they speak of."""


def redacted(decision: Mapping[str, object], level: Feedback) -> Plain:
    """A decision as one level may see it. The result of ``full`` is the decision; the others say in ``feedback`` what they are."""
    if level == "full":
        return dict(decision)
    verdicts = _map(decision.get("verdicts"))
    made: Plain = {
        "schema": decision.get("schema"),
        "feedback": level,
        "tool": decision.get("tool"),
        "base": decision.get("base"),
        "head": decision.get("head"),
        "verdicts": {leg: _verdict(_map(verdict), level) for leg, verdict in verdicts.items()},
        "merge": decision.get("merge") is True,
    }
    if level in ("names", "score"):
        run = _map(decision.get("run"))
        made["run"] = {"tests": _counts(run.get("tests"))} if run else None
    if level == "names":
        made["change"] = decision.get("change")
        green = decision.get("turned_green")
        made["turned_green"] = sorted({name for name in map(_test, green if isinstance(green, list) else []) if name})
    return made


def _verdict(verdict: Mapping[str, object], level: Feedback) -> Plain:
    told: Plain = {"status": verdict.get("status")}
    if level == "verdict":
        return told
    rows = verdict.get("findings")
    findings = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    told["cause"] = verdict.get("cause")
    if level == "score":
        told["rules"] = dict(sorted(Counter(str(row.get("rule")) for row in findings).items()))
    else:
        told["findings"] = list({repr(row): row for row in map(finding_names, findings)}.values())
    return told


def finding_names(row: Mapping[str, object]) -> Plain:
    """A finding as level ``names`` tells it: the rule in its own words, where, and which test function."""
    rule = RULES.get(str(row.get("rule")))
    return {
        "rule": row.get("rule"),
        "level": row.get("level", "error"),
        "message": rule.title if rule else "",
        "path": row.get("path"),
        "line": None,
        "next": rule.next if rule else "",
        "test": _test(row.get("message")),
    }


def _test(text: object) -> str | None:
    found = _TEST.match(text) if isinstance(text, str) else None
    return f"{found['file']}::{found['function'].rstrip(':')}" if found else None


def _counts(tests: object) -> Plain:
    return {str(key): value for key, value in _map(tests).items() if isinstance(value, int)}


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
