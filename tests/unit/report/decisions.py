"""Decisions for the report tests: built from values, one of them with hostile text in every field."""

from __future__ import annotations

from trivet.legs.join import join
from trivet.model import Decision, Finding, Status, Verdict

HOSTILE = "\x1b[31mred\x07\x00\r\n::error::owned\n::set-output name=a::b\n##[command]rm <script>alert(1)</script> ]]> &amp; `tick` [a](javascript:x) @octocat #1 | \u202etxt.exe \udcff \ufffe"
LONG = "n" * 1_000_000
FACTS: dict[str, object] = {
    "base": {"commit": "a" * 40, "tree": "b" * 40},
    "head": {"commit": "c" * 40, "tree": "d" * 40},
    "turned_green": ["tests/sealed/test_a.py::test_one"],
    "merge_base": "a" * 40,
    "score_tree": "e" * 40,
    "policy": {"digest": "f" * 64, "source": "preset verdicts"},
    "change": {"kind": "patch", "paths": [{"path": b"src/a.py", "zone": "source", "status": "M"}]},
    "replay_key": {"TZ": "UTC", "digest": "0" * 64},
    "run": {"tests": {"passed": 12, "failed": 1}, "controls": {"red": 3}, "isolation": "shared", "wall": "kernel", "duration_s": 1.25},
    "advisory": {"counts": {"passed": 2}, "coverage": 0.5, "notes": ["test_b fails on base and passes on head"], "tests": []},
}


def verdict(leg: str, status: Status = "PASS", *findings: Finding) -> Verdict:
    """One verdict."""
    return Verdict(leg=leg, status=status, findings=findings)  # type: ignore[arg-type]


def merged() -> Decision:
    """Three times PASS."""
    return join(
        src_score=verdict("src-score"), oracle_integrity=verdict("oracle-integrity"), flake_lease=verdict("flake-lease"), facts=FACTS
    )


def blocked() -> Decision:
    """A mixed change: one leg failed, one was not run."""
    finding = Finding(rule="TRV101", message="tests/sealed/test_a.py changes with src/a.py", path=b"tests/sealed/test_a.py", line=3)
    note = Finding(rule="TRV210", message="test_x needs a display", level="note")
    return join(
        src_score=None,
        oracle_integrity=verdict("oracle-integrity", "FAIL", finding, note),
        flake_lease=verdict("flake-lease"),
        facts=FACTS,
    )


def hostile(text: str = HOSTILE) -> Decision:
    """Text of the patch in every field that can hold it."""
    raw = text.encode("utf-8", "surrogatepass")
    findings = [
        Finding(rule=rule, message=text, path=raw, line=1, next=text, level=level)
        for rule, level in (("TRV101", "error"), ("TRV201", "warning"), ("TRV301", "note"), (text[:50], "error"))
    ]
    facts = {
        **FACTS,
        "turned_green": [text],
        "policy": {"digest": text, "source": text},
        "run": {"tests": {text: 1}, "controls": text, "isolation": text, "wall": text, "duration_s": 1},
        "advisory": {"counts": {text: 1}, "notes": [text], "tests": [[text, text]]},
        "score_tree": text,
    }
    return join(
        src_score=verdict("src-score", "FAIL", *findings),  # type: ignore[arg-type]
        oracle_integrity=verdict("oracle-integrity", "FAIL", *findings),  # type: ignore[arg-type]
        flake_lease=verdict("flake-lease", "NOT_RUN", *findings),  # type: ignore[arg-type]
        facts=facts,
    )


def nothing() -> Decision:
    """Nothing could be judged, and nothing is known."""
    return join(src_score=None, oracle_integrity=None, flake_lease=None, facts={})


def admitted() -> Decision:
    """An oracle change with everything that can be told of a run: certificates, wall, durations, an advisory report."""
    certificate = {
        "property": "tests/sealed/test_a.py::test_one", "state": "new", "outcome": "green", "controls": 2, "tried": 3, "executes": 4,
        "steady": ["another hash seed"], "faults": ["TRV120"],
    }  # fmt: skip
    facts: dict[str, object] = {
        **FACTS,
        "change": {"kind": "oracle", "paths": [{"path": b"tests/sealed/test_a.py", "zone": "oracle", "status": "A"}]},
        "run": {
            "tests": {"passed": 12, "failed": 1},
            "controls": {"red": 3},
            "isolation": {"shared": ["tests/sealed/test_a.py"], "split": ["tests/sealed/test_b.py"]},
            "wall": {"name": "kernel", "guarantees": ["no network"], "lacks": ["a name space"]},
            "signs": [{"kind": "audit", "detail": "opens a file", "blocking": False}],
            "durations": {"tests/sealed/test_a.py::test_one": 0.1},
            "duration_s": 1.25,
            "calibration_s": 2.5,
            "authority": "approved by rosa",
            "certificates": [certificate],
        },
        "advisory": {
            "counts": {"red": 2, "shows the fix": 1},
            "coverage": 0.5,
            "notes": ["test_b fails on base and passes on head"],
            "tests": [["tests/proposed/test_b.py::test_b", "shows the fix"]],
        },
    }
    note = Finding(rule="TRV201", message="specification: test_one is red on base's source", path=b"tests/sealed/test_a.py", level="note")
    return join(
        src_score=verdict("src-score", "PASS", note),
        oracle_integrity=verdict("oracle-integrity"),
        flake_lease=verdict("flake-lease"),
        facts=facts,
    )
