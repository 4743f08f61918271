"""The examples of the documentation, for tests that run them as they stand."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def example(page: str, heading: str, *, language: str = "python", number: int = 0) -> str:
    """The text of one fenced example: of a page, below a heading that begins so, the n-th of its language."""
    text = (DOCS / page).read_text("utf-8")
    part = re.search(rf"^## {re.escape(heading)}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert part, f"no heading {heading!r} in {page}"
    found = re.findall(rf"^```{language}\n(.*?)^```", part[0], re.MULTILINE | re.DOTALL)
    return found[number]
