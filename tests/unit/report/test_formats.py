from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from trivet import report
from trivet.errors import UsageError
from trivet.model import Decision, Finding
from trivet.report import github, gitlab, junit, markdown, sarif, terminal
from unit.report.decisions import HOSTILE, LONG, blocked, hostile, merged, verdict

ALL = sorted(report.FORMATS)


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("make", [merged, blocked, hostile], ids=["merged", "blocked", "hostile"])
def test_every_format_renders_every_decision(form: str, make: Callable[[], Decision]) -> None:
    text = report.render(form, make())
    text.encode("utf-8")
    if form != "json":
        assert "\x1b" not in text
        assert "\x00" not in text


@pytest.mark.parametrize("form", sorted(set(ALL) - {"json"}))
def test_a_megabyte_in_every_field_stays_small(form: str) -> None:
    assert len(report.render(form, hostile(LONG))) < 200_000


def test_an_unknown_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="yaml"):
        report.render("yaml", merged())


def test_the_last_line_of_the_terminal_report_is_the_outcome() -> None:
    assert terminal.render(merged()).splitlines()[-1] == "MERGE_OK"
    assert terminal.render(blocked()).splitlines()[-1] == "MERGE_BLOCKED: PASS FAIL NOT_RUN"
    assert terminal.render(hostile(), colour=True).splitlines()[-1] == "MERGE_BLOCKED: NOT_RUN FAIL FAIL"


def test_the_terminal_report_says_what_where_why_and_next() -> None:
    text = terminal.render(blocked())
    assert "FAIL  oracle-integrity\n  TRV101  sealed path changes together with production code\n" in text
    assert "          tests/sealed/test_a.py:3  tests/sealed/test_a.py changes with src/a.py\n" in text
    assert "    why   The score would measure itself.\n" in text
    assert "    next  Send the oracle or control part as its own change" in text
    assert "----  src-score   not run\n" in text
    assert "blocked: 1 of 3 legs failed, 1 was not run\n" in text


def test_colour_never_carries_meaning_alone() -> None:
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", terminal.render(blocked(), colour=True)) == terminal.render(blocked())


@pytest.mark.parametrize(
    ("environ", "tty", "colour"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"CI": "true"}, True, False), ({"TERM": "dumb"}, True, False)],
)
def test_colour_is_for_terminals_that_want_it(environ: dict[str, str], tty: bool, colour: bool) -> None:
    assert terminal.wants_colour(environ, tty=tty) is colour


def test_no_line_of_the_terminal_report_is_a_workflow_command() -> None:
    for line in terminal.render(hostile()).splitlines():
        assert not line.strip().startswith("::")
        assert "##[" not in line


def test_markdown_says_the_verdict_first_and_lets_no_markup_through() -> None:
    assert markdown.render(merged()).startswith("## ✅ MERGE_OK\n")
    text = markdown.render(hostile())
    assert text.startswith("## ❌ MERGE_BLOCKED\n")
    outside = [part for part in text.splitlines() if "`" not in part]
    assert not any("<script>" in part or "@octocat" in part for part in outside)


def test_markdown_stays_below_the_limit_of_a_step_summary() -> None:
    findings = tuple(Finding(rule=f"TRV{number}", message="m" * 3000, path=b"p") for number in range(1000))
    many = Decision(
        src_score=verdict("src-score", "FAIL", *findings),
        oracle_integrity=verdict("oracle-integrity"),
        flake_lease=verdict("flake-lease"),
    )
    text = markdown.render(many)
    assert len(text.encode()) <= 1_048_576
    assert "more lines; `decision.json` has them all" in text.splitlines()[-1]


def test_junit_counts_what_it_holds() -> None:
    for make in (merged, blocked, hostile):
        root = ET.fromstring(junit.render(make()))
        cases = root.findall(".//testcase")
        assert root.get("tests") == str(len(cases))
        assert root.get("failures") == str(len(root.findall(".//failure")))
        assert root.get("errors") == str(len(root.findall(".//error")))
    assert ET.fromstring(junit.render(merged())).get("failures") == "0"
    assert ET.fromstring(junit.render(blocked())).get("errors") == "1"


def test_sarif_names_rule_level_and_place() -> None:
    run = json.loads(sarif.render(blocked()))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TRV101", "TRV210"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], first["ruleIndex"]) == ("TRV101", "error", 0)
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "tests/sealed/test_a.py", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 3}}
    assert second["locations"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert json.loads(sarif.render(merged()))["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_sarif_makes_no_link_of_hostile_text() -> None:
    for result in json.loads(sarif.render(hostile()))["runs"][0]["results"]:
        assert "\\[a](javascript:x)" in result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].isascii()


def test_github_shows_at_most_ten_annotations_of_a_level_one_a_line() -> None:
    findings = tuple(Finding(rule="TRV101", message=HOSTILE, path=b"a,b:c\n", line=2) for _ in range(30))
    many = Decision(
        src_score=verdict("src-score"),
        oracle_integrity=verdict("oracle-integrity", "FAIL", *findings),
        flake_lease=verdict("flake-lease"),
    )
    rows = github.render(many).splitlines()
    assert len(rows) == 10
    assert all(row.startswith("::error ") for row in rows)
    assert rows[0].startswith("::error file=a%2Cb%3Ac\\n,line=2,title=TRV101 ")
    assert "and 21 more" in rows[-1]


def test_github_says_that_a_leg_was_not_run() -> None:
    nothing = Decision(src_score=verdict("src-score", "NOT_RUN"), oracle_integrity=verdict("oracle-integrity"), flake_lease=verdict("flake-lease"))
    assert github.render(nothing) == "::error title=trivet::MERGE_BLOCKED: PASS PASS NOT_RUN\n"
    assert github.render(merged()) == ""


def test_gitlab_issues_have_what_the_format_asks_for() -> None:
    issues = json.loads(gitlab.render(hostile()))
    for issue in issues:
        assert issue["description"]
        assert issue["check_name"]
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert gitlab.render(merged()) == "[]\n"
