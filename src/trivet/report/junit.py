"""JUnit XML: one suite, a case for each leg, and a case for each rule that objects. The common subset that all readers take."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from trivet.model import Decision, Verdict
from trivet.report import escape
from trivet.report.facts import Group, groups, mapping

SHOWN = 50


def render(decision: Decision) -> str:
    """The document. A failed leg is a failure, a leg that was not run is an error: neither can be read as a pass."""
    cases = [case for verdict in reversed(decision.verdicts) for case in _cases(verdict)]
    failures = sum(case.find("failure") is not None for case in cases)
    errors = sum(case.find("error") is not None for case in cases)
    duration = mapping(decision, "run").get("duration_s")
    seconds = f"{duration:.3f}" if isinstance(duration, (int, float)) else "0"
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "time": seconds}
    root = ET.Element("testsuites", {"name": "trivet", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "trivet", "skipped": "0", **counts})
    suite.extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _cases(verdict: Verdict) -> list[ET.Element]:
    leg = ET.Element("testcase", classname="trivet", name=verdict.leg, time="0")
    found = groups(verdict)
    if verdict.status != "PASS":
        kind = "failure" if verdict.status == "FAIL" else "error"
        message = ", ".join(f"{group.rule} {group.title}" for group in found if group.level == "error") or "not run"
        ET.SubElement(leg, kind, message=escape.xml(message), type=verdict.cause or verdict.status)
    return [leg, *(_case(verdict, group) for group in found)]


def _case(verdict: Verdict, group: Group) -> ET.Element:
    case = ET.Element("testcase", classname=f"trivet.{verdict.leg}", name=escape.xml(f"{group.rule} {group.title}"), time="0")
    text = "\n".join(
        [
            *(
                ("" if finding.path is None else escape.name(finding.path) + (f":{finding.line}" if finding.line else "") + "  ")
                + escape.xml(finding.message)
                for finding in group.findings[:SHOWN]
            ),
            *([f"and {len(group.findings) - SHOWN} more"] if len(group.findings) > SHOWN else []),
            *([f"why: {group.why}"] if group.why else []),
            *(f"next: {escape.xml(advice)}" for advice in group.next[:3]),
        ],
    )
    if group.level == "error":
        ET.SubElement(case, "failure", message=escape.line(group.findings[0].message, 300), type=escape.line(group.rule, 20)).text = text
    else:
        ET.SubElement(case, "system-out").text = text
    return case
