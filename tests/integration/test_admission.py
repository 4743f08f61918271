"""Oracle changes judged whole: real repositories, real runs behind the wall."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repos import Repo
from trivet.admission import AdmitRequest, judge
from trivet.errors import UsageError
from trivet.model import Decision

NOW = 1_790_000_000.0
BASE = {
    "CODEOWNERS": "* @devs\n/tests/sealed/ @org/oracle-owners\n/ci/ @org/oracle-owners\n",
    "src/shop/__init__.py": "def price(n):\n    if n < 0:\n        raise ValueError(n)\n    return n * 2\n",
    "tests/sealed/test_price.py": "from shop import price\n\n\ndef test_double():\n    assert price(2) == 4\n",
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_price.py\n",
    "ci/flake_leases.json": '{"leases": []}\n',
}
TWO = "tests/sealed/test_more.py\ntests/sealed/test_price.py\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A small shop with one sealed test."""
    made = Repo(tmp_path / "repo")
    made.commit(BASE)
    made.git("tag", "base")
    return made


def admit(repo: Repo, tmp_path: Path, *, author: str | None = "rosa") -> Decision:
    """Judge main against base; ``author`` None gives no review evidence."""
    review = None
    if author is not None:
        review = tmp_path / "review.json"
        review.write_text(json.dumps({"author": author, "teams": {"oracle-owners": ["rosa"]}, "labels": ["oracle-pr"], "approvals": []}))
    return judge(AdmitRequest(repo=repo.root, base="base", head="main", now=NOW, python=sys.executable, review=review))


def words(decision: Decision) -> dict[str, str]:
    """The three statuses."""
    return {verdict.leg: verdict.status for verdict in decision.verdicts}


def rules(decision: Decision) -> set[str]:
    """The rules of all errors."""
    return {finding.rule for verdict in decision.verdicts for finding in verdict.findings if finding.level == "error"}


def property_file(body: str) -> dict[str, str]:
    """A second sealed file with its manifest row."""
    return {"tests/sealed/test_more.py": "from shop import price\n\n\n" + body, "tests/sealed/MANIFEST.txt": TWO}


def test_an_owner_adds_a_property_and_a_specification(repo: Repo, tmp_path: Path) -> None:
    """One is green and can refuse, the other is what the next patch has to turn green."""
    repo.commit(property_file("def test_zero():\n    assert price(0) == 0\n\n\ndef test_capped():\n    assert price(100) == 150\n"))
    decision = admit(repo, tmp_path)
    assert (decision.merge, rules(decision)) == (True, set())
    run = decision.facts["run"]
    assert isinstance(run, dict)
    rows = {row["property"].rpartition("::")[2]: (row["outcome"], row["controls"] > 0) for row in run["certificates"]}
    assert rows == {"test_zero": ("green", True), "test_capped": ("specification", False)}


def test_the_same_change_by_somebody_else_is_refused_before_anything_runs(repo: Repo, tmp_path: Path) -> None:
    """No authority, no run."""
    repo.commit(property_file("def test_zero():\n    assert price(0) == 0\n"))
    for author in ("coding-agent", None):
        decision = admit(repo, tmp_path, author=author)
        assert (words(decision)["src-score"], rules(decision)) == ("NOT_RUN", {"TRV103", "TRV209"})


def test_properties_that_change_their_mind_or_cannot_fail_are_refused(repo: Repo, tmp_path: Path) -> None:
    """One holds under the pinned hash seed alone; of the other, which swallows its own assertion, no altered copy fails."""
    code = "print(abs(hash('shop')) % 9973)"
    seen = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "0"}
    ).stdout.strip()
    changing = f"def test_hash():\n    assert price(abs(hash('shop')) % 9973) == 2 * {seen}\n"
    swallowing = "def test_fee():\n    try:\n        assert price(3) == 6\n    except AssertionError:\n        pass\n"
    repo.commit(property_file(f"{changing}\n\n{swallowing}"))
    decision = admit(repo, tmp_path)
    errors = [finding for finding in decision.oracle_integrity.findings if finding.level == "error"]
    assert {(finding.rule, "test_hash" in finding.message) for finding in errors} == {("TRV123", True), ("TRV120", False)}


def test_a_hook_that_takes_tests_away_is_refused(repo: Repo, tmp_path: Path) -> None:
    """The test is still written and does not run."""
    repo.commit(
        {
            "tests/sealed/conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'double' not in i.name]\n"
        }
    )
    decision = admit(repo, tmp_path)
    assert (decision.merge, words(decision)["src-score"], words(decision)["flake-lease"]) == (False, "FAIL", "FAIL")


def test_a_policy_that_cannot_be_read_is_refused(repo: Repo, tmp_path: Path) -> None:
    """It would block every change after the merge."""
    repo.commit({"trivet.toml": "schema = 1\n[score]\ntimeout = 3\n", "CODEOWNERS": BASE["CODEOWNERS"].replace("@devs", "@rosa")})
    repo.git("tag", "-f", "base", "main~1")
    decision = judge(AdmitRequest(repo=repo.root, base="base", head="main", now=NOW, python=sys.executable, review=None))
    assert "TRV127" in rules(decision)


def test_a_codeowners_that_releases_a_sealed_path_is_refused(repo: Repo, tmp_path: Path) -> None:
    """Even by an owner: the next change would have nobody to ask."""
    repo.commit({"CODEOWNERS": BASE["CODEOWNERS"] + "/CODEOWNERS @org/oracle-owners\n"})
    repo.git("tag", "-f", "base")
    repo.commit({"CODEOWNERS": BASE["CODEOWNERS"] + "/CODEOWNERS @org/oracle-owners\n/tests/sealed/\n"})
    assert rules(admit(repo, tmp_path)) == {"TRV116", "TRV209"}


def test_a_patch_is_not_admitted(repo: Repo, tmp_path: Path) -> None:
    """It belongs to the gate."""
    repo.commit({"src/shop/__init__.py": "def price(n):\n    return n + n\n"})
    with pytest.raises(UsageError, match="no oracle change"):
        admit(repo, tmp_path)


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
def test_signed_commits_are_authority_without_a_review(repo: Repo, tmp_path: Path) -> None:
    """The key is named on base; a second commit without a signature spoils it."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    repo.commit({"ci/oracle_owners": f"rosa@example.com {key.with_suffix('.pub').read_text()}"})
    repo.git("tag", "-f", "base")
    repo.put(property_file("def test_zero():\n    assert price(0) == 0\n"))
    repo.git("add", "-A")
    repo.git("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "commit", "-q", "-S", "-m", "signed")
    decision = admit(repo, tmp_path, author=None)
    assert decision.merge
    run = decision.facts["run"]
    assert isinstance(run, dict)
    assert run["authority"] == "signed by rosa@example.com"
    repo.commit(property_file("def test_zero():\n    assert price(0) == 0 == price(0)\n"))
    assert "TRV103" in rules(admit(repo, tmp_path, author=None))
