"""The doctor's checks of oracles and people: for each a repository where it holds, and ones where it does not."""

from __future__ import annotations

import json

import pytest

from trivet.doctor.repository import Question, examine
from trivet.doctor.words import Diagnosis
from trivet.git import PlainTree
from unit.doctor.trees import NOW, OWNERS, rows, said, spoilt

DAY = 86_400


def lease(days: float, name: str = "test_core.test_double") -> str:
    row = {
        "qualname": name, "bytecode_hash": "0123456789abcdef", "failure_signature": "TimeoutError: the upstream did not answer", "expires_at": int(NOW + days * DAY),
        "owner": "@rosa", "reason": "race",
    }  # fmt: skip
    return json.dumps({"leases": [row]}, indent=1) + "\n"


def test_a_good_repository_holds_everything() -> None:
    found = examine(spoilt({}), Question(now=NOW))
    assert {check.state for check in found if check.name not in ("workflow", "required check")} == {"held"}
    assert Diagnosis(checks=found, auto=None).status == 0
    assert Diagnosis(checks=found, auto=None, strict=True).status == 0


def test_a_repository_that_has_not_adopted_the_gate_is_no_error() -> None:
    found = examine(PlainTree({b"a.py": b""}), Question(now=NOW))
    assert [(check.name, check.state) for check in found] == [("policy", "unavailable")]
    assert Diagnosis(checks=found, auto=None, strict=True).status == 0


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"trivet.toml": "schema = 1\n[score]\ncontrolls = 1\n"}, "policy", "error"),
        ({"trivet.toml": '[score]\ncontrols = "off"\n'}, "policy", "error"),
        ({"trivet.toml": 'schema = 1\n[score]\ncontrols = "off"\n'}, "policy", "controls are off"),
        ({"trivet.toml": 'schema = 1\n[score]\nwall = "none"\n'}, "policy", "no wall"),
        ({"trivet.toml": 'schema = 1\n[score]\nisolation = "shared"\n'}, "policy", "warning trivet.toml"),
        ({"tests/sealed/test_core.py": None, "tests/sealed/MANIFEST.txt": ""}, "oracles", "no sealed test: whatever a patch does passes"),
        ({"tests/sealed/test_core.py": "x = 1\n"}, "oracles", "hold no test function"),
        ({"tests/sealed/MANIFEST.txt": ""}, "oracles", "TRV1"),
        ({"tests/sealed/MANIFEST.txt": "tests/sealed/test_gone.py\n"}, "oracles", "TRV1"),
        ({"tests/sealed/test_core.py": "def test_a():\n    assert True\n"}, "vacuous oracles", "TRV121"),
        ({"tests/sealed/test_core.py": "def test_a():\n    pass\n"}, "vacuous oracles", "TRV120"),
        ({"tests/sealed/test_core.py": "def test_a():\n    assert len('ab') == 2\n"}, "vacuous oracles", "TRV122"),
        ({"tests/sealed/test_core.py": "import pkg.core\n\ndef test_a():\n    x = pkg.core.double(2)\n    assert x == x\n"}, "vacuous oracles", "TRV121"),
        (
            {"tests/sealed/test_core.py": "import time\nfrom pkg.core import double\n\ndef test_a():\n    assert double(time.time()) > 1\n"},
            "clock and network", "warning tests/sealed/test_core.py:5 TRV124",
        ),
        (
            {"tests/sealed/test_core.py": "import datetime\nfrom pkg.core import double\n\ndef test_a():\n    assert double(datetime.datetime.now().year) > 1\n"},
            "clock and network", "real time",
        ),
        (
            {"tests/sealed/test_core.py": "import urllib.request\nfrom pkg.core import double\n\ndef test_a():\n    assert double(urllib.request.urlopen('x').status) > 1\n"},
            "clock and network", "network",
        ),
        ({"tests/sealed/test_core.py": "from pkg.core import double\n\ndef test_a(snapshot):\n    assert double(2) == snapshot\n"}, "snapshots", "1 of 1 sealed"),
        (
            {"tests/sealed/test_core.py": "from pkg.core import double\n\nclass TestA:\n    def test_a(self, data_regression):\n        data_regression.check(double(2))\n"},
            "snapshots", "warning",
        ),
        (
            {"tests/sealed/test_core.py": "from inline_snapshot import snapshot\nfrom pkg.core import double\n\ndef test_a():\n    assert double(2) == snapshot(4)\n"},
            "snapshots", "warning",
        ),
        ({"ci/flake_leases.json": "{"}, "leases", "error ci/flake_leases.json"),
        ({"ci/flake_leases.json": lease(-1)}, "leases", "error ci/flake_leases.json"),
        ({"ci/flake_leases.json": lease(30)}, "leases", "TRV304"),
        ({"ci/flake_leases.json": lease(30, "test_core.test_gone")}, "leases", "TRV318"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_oracles_is_told_with_its_remedy(change: dict[str, str | None], name: str, words: str) -> None:
    assert words in said(change, name)


def test_a_lease_near_its_end_is_a_warning_and_one_far_off_is_not() -> None:
    from trivet.sealed.digest import Digests

    digest = Digests(spoilt({}), lambda path: path.startswith(b"tests/sealed/"), ("src", ".")).of("tests/sealed/test_core.py", "test_double")
    assert digest is not None

    def ledger(days: float) -> dict[str, str | None]:
        return {"ci/flake_leases.json": lease(days).replace("0123456789abcdef", digest.weak)}

    assert "warning ci/flake_leases.json" in said(ledger(5), "leases")
    assert "5 more days (owner @rosa)" in said(ledger(5.5), "leases")
    assert said(ledger(30), "leases") == ""
    assert "warning" in said(ledger(30), "leases", expiry_days=40.0)


def test_half_a_suite_of_snapshots_is_borne() -> None:
    two = "from pkg.core import double\n\ndef test_a(snapshot):\n    assert double(2) == snapshot\n\ndef test_b():\n    assert double(1) == 2\n"
    assert said({"tests/sealed/test_core.py": two}, "snapshots") == ""


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({".github/CODEOWNERS": None}, "owners", "nobody owns the oracles"),
        ({".github/CODEOWNERS": "/docs/ @rosa\n"}, "owners", "tests/sealed have no owner"),
        ({".github/CODEOWNERS": OWNERS + "/tests/sealed/\n"}, "owners", "tests/sealed have no owner"),
        ({".github/CODEOWNERS": OWNERS.replace("/trivet.toml", "/nothing.toml")}, "owners", "trivet.toml has no owner"),
        ({".github/CODEOWNERS": "".join(row for row in OWNERS.splitlines(keepends=True) if "/.github/" not in row)}, "owners", ".github/CODEOWNERS has no owner"),
        ({".github/CODEOWNERS": OWNERS + "* notanowner\n"}, "CODEOWNERS", "TRV117"),
        ({".github/CODEOWNERS": OWNERS + "!/x @a\n"}, "CODEOWNERS", "TRV117"),
        ({".github/CODEOWNERS": OWNERS + "#" * 3_000_000}, "CODEOWNERS", "3 MB"),
        ({"CODEOWNERS": "* @b\n"}, "CODEOWNERS", "warning CODEOWNERS CODEOWNERS is never read"),
        ({".gitlab/CODEOWNERS": "* @b\n"}, "CODEOWNERS", "is for gitlab"),
        (
            {"trivet.toml": 'schema = 1\n[zones]\nsource = ["src/**", "scripts/**"]\n', "scripts/check.py": "", ".github/workflows/x.yml": "jobs:\n  a:\n    steps:\n      - run: python scripts/check.py\n"},
            "gate files", "scripts/check.py is run by CI outside the wall",
        ),
        (
            {"trivet.toml": 'schema = 1\n[zones]\nsource = ["src/**", "build.py"]\n[score]\nprepare = ["python build.py"]\n', "build.py": ""},
            "gate files", "build.py decides, and lies in the zone source",
        ),
        (
            {"trivet.toml": 'schema = 1\n[[zones.allow]]\npath = "pyproject.toml"\nkeys = ["project.dependencies"]\n'},
            "gate files", "a patch may move project.dependencies",
        ),
        (
            {"trivet.toml": 'schema = 1\n[[zones.allow]]\npath = "pyproject.toml"\nkeys = ["tool.pytest"]\n'},
            "gate files", "a patch may move tool.pytest",
        ),
        ({"trivet.toml": 'schema = 1\n[owners]\nsigners = "docs/signers"\n', "docs/signers": "a b c\n"}, "policy", "error"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_people_is_told_with_its_remedy(change: dict[str, str | None], name: str, words: str) -> None:
    assert words in said(change, name)


def test_a_property_about_fixtures_alone_is_borne_where_another_can_refuse() -> None:
    fixture = "def test_fixture():\n    assert open('a').read() == 'x'\n"
    real = "from pkg.core import double\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    assert said({"tests/sealed/test_core.py": real + fixture}, "vacuous oracles").startswith("warning")
    assert "none of the 1 sealed properties can refuse" in said({"tests/sealed/test_core.py": fixture}, "vacuous oracles")


def test_pyproject_without_an_owner_is_a_warning() -> None:
    assert said({".github/CODEOWNERS": OWNERS.replace("/pyproject.toml", "/other.toml")}, "owners").startswith("warning")


def test_an_owner_that_writes_patches_is_told() -> None:
    change = {".github/CODEOWNERS": OWNERS.replace("@acme/quality", "@acme/quality @Copilot")}
    assert "belongs to @Copilot, which writes patches" in said(change, "owners", agents=("copilot",))
    assert said(change, "owners") == ""


def test_signers_alone_may_own() -> None:
    change = {".github/CODEOWNERS": None, "ci/oracle_owners": 'rosa@example.com namespaces="git" ssh-ed25519 AAAA\n'}
    assert said(change, "owners") == ""


def test_many_problems_of_a_kind_are_counted() -> None:
    tests = "".join(f"def test_{number}():\n    assert True\n\n" for number in range(60))
    found = rows({"tests/sealed/test_core.py": tests}, "vacuous oracles")
    assert len(found) == 21
    assert "more of this kind" in found[-1].detail


def test_errors_count_and_warnings_count_when_asked() -> None:
    soft = examine(spoilt({"CODEOWNERS": "* @b\n"}), Question(now=NOW))
    assert (Diagnosis(checks=soft, auto=None).status, Diagnosis(checks=soft, auto=None, strict=True).status) == (0, 1)
    hard = examine(spoilt({".github/CODEOWNERS": None}), Question(now=NOW))
    assert Diagnosis(checks=hard, auto=None).status == 1
    assert Diagnosis(checks=hard, auto="").status == 3


