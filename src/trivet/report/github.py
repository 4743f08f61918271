"""GitHub workflow commands that annotate the change: ``::error file=…,line=…,title=…::message``."""

from __future__ import annotations

from collections.abc import Iterator

from trivet.model import Decision, Finding, Level
from trivet.report import escape
from trivet.report.facts import final_line
from trivet.rules import RULES

SHOWN = 9
"""GitHub shows 10 annotations of a level and step; the tenth says how many more there are."""
_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}


def render(decision: Decision) -> str:
    """At most ten commands of each level, one a line."""
    rows = [row for level in _COMMANDS for row in _level(decision, level)]
    if not decision.merge and not any(row.startswith("::error") for row in rows):
        rows.append(f"::error title=trivet::{final_line(decision)}")
    return "".join(f"{row}\n" for row in rows)


def _level(decision: Decision, level: Level) -> Iterator[str]:
    found = [finding for verdict in reversed(decision.verdicts) for finding in verdict.findings if finding.level == level]
    for finding in found[:SHOWN]:
        yield f"::{_COMMANDS[level]} {_properties(finding)}::{escape.command_data(_message(finding))}"
    if len(found) > SHOWN:
        yield f"::{_COMMANDS[level]} title=trivet::and {len(found) - SHOWN} more; see decision.json"


def _properties(finding: Finding) -> str:
    known = RULES.get(finding.rule)
    title = f"{finding.rule} {known.title}" if known else finding.rule
    parts = [] if finding.path is None else [f"file={escape.command_property(escape.name(finding.path))}"]
    parts += [f"line={finding.line}"] if finding.path is not None and finding.line else []
    return ",".join([*parts, f"title={escape.command_property(title)}"])


def _message(finding: Finding) -> str:
    known = RULES.get(finding.rule)
    advice = finding.next or (known.next if known else "")
    return f"{escape.line(finding.message)} {advice}".strip()
