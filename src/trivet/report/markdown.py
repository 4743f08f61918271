"""The summary for a step summary or a comment: verdict first, details after it, at most one MiB."""

from __future__ import annotations

from collections.abc import Iterator

from trivet.model import Decision
from trivet.report import escape
from trivet.report.facts import Group, advisory, certificates, commits, groups, outcome, run_facts, turned_green
from trivet.rules import RULES

LIMIT_B = 1_000_000
"""GitHub refuses a step summary over 1 MiB as a whole."""
SHOWN = 20
_OURS = frozenset(rule.next for rule in RULES.values())
"""Advice that is Markdown of our own; any other may quote the patch."""
_MARKS = {"PASS": "✅", "FAIL": "❌", "NOT_RUN": "⚪"}


def render(decision: Decision) -> str:
    """Markdown of at most ``LIMIT_B`` bytes; what does not fit is counted in the last line."""
    parts = [*_head(decision)]
    size = sum(len(part.encode()) + 1 for part in parts)
    details = [*_details(decision)]
    for place, part in enumerate(details):
        size += len(part.encode()) + 1
        if size > LIMIT_B - 200:
            parts.append(f"\n… and {len(details) - place} more lines; `decision.json` has them all.")
            break
        parts.append(part)
    return "\n".join(parts) + "\n"


def _head(decision: Decision) -> Iterator[str]:
    yield f"## {'✅ MERGE_OK' if decision.merge else '❌ MERGE_BLOCKED'}"
    yield ""
    yield f"{outcome(decision)}."
    yield ""
    yield "| verdict | status | cause |"
    yield "|---|---|---|"
    for verdict in reversed(decision.verdicts):
        yield f"| {verdict.leg} | {_MARKS[verdict.status]} {verdict.status} | {verdict.cause} |"
    yield ""


def _details(decision: Decision) -> Iterator[str]:
    for verdict in reversed(decision.verdicts):
        found = groups(verdict)
        if found:
            yield f"### {verdict.leg}"
            yield ""
        for group in found:
            yield from _group(group)
    fixed = turned_green(decision)
    if fixed:
        yield f"### {len(fixed)} sealed {'test' if len(fixed) == 1 else 'tests'} turned green"
        yield ""
        yield from (f"- {escape.code(test)}" for test in fixed[:SHOWN])
        yield ""
    proven = certificates(decision)
    if proven:
        yield f"### {len(proven)} new or changed {'property' if len(proven) == 1 else 'properties'}"
        yield ""
        yield from (f"- {escape.code(escape.name(name))} {escape.markdown(said, 300)}" for name, said in proven[: 10 * SHOWN])
        if len(proven) > 10 * SHOWN:
            yield f"- and {len(proven) - 10 * SHOWN} more in `decision.json`"
        yield ""
    lane = advisory(decision)
    if lane:
        yield "### Advisory lane (decides nothing)"
        yield ""
        yield from (f"- {escape.markdown(phrase)}" for phrase in lane[:SHOWN])
        yield ""
    facts = [f"{key} {escape.code(value)}" for key, value in commits(decision)] + [
        escape.markdown(phrase) for phrase in run_facts(decision)
    ]
    if facts:
        yield "<sub>" + " · ".join(facts) + "</sub>"


def _group(group: Group) -> Iterator[str]:
    level = "" if group.level == "error" else f" ({group.level})"
    yield f"**{escape.markdown(group.rule, 20)}** {group.title}{level}"
    yield ""
    for finding in group.findings[:SHOWN]:
        where = "" if finding.path is None else escape.code(escape.name(finding.path) + (f":{finding.line}" if finding.line else "")) + " "
        first, *more = escape.lines(finding.message)
        yield f"- {where}{escape.markdown(first)}"
        yield from (f"  {escape.code(text, escape.LIMIT)}  " for text in more if text.strip())
    hidden = len(group.findings) - SHOWN
    if hidden > 0:
        yield f"- and {hidden} more"
    yield ""
    if group.why:
        yield f"Why: {group.why}"
    for advice in group.next[:3]:
        yield f"Next: {advice if advice in _OURS else escape.markdown(advice)}"
    yield ""
