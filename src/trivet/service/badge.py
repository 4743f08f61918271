"""A badge as SVG: the last word about a repository, for a README. Made here, so that nobody else learns who looks at it."""

from __future__ import annotations

from xml.sax.saxutils import escape

_COLOURS = {"may merge": "#1a7f37", "blocked": "#b3261e", "undecided": "#6b5b00", "no verdict": "#57606a"}
_GLYPH_PX = 7
_PADDING_PX = 12


def badge(word: str, label: str = "trivet") -> str:
    """Draw a badge.

    Args:
        word: ``may merge``, ``blocked``, ``undecided`` or ``no verdict``.
        label: what stands on its left side.
    """
    left, right = (len(text) * _GLYPH_PX + _PADDING_PX for text in (label, word))
    width, title = left + right, escape(f"{label}: {word}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{width}" height="20" rx="3" fill="#24292f"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" '
        f'fill="{_COLOURS[word]}"/><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14">{escape(label)}</text><text x="{left + right / 2}" y="14">{escape(word)}</text></g></svg>'
    )
