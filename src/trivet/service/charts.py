"""Charts as SVG text: pure functions from numbers to markup, without inline style or script.

Widths are percent of the place that the page gives, heights are pixels, so that text keeps its size on a narrow screen. Colours come from
classes of the style sheet, and each kind has a pattern of its own: nothing is told by colour alone. A chart of several numbers names
itself (``role="img"`` with a title and a description); a bar in a table cell is hidden from screen readers, since the cell beside it has
the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from trivet.service.views import Day
from trivet.service.wording import counted, nice_top

_TOP, _PLOT, _FOOT = 8, 150, 22
_LEFT = 5.5
"""Percent of the width that the numbers of the axis take."""
_KINDS = (("merged", "bar-merge"), ("blocked", "bar-blocked"), ("undecided", "bar-undecided"))


def _percent(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") + "%"


def patterns() -> str:
    """The fill patterns; once a page, before the first chart. Blocked is hatched, undecided dotted, merged plain."""
    return (
        '<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
        '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect class="hatch-ground" width="6" height="6"/><rect class="hatch-line" width="2" height="6"/></pattern>'
        '<pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse">'
        '<rect class="dots-ground" width="5" height="5"/><circle class="dots-dot" cx="2.5" cy="2.5" r="1.1"/></pattern>'
        "</defs></svg>"
    )


def days(rows: Sequence[Day]) -> str:
    """Stacked columns: merged at the foot, blocked above, undecided on top; one column a day, oldest first."""
    if not rows:
        return ""
    top = nice_top(max(row.total for row in rows))
    width = (100 - _LEFT) / len(rows)
    height = _TOP + _PLOT + _FOOT
    totals = {kind: sum(getattr(row, kind) for row in rows) for kind, _ in _KINDS}
    told = ", ".join(f"{totals[kind]:,} {kind}" for kind, _ in _KINDS)
    parts = [
        f'<svg class="chart" width="100%" height="{height}" role="img" aria-labelledby="days-title days-desc">',
        f'<title id="days-title">Runs a day, {rows[0].day} to {rows[-1].day}</title>',
        f'<desc id="days-desc">{told}. The busiest day has {counted(max(row.total for row in rows), "run")}.</desc>',
    ]
    for share in (0.0, 0.5, 1.0):
        if top * share != int(top * share):
            continue
        y = _TOP + _PLOT * (1 - share)
        parts.append(f'<line class="grid" x1="{_percent(_LEFT)}" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        told = _compact(int(top * share))
        parts.append(f'<text class="tick" x="{_percent(_LEFT - 0.8)}" y="{y + 4:.1f}" text-anchor="end">{told}</text>')
    for place, row in enumerate(rows):
        parts.extend(_column(row, x=_LEFT + place * width + width * 0.14, width=width * 0.72, top=top))
    step = max(1, -(-len(rows) // 5))
    for place in range((len(rows) - 1) % step, len(rows), step):
        x = _LEFT + (place + 0.5) * width
        anchor = "end" if place == len(rows) - 1 else "middle"
        x = 100 if place == len(rows) - 1 else x
        # Every other date goes where the screen is narrow; the last one stays.
        name = "tick" if (len(rows) - 1 - place) // step % 2 == 0 else "tick tick-more"
        parts.append(f'<text class="{name}" x="{_percent(x)}" y="{height - 5}" text-anchor="{anchor}">{escape(rows[place].day[5:])}</text>')
    return "".join((*parts, "</svg>"))


def _column(row: Day, *, x: float, width: float, top: int) -> list[str]:
    foot = float(_TOP + _PLOT)
    told = ", ".join(f"{getattr(row, kind):,} {kind}" for kind, _ in _KINDS if getattr(row, kind)) or "no runs"
    parts = [f"<g><title>{escape(row.day)}: {told}</title>"]
    parts.append(f'<rect class="bar-hit" x="{_percent(x)}" y="{_TOP}" width="{_percent(width)}" height="{_PLOT}"/>')
    for kind, name in _KINDS:
        count = getattr(row, kind)
        if not count:
            continue
        tall = max(1.5, _PLOT * count / top)  # one run in a thousand can still be seen
        foot -= tall
        parts.append(f'<rect class="{name}" x="{_percent(x)}" y="{foot:.1f}" width="{_percent(width)}" height="{tall:.1f}"/>')
    return [*parts, "</g>"]


def _compact(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return str(number)


def bar(value: float, most: float, kind: str = "bar-plain") -> str:
    """A bar for a table cell, as long as ``value`` is of ``most``."""
    share = 0.0 if most <= 0 else min(1.0, max(0.0, value / most))
    wide = _percent(max(0.6, 100 * share) if value > 0 else 0)
    return (
        '<svg class="cell-bar" width="100%" height="10" aria-hidden="true" focusable="false">'
        f'<rect class="bar-track" width="100%" height="10" rx="2"/><rect class="{escape(kind)}" width="{wide}" height="10" rx="2"/></svg>'
    )


def split_bar(merged: int, blocked: int, undecided: int) -> str:
    """One bar cut into three shares, for a table cell."""
    whole = merged + blocked + undecided
    parts = ['<svg class="cell-bar" width="100%" height="10" aria-hidden="true" focusable="false">']
    parts.append('<rect class="bar-track" width="100%" height="10" rx="2"/>')
    x = 0.0
    for count, (_, name) in zip((merged, blocked, undecided), _KINDS, strict=True):
        if count:
            wide = 100 * count / whole
            parts.append(f'<rect class="{name}" x="{_percent(x)}" width="{_percent(wide)}" height="10"/>')
            x += wide
    return "".join((*parts, "</svg>"))


def spark(counts: Sequence[int]) -> str:
    """Small columns for a table cell, oldest first."""
    if not counts:
        return ""
    top, width = max(1, *counts), 100 / len(counts)
    parts = ['<svg class="cell-spark" width="100%" height="22" aria-hidden="true" focusable="false">']
    parts.append('<line class="grid" x1="0" x2="100%" y1="21.5" y2="21.5"/>')
    for place, count in enumerate(counts):
        if count:
            tall = max(3.0, 20 * count / top)
            parts.append(
                f'<rect class="bar-undecided" x="{_percent(place * width + width * 0.1)}" y="{21 - tall:.1f}" '
                f'width="{_percent(width * 0.8)}" height="{tall:.1f}"/>'
            )
    return "".join((*parts, "</svg>"))


def lifeline(start: float, end: float, *, first: float, last: float, now: float, state: str) -> str:
    """A lease on the common axis from ``first`` to ``last``: from when it was seen to its end, with a line for now."""
    whole = max(1.0, last - first)

    def place(at: float) -> float:
        return 100 * min(1.0, max(0.0, (at - first) / whole))

    left, right, here = place(start), place(end), place(now)
    return (
        '<svg class="cell-life" width="100%" height="20" aria-hidden="true" focusable="false">'
        '<rect class="bar-track" y="7" width="100%" height="6" rx="3"/>'
        f'<rect class="life-{escape(state)}" x="{_percent(left)}" y="4" width="{_percent(max(0.8, right - left))}" height="12" rx="3"/>'
        f'<line class="now-line" x1="{_percent(here)}" x2="{_percent(here)}" y1="0" y2="20"/></svg>'
    )
