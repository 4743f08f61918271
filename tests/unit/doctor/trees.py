"""A repository in which everything holds, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Mapping

from trivet.doctor.repository import Question, examine
from trivet.doctor.words import Check
from trivet.git import PlainTree
from trivet.scaffold import Wishes, owner_lines

NOW = 1_790_078_400.0
OWNERS = "\n".join(owner_lines(Wishes(forge="github", owners=("@acme/quality",)))) + "\n"
GOOD: dict[str, str] = {
    "src/pkg/__init__.py": "",
    "src/pkg/core.py": "def double(n):\n    return 2 * n\n",
    "tests/sealed/test_core.py": "from pkg.core import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_core.py\n",
    "ci/flake_leases.json": '{"leases": []}\n',
    "ci/oracle_owners": "# none\n",
    "trivet.toml": "schema = 1\n",
    "pyproject.toml": '[project]\nname = "pkg"\nversion = "1"\n',
    ".github/CODEOWNERS": OWNERS,
}


def spoilt(change: Mapping[str, str | None]) -> PlainTree:
    files = {**GOOD, **change}
    return PlainTree({name.encode(): text.encode() for name, text in files.items() if text is not None})


def rows(change: Mapping[str, str | None], name: str, **question: object) -> list[Check]:
    return [check for check in examine(spoilt(change), Question(now=NOW, **question)) if check.name == name]  # type: ignore[arg-type]


def said(change: Mapping[str, str | None], name: str, **question: object) -> str:
    """What is open under one name, with its level; "" where it is held."""
    found = [check for check in rows(change, name, **question) if check.state == "open"]
    assert all(check.remedy for check in found)
    return "\n".join(f"{check.level} {check.place} {check.detail}" for check in found)
