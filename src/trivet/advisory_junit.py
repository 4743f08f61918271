"""A JUnit file that another job made, summarised as an advisory report. It decides nothing, wherever it comes from."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from trivet.errors import UsageError
from trivet.model import AdvisoryReport

LIMIT_B = 50_000_000
"""A longer file is not read."""
_TOLD = 200


def read_junit(path: Path) -> AdvisoryReport:
    """Count the test cases of a JUnit file.

    Raises:
        UsageError: it cannot be read, is too long, declares entities, or is no JUnit file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_B + 1)
    except OSError as error:
        raise UsageError(f"the JUnit file cannot be read: {error.strerror or error}", where=str(path)) from error
    if len(data) > LIMIT_B:
        raise UsageError(f"the JUnit file is longer than {LIMIT_B} bytes", where=str(path))
    # Entities can grow without bound; no JUnit writer needs them. Other encodings could hide them from this look.
    if re.search(rb"<!(?:DOCTYPE|ENTITY)", data, re.IGNORECASE) or b"\0" in data[:200]:
        raise UsageError("the JUnit file declares a document type or is not UTF-8", where=str(path))
    try:
        root = ET.fromstring(data)  # noqa: S314 - without declarations there is nothing to expand
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UsageError(f"the JUnit file is not XML: {error}", where=str(path)) from error
    if root.tag not in ("testsuites", "testsuite"):
        raise UsageError(f"this is no JUnit file: its root is <{root.tag[:40]}>", where=str(path))
    counts: dict[str, int] = {}
    tests: list[tuple[str, str]] = []
    for case in root.iter("testcase"):
        tags = {child.tag for child in case}
        word = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        counts[word] = counts.get(word, 0) + 1
        if word == "failed" and len(tests) < _TOLD:
            tests.append((f"{case.get('classname', '')}::{case.get('name', '')}"[:500], word))
    return AdvisoryReport(
        counts=tuple(sorted(counts.items())), tests=tuple(tests), notes=() if counts else ("the JUnit file holds no test",)
    )
