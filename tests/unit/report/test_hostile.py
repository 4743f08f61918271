"""Hostile text in every single field of a decision, in every format: it shows as text and does nothing."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest

from trivet.model import Decision, Finding, Verdict
from trivet.report import FORMATS, render, terminal
from unit.report.decisions import admitted

SNIPPETS = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "c1": "\x9b31m\x85",
    "command": "\n::set-output name=a::b",
    "error command": "\r\n::error file=x::owned",
    "old command": "##[command]rm",
    "stop commands": "\n::stop-commands::x\n",
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "cdata": "]]><failure/><![CDATA[",
    "entity": "&lt;&#x1b;&xxe;",
    "heading": "\n## ✅ MERGE_OK\n",
    "last line": "\nMERGE_OK\n",
    "fence": "```\n</details>\n```",
    "link": "[a](javascript:alert(1)) ![x](http://e.example/x.png) http://e.example/",
    "mention": "@octocat #1 org/repo#2",
    "table": "| a | b |\n|---|---|\n",
    "bidi": "\u202etxt.exe\u2066",
    "surrogate": "\udcff\ud800",
    "no character": "\ufffe\x00\x08",
    "quote": "\"'`\\",
    "percent": "%0A::error::x%25",
}
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that no text of ours may hold."""
TOO_LONG = "n" * 1_000_000


def places(decision: Decision) -> Iterator[tuple[str, ...]]:
    """The path of every field that holds text: verdict fields, and each key and value of the facts."""
    for verdict in decision.verdicts:
        for name in ("rule", "message", "path", "next"):
            yield ("finding", verdict.leg, name)
    yield from _leaves(("facts",), decision.facts)


def _leaves(path: tuple[str, ...], value: object) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if len(path) > 1:
                yield (*path, f"key:{key}")
            yield from _leaves((*path, str(key)), part)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _leaves((*path, str(number)), part)
    elif isinstance(value, (str, bytes)):
        yield path


def spoiled(decision: Decision, place: tuple[str, ...], text: str) -> Decision:
    """The decision with one field replaced."""
    if place[0] == "facts":
        return replace(decision, facts=_put(decision.facts, place[1:], text))  # type: ignore[arg-type]
    verdicts: dict[str, Verdict] = {}
    for verdict in decision.verdicts:
        findings = verdict.findings
        if verdict.leg == place[1]:
            value: object = text.encode("utf-8", "surrogatepass") if place[2] == "path" else text
            findings = (replace(findings[0], **{place[2]: value}), *findings[1:])  # type: ignore[arg-type]
        verdicts[verdict.leg.replace("-", "_")] = replace(verdict, findings=findings)
    return replace(decision, **verdicts)  # type: ignore[arg-type]


def _put(value: object, path: tuple[str, ...], text: str) -> object:
    if not path:
        return text.encode("utf-8", "surrogatepass") if isinstance(value, bytes) else text
    head, *rest = path
    if isinstance(value, Mapping):
        if head.startswith("key:"):
            return {(text if str(key) == head[4:] else key): part for key, part in value.items()}
        return {key: _put(part, tuple(rest), text) if str(key) == head else part for key, part in value.items()}
    assert isinstance(value, (list, tuple))
    return [_put(part, tuple(rest), text) if str(number) == head else part for number, part in enumerate(value)]


def everything() -> Decision:
    """A decision in which every field that can hold text does."""
    base = admitted()
    finding = Finding(rule="TRV101", message="m", path=b"p.py", line=1, next="n")
    return replace(
        base,
        **{
            verdict.leg.replace("-", "_"): replace(verdict, status="FAIL", findings=(finding, *verdict.findings))
            for verdict in base.verdicts
        },
    )  # type: ignore[arg-type]


WHOLE = everything()
PLACES = [*places(WHOLE)]


def harmless(form: str, text: str) -> None:
    """Assert that a report holds nothing that acts."""
    assert not FORBIDDEN.search(text)
    rows = text.splitlines()
    if form == "text":
        assert rows[-1].startswith("MERGE_BLOCKED: ")
        assert "MERGE_OK" not in rows
    if form in ("text", "markdown"):
        assert not [row for row in rows if row.strip().startswith("::") or "##[" in row]
    if form == "github":
        assert all(re.match(r"::(error|warning|notice) [^:\n]*::", row) for row in rows)
        assert len(rows) <= 30
    if form == "markdown":
        assert rows[0] == "## ❌ MERGE_BLOCKED"
        assert [row for row in rows if row.startswith("#") and "MERGE" in row] == rows[:1]
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
        assert not re.search(r"<(script|img)|</details>|(?<!\\)\]\((?!docs|https://)|@octocat|(?<![\w&])#1\b", outside)
        assert len(text.encode()) < 1_048_576
    if form in ("json", "sarif", "gitlab"):
        json.loads(text)
        assert text.isascii()
    if form == "junit":
        root = ET.fromstring(text)
        assert {part.tag for part in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error", "system-out"}
        assert root.get("tests") == str(len(root.findall(".//testcase")))
        assert root.get("failures") == str(len(root.findall(".//failure")))


def harm(form: str, snippet: str, rendered: Callable[[Decision], str]) -> dict[str, str]:
    """The fields in which a text acts, and how."""
    found = {}
    for place in PLACES:
        try:
            harmless(form, rendered(spoiled(WHOLE, place, snippet)))
        except (AssertionError, ValueError) as error:
            found["/".join(place)] = str(error)
    return found


def test_every_field_that_holds_text_is_tried() -> None:
    found = {"/".join(place) for place in PLACES}
    for name in ("finding/src-score/path", "facts/turned_green/0", "facts/run/wall/name", "facts/advisory/tests/0/0", "facts/advisory/counts/key:red"):
        assert name in found
    assert len(found) > 60


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS.keys())
def test_hostile_text_shows_as_text(form: str, snippet: str) -> None:
    assert harm(form, snippet, lambda decision: render(form, decision)) == {}


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"json"}))
def test_a_megabyte_in_any_field_stays_small(form: str) -> None:
    for place in PLACES:
        text = render(form, spoiled(WHOLE, place, TOO_LONG))
        assert len(text) < 100_000, "/".join(place)
        harmless(form, text)


@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS.keys())
def test_a_coloured_report_holds_no_escape_but_ours(snippet: str) -> None:
    assert harm("text", snippet, lambda decision: re.sub(r"\x1b\[[0-9;]*m", "", terminal.render(decision, colour=True))) == {}
