"""How many random cases a test tries: few in the suite, the whole count where ``TRIVET_LONG=1`` asks for it."""

from __future__ import annotations

import os


def count(few: int, whole: int) -> int:
    """``whole`` where the caller has time."""
    return whole if os.environ.get("TRIVET_LONG") == "1" else few
