"""The report for people at a terminal: for each finding what, where, why, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trivet.model import Decision, Verdict
from trivet.report import escape
from trivet.report.facts import Group, advisory, certificates, commits, final_line, groups, outcome, run_facts, turned_green

Style = Literal["", "good", "bad", "warn", "dim", "strong"]
Row = tuple[tuple[str, Style], ...]

SHOWN = 20
"""Findings of one rule that are shown; the others are counted."""
_MARKS = {"PASS": "PASS", "FAIL": "FAIL", "NOT_RUN": "----"}
_COLOURS: dict[str, Style] = {"PASS": "good", "FAIL": "bad", "NOT_RUN": "dim"}


def render(decision: Decision, *, colour: bool = False) -> str:
    """The whole report; its last line is ``MERGE_OK`` or ``MERGE_BLOCKED: …``. Colour never carries meaning alone."""
    rows = [*_rows(decision)]
    end = final_line(decision)
    if not colour:
        return "\n".join("".join(text for text, _ in row).rstrip() for row in rows) + f"\n{end}\n"
    return _coloured(rows) + f"{end}\n"


def wants_colour(environ: dict[str, str], *, tty: bool) -> bool:
    """Colour on a terminal only, and never with ``NO_COLOR``, ``CI`` or a dumb terminal."""
    return tty and not environ.get("NO_COLOR") and not environ.get("CI") and environ.get("TERM") != "dumb"


def _rows(decision: Decision) -> Iterator[Row]:
    about = commits(decision)
    if about:
        yield (("   ".join(f"{key} {escape.name(value)}" for key, value in about), "dim"),)
    for verdict in reversed(decision.verdicts):
        yield from _verdict(decision, verdict)
    fixed = turned_green(decision)
    if fixed:
        yield (("fixed", "good"), (f"  {len(fixed)} sealed {'test' if len(fixed) == 1 else 'tests'} red on base and green here", ""))
        yield from (((f"          {escape.name(test)}", ""),) for test in fixed[:SHOWN])
    proven = certificates(decision)
    if proven:
        yield (("properties", "strong"), (f"  {len(proven)} new or changed", ""))
        for name, said in proven[:SHOWN]:
            yield ((f"          {escape.name(name)}", ""),)
            yield ((f"            {escape.line(said, 300)}", "dim"),)
        if len(proven) > SHOWN:
            yield ((f"          and {len(proven) - SHOWN} more in decision.json", "dim"),)
    lane = advisory(decision)
    if lane:
        yield (("advisory (decides nothing)", "strong"),)
        yield from (((f"          {escape.line(phrase)}", ""),) for phrase in lane[:SHOWN])
    yield ((outcome(decision), "good" if decision.merge else "bad"),)


def _verdict(decision: Decision, verdict: Verdict) -> Iterator[Row]:
    told = ""
    if verdict.status == "NOT_RUN":
        told = "   not run"
    elif verdict.leg == "src-score":
        told = "   " + escape.line(", ".join(run_facts(decision)), 300)
    cause = f"   cause: {verdict.cause}" if verdict.cause else ""
    yield ((_MARKS[verdict.status], _COLOURS[verdict.status]), (f"  {verdict.leg}", "strong"), (f"{cause}{told}", ""))
    for group in groups(verdict):
        yield from _group(group)


def _group(group: Group) -> Iterator[Row]:
    style: Style = {"error": "bad", "warning": "warn"}.get(group.level, "dim")  # type: ignore[assignment]
    level = "" if group.level == "error" else f"{group.level}: "
    yield ((f"  {escape.line(group.rule, 20)}", style), (f"  {level}{group.title}", "strong"))
    for finding in group.findings[:SHOWN]:
        where = "" if finding.path is None else escape.name(finding.path) + (f":{finding.line}" if finding.line else "")
        first, *more = escape.lines(finding.message)
        lead = "  ".join(part for part in (where, first) if part)
        yield ((f"          {lead}", ""),)
        yield from (((f"            {text}", ""),) for text in more)
    hidden = len(group.findings) - SHOWN
    if hidden > 0:
        yield ((f"          and {hidden} more", "dim"),)
    if group.why:
        yield (("    why   ", "dim"), (group.why, ""))
    for advice in group.next[:3]:
        yield (("    next  ", "dim"), (escape.line(advice), ""))


def _coloured(rows: list[Row]) -> str:
    """Styled by rich, which is imported only here: the gate's start-up does not pay for it."""
    import io  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    colours = {"": "", "good": "bold green", "bad": "bold red", "warn": "bold yellow", "dim": "dim", "strong": "bold"}
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=True, color_system="standard", soft_wrap=True, highlight=False, markup=False, emoji=False, _environ={}
    )
    for row in rows:
        console.print(Text.assemble(*((text, colours[style]) for text, style in row)), soft_wrap=True)
    return out.getvalue()
