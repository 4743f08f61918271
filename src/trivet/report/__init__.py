"""Telling: rendering only."""

from __future__ import annotations

import importlib

from trivet.errors import UsageError
from trivet.model import Decision

FORMATS: dict[str, str] = {
    "text": "trivet.report.terminal",
    "json": "trivet.report.as_json",
    "markdown": "trivet.report.markdown",
    "junit": "trivet.report.junit",
    "sarif": "trivet.report.sarif",
    "github": "trivet.report.github",
    "gitlab": "trivet.report.gitlab",
}
"""Formats of ``--report FORMAT=FILE``; each module has ``render(decision) -> str`` and is imported when it is used."""


def render(form: str, decision: Decision) -> str:
    """Render a decision in one of ``FORMATS``.

    Raises:
        UsageError: there is no such format.
    """
    if form not in FORMATS:
        raise UsageError(f"no report format {form!r}", hint="one of " + ", ".join(FORMATS))
    return str(importlib.import_module(FORMATS[form]).render(decision))
