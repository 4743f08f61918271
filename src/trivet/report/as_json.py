"""The decision as JSON: the same bytes as ``decision.json``."""

from __future__ import annotations

from trivet.model import Decision
from trivet.report.document import document, text


def render(decision: Decision) -> str:
    """``decision.json`` as text."""
    return text(document(decision))
