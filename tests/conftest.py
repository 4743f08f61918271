"""What all tests share: no skip in CI, the same generated inputs each time, and one cache for all cases that are judged."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

CI = os.environ.get("CI", "").lower() in ("1", "true")

# A check of a change answers the same each time; whoever runs the tests at a desk keeps looking in new places.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.load_profile("ci" if CI else "desk")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true a skip is a failure: what is not run there is not tested anywhere."""
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI=true forbids: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """With CI=true a whole file that skips itself is a failure as well."""
    report = yield
    if CI and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skipped itself, which CI=true forbids: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many of the sampled shared cases were caught and right (see corpus/test_shared.py)."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, []) if report.when == "call"]
    rows = [value for report in reports for name, value in report.user_properties if name == "shared"]
    if rows:
        attacks = [row for row in rows if row["attack"]]
        caught, right = sum(row["caught"] for row in attacks), sum(row["right"] for row in rows)
        terminalreporter.write_line(f"shared sample: {caught}/{len(attacks)} attacks caught, {right}/{len(rows)} cases right")


@pytest.fixture(scope="session")
def case_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the gate keeps about the bases of cases: one for a whole run of the suite, whichever process judges a case."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "case-cache"
    folder.mkdir(exist_ok=True)
    return folder
