"""A decision as named checks: pure. All foreign text goes through `report.escape`, and every length is bounded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trivet.forge.words import ADVISORY, JOIN, LEG_CHECKS, NAMES, Check, Note, State
from trivet.model import Decision, LegName, Status, Verdict
from trivet.report import escape, markdown
from trivet.report.facts import advisory, final_line, outcome
from trivet.rules import RULES

SUMMARY_LIMIT = 60_000
"""Characters; GitHub takes 65,535 of a check and 65,536 of a comment."""
TITLE_LIMIT = 200
NOTES_LIMIT = 50
"""Remarks of one request; what does not fit is in the summary."""
_STATES: dict[Status, State] = {"PASS": "success", "FAIL": "failure", "NOT_RUN": "not-run"}
MARKER = "<!-- trivet:verdict -->"
"""The hidden line by which the one comment is found again."""


def pending(text: str = "is being judged") -> tuple[Check, ...]:
    """What is shown while a change is judged."""
    return tuple(_sealed(Check(name=name, state="running", title=text)) for name in NAMES)


def judged(decision: Decision) -> tuple[Check, ...]:
    """The three legs, the advisory lane where it ran, and the join last; a join is a success only where all three legs pass."""
    verdicts = {verdict.leg: verdict for verdict in decision.verdicts}
    rows = [_leg(leg, verdicts[leg]) for leg in LEG_CHECKS]
    lane = advisory(decision)
    if lane:
        text = "\n".join(f"- {escape.markdown(phrase)}" for phrase in lane[:50])
        rows.append(Check(name=ADVISORY, state="neutral", title="decides nothing", summary=cut(text)))
    state: State = "success" if decision.merge else "failure"
    title = f"{final_line(decision)} ({outcome(decision)})"
    rows.append(Check(name=JOIN, state=state, title=title, summary=cut(markdown.render(decision))))
    return tuple(_sealed(row) for row in rows)


def refused(reason: str) -> Check:
    """The join of a change that was judged but cannot be shown as a success here."""
    text = escape.line(reason, TITLE_LIMIT)
    return _sealed(Check(name=JOIN, state="failure", title=text, summary=escape.markdown(reason)))


def outdated(check: Check, reason: str) -> Check:
    """A check whose judgement is no longer of use: neither green nor red, and closed for a forge that requires it."""
    return _sealed(replace(check, state="not-run", title=escape.line(reason, TITLE_LIMIT), summary="", notes=()))


def comment_body(decision: Decision) -> str:
    """The text of the one comment, with its marker in the first line."""
    head = decision.facts.get("head")
    commit = str(head.get("commit", ""))[:40] if isinstance(head, Mapping) else ""
    about = f"<!-- trivet:head {commit} -->\n" if commit.isalnum() else ""
    # A line that begins with a slash is an order to some forges, whoever wrote it.
    text = "\n".join(f"\\{line}" if line.lstrip().startswith("/") else line for line in cut(markdown.render(decision)).split("\n"))
    return f"{MARKER}\n{about}{text}"


def cut(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """Whole lines of a text that fit into ``limit`` characters, and how many do not."""
    if len(text) <= limit:
        return text
    kept: list[str] = []
    size = 0
    lines = text.split("\n")
    for line in lines:
        size += len(line) + 1
        if size > limit - 100:
            break
        kept.append(line)
    return "\n".join([*kept, "", f"… and {len(lines) - len(kept)} more lines; `decision.json` has them all."])


def _leg(leg: LegName, verdict: Verdict) -> Check:
    errors = sum(finding.level == "error" for finding in verdict.findings)
    what = {"PASS": "holds", "FAIL": f"{errors} {'finding' if errors == 1 else 'findings'}", "NOT_RUN": "was not run"}[verdict.status]
    title = what + (f" ({verdict.cause})" if verdict.cause else "")
    text = "\n".join(_rows(verdict)) or "Nothing to object to."
    notes = tuple(_notes(verdict))[:NOTES_LIMIT]
    return Check(name=LEG_CHECKS[leg], state=_STATES[verdict.status], title=title, summary=cut(text), notes=notes)


def _rows(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings[:200]:
        known = RULES.get(finding.rule)
        where = "" if finding.path is None else escape.code(escape.name(finding.path) + (f":{finding.line}" if finding.line else "")) + " "
        title = f" {known.title}" if known else ""
        yield f"- **{escape.markdown(finding.rule, 20)}**{title}: {where}{escape.markdown(finding.message)}"
        advice = finding.next or (known.next if known else "")
        if advice:
            yield f"  - next: {escape.markdown(advice)}"


def _notes(verdict: Verdict) -> Iterator[Note]:
    for finding in verdict.findings:
        if finding.path is None or not _is_plain(finding.path):
            continue
        known = RULES.get(finding.rule)
        yield Note(
            path=finding.path.decode(),
            line=max(1, finding.line or 1),
            level=finding.level,
            title=escape.line(f"{finding.rule} {known.title}" if known else finding.rule, TITLE_LIMIT),
            text=escape.line(finding.message),
        )


def _is_plain(path: bytes) -> bool:
    """Whether a forge can show a remark at this path: it has to be sent as it is."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return False
    return len(text) <= escape.NAME_LIMIT and escape.name(path) == text


def _sealed(check: Check) -> Check:
    notes = [[note.path, note.line, note.level, note.title, note.text] for note in check.notes]
    seen = json.dumps([check.name, check.state, check.title, check.summary, notes]).encode("utf-8", "backslashreplace")
    return replace(check, digest=hashlib.sha256(seen).hexdigest()[:32])
