"""Properties good and bad, admitted for real: each bad one is refused by its rule, each good one gets its certificate.

The properties are Python files under ``tests/corpus/properties``; a bad one says behind its ``def`` which rule must be found.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from repos import Content, Repo
from trivet.admission import AdmitRequest, judge
from trivet.model import Decision

CORPUS = Path(__file__).parents[1] / "corpus" / "properties"
NOW = 1_790_000_000.0
_DEF = re.compile(r"^(?:class (\w+)|( *)(?:async )?def (test_\w+)\(.*\):(?:  # (TRV\d+))?)", re.MULTILINE)


def tree_of(folder: Path) -> dict[str, Content]:
    """The files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"}


def properties(file: Path) -> list[tuple[str, str]]:
    """(``Class::test_x`` or ``test_x``, the rule behind it or "") of a file."""
    found, owner = [], ""
    for match in _DEF.finditer(file.read_text("utf-8")):
        if match[1]:
            owner = match[1]
        elif match[3]:
            found.append((f"{owner}::{match[3]}" if match[2] else match[3], match[4] or ""))
    return found


def pinned_values() -> dict[str, str]:
    """What flaky properties would see in a pinned run, so that each of them passes there."""
    code = (
        "import random; random.seed(20260922); "
        "print(hash('shop') % 1000, ''.join(set('one two three four five six seven eight'.split())), random.randrange(10**9))"
    )
    seen = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "0"}).stdout.split()
    return {"PINNED": seen[0], "JOINED": repr(seen[1]), "DRAWN": seen[2]}


