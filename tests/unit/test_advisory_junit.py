"""A JUnit file of another job is summarised, and nothing in it is trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.advisory_junit import read_junit
from trivet.errors import UsageError


def test_the_cases_are_counted(tmp_path: Path) -> None:
    """Failures and errors are red."""
    path = tmp_path / "j.xml"
    path.write_text(
        "<testsuites><testsuite><testcase classname='a' name='x'/><testcase classname='a' name='y'><failure/></testcase>"
        "<testcase name='z'><error/></testcase><testcase name='s'><skipped/></testcase></testsuite></testsuites>"
    )
    found = read_junit(path)
    assert (found.counts, found.tests) == ((("failed", 2), ("passed", 1), ("skipped", 1)), (("a::y", "failed"), ("::z", "failed")))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "<html/>",
        "<testsuite>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite>&a;</testsuite>",
        "<!doctype x SYSTEM 'file:///etc/passwd'><testsuite/>",
        "<testsuite>".encode("utf-16").decode("latin-1"),
    ],
)
def test_anything_else_is_refused(text: str, tmp_path: Path) -> None:
    """Entities, other roots, broken and foreign encodings."""
    path = tmp_path / "j.xml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError):
        read_junit(path)