def without(text: str, names: set[str]) -> str:
    """The text of a file without these properties."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        inner = [(f"{node.name}::", part) for part in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for prefix, part in inner:
            if isinstance(part, ast.FunctionDef) and f"{prefix}{part.name}" in names:
                first = min([part.lineno, *(mark.lineno for mark in part.decorator_list)])
                lines[first - 1 : part.end_lineno] = [" " * part.col_offset + "pass\n", *[""] * (part.end_lineno - first)]  # type: ignore[operator]
    return "".join(lines)


def admitted(tmp_path: Path, kind: str, leave_out: Iterable[str] = ()) -> Decision:
    """Base, and a change by an owner that brings the properties of one kind."""
    repo = Repo(tmp_path / "repo")
    base = tree_of(CORPUS / "base")
    data = {"fixtures/sealed/prices.json": base["fixtures/sealed/prices.json"]}
    sums = subprocess.run(["sha256sum"], input=data["fixtures/sealed/prices.json"], capture_output=True, check=True).stdout.decode()
    owners = "* @devs\n/tests/sealed/ @org/oracle-owners\n/fixtures/ @org/oracle-owners\n/ci/ @org/oracle-owners\n"
    first = "from shop import price\n\n\ndef test_first():\n    assert price(1) == 2\n"
    repo.commit(
        {
            **base,
            "CODEOWNERS": owners,
            "tests/sealed/test_first.py": first,
            "tests/sealed/MANIFEST.txt": "tests/sealed/test_first.py\n",
            "fixtures/sealed/MANIFEST.sha256": sums.replace(" -", " prices.json"),
            "ci/flake_leases.json": '{"leases": []}\n',
            "trivet.toml": 'schema = 1\npreset = "verdicts"\n',
        }
    )
    repo.git("tag", "base")
    files: dict[str, Content] = {}
    for file in sorted((CORPUS / kind).glob("*.py")):
        text = file.read_text("utf-8")
        for name, value in pinned_values().items():
            text = re.sub(rf"\b{name}\b", lambda _match, value=value: value, text)
        own = f"tests/sealed/test_{file.name}::"
        text = without(text, {name.removeprefix(own) for name in leave_out if name.startswith(own)})
        files[f"tests/sealed/{'' if file.stem.startswith('helpers') else 'test_'}{file.name}"] = text
    tests = sorted([*(name for name in files if "/test_" in name), "tests/sealed/test_first.py"])
    repo.commit({**files, "tests/sealed/MANIFEST.txt": "".join(f"{name}\n" for name in tests)})
    review = tmp_path / "review.json"
    review.write_text(json.dumps({"author": "rosa", "teams": {"oracle-owners": ["rosa"]}, "labels": [], "approvals": []}))
    return judge(AdmitRequest(repo=repo.root, base="base", head="main", now=NOW, python=sys.executable, review=review))


def expected(kind: str) -> dict[str, str]:
    """Every property of a kind by its whole name, with its rule."""
    files = sorted((CORPUS / kind).glob("*.py"))
    return {f"tests/sealed/test_{file.name}::{name}": rule for file in files for name, rule in properties(file)}


def certificates(decision: Decision) -> dict[str, dict[str, object]]:
    """The certificates by property."""
    run = decision.facts["run"]
    assert isinstance(run, dict)
    return {row["property"]: row for row in run["certificates"]}


@pytest.mark.kernel
def test_every_bad_property_is_refused_by_its_rule(tmp_path: Path) -> None:
    """Tautologies, vacuity, flakiness, network and real time: at least forty, none let through, each told by name."""
    wanted = expected("bad")
    assert len(wanted) >= 40
    assert all(wanted.values()), "each has its rule"
    by_reading = admitted(tmp_path / "read", "bad")
    found = told(by_reading)
    assert by_reading.src_score.status == "NOT_RUN", "what reading refuses is not run"
    read = {name for name, rule in wanted.items() if rule in found.get(name, ())}
    by_running = admitted(tmp_path / "run", "bad", leave_out=read)
    found = told(by_running)
    missed = {name: (rule, found.get(name)) for name, rule in wanted.items() if name not in read and rule not in found.get(name, ())}
    assert not missed
    assert (by_reading.merge, by_running.merge) == (False, False)
    rows = certificates(by_running)
    assert rows.keys() == wanted.keys() - read
    assert not {name: row["faults"] for name, row in rows.items() if wanted[name] not in row["faults"]}, "the certificate says so too"  # type: ignore[operator]


def told(decision: Decision) -> dict[str, set[str]]:
    """Property → rules of the errors that name it."""
    found: dict[str, set[str]] = {}
    for finding in decision.oracle_integrity.findings:
        named = re.match(r"(\S+?\.py::\w+(?:::\w+)?)", finding.message)
        if finding.level == "error" and named:
            found.setdefault(named[1], set()).add(finding.rule)
    return found


@pytest.mark.kernel
def test_every_good_property_is_admitted_with_a_certificate(tmp_path: Path) -> None:
    """At least twenty honest ways of asking; and what production code cannot do yet is a specification."""
    decision = admitted(tmp_path, "good")
    wanted = expected("good")
    assert len(wanted) >= 20
    errors = [(finding.rule, finding.message) for verdict in decision.verdicts for finding in verdict.findings if finding.level == "error"]
    assert not errors
    assert decision.merge
    rows = certificates(decision)
    assert rows.keys() == wanted.keys()
    assert {name: row["faults"] for name, row in rows.items() if row["faults"]} == {}
    specified = {name for name, row in rows.items() if row["outcome"] == "specification"}
    assert specified == {name for name in wanted if "test_wanted.py" in name}
    green = {name: row for name, row in rows.items() if name not in specified}
    assert all(int(str(row["tried"])) >= int(str(row["controls"])) for row in green.values())
    refuted = [name for name, row in green.items() if int(str(row["controls"]))]
    assert len(refuted) >= len(green) - 2, f"no altered copy failed: {green.keys() - set(refuted)}"
    reading = {"test_constant", "test_version", "test_table_of_a_module", "test_parameters_of_production", "test_command_line"}
    idle = {name.rpartition("::")[2] for name, row in green.items() if not row["executes"]}
    reading.add("test_no_blanks")  # the making of its inputs is longer than a test is watched
    assert idle <= reading, "all others were seen to execute production code"
    assert all(len(row["steady"]) == 2 for row in rows.values())  # type: ignore[arg-type]
