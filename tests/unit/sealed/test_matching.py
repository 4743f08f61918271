"""Leases against tests: which test a row means, and whether it holds."""

import pytest

from trivet.model import Lease, Ledger
from trivet.sealed.digest import digest_of
from trivet.sealed.matching import match_leases
from unit.sealed.trees import MemoryTree, policy

NOW = 1_800_000_000.0
ONE, TWO = "tests/sealed/a/test_w.py", "tests/sealed/b/test_w.py"
TREE = MemoryTree(
    {
        ONE: "def test_x():\n    assert 0\n\n\ndef test_only():\n    assert 1\n",
        TWO: "def test_x():\n    assert 1\n\n\nclass TestC:\n    def test_y(self):\n        assert 2\n",
        "tests/sealed/conftest.py": "collect_ignore = ['b']\n",
    }
)
DIGEST = digest_of(TREE, ONE, "test_x", is_sealed=lambda _: True)


def one(qualname, path=None, digest=DIGEST.strong, days=5.0):
    lease = Lease(
        qualname=qualname, digest=digest, signature="E: x", expires_at=NOW + days * 86_400, owner="o", reason="r", path=path, line=2
    )
    (match,) = match_leases(Ledger(path="l", leases=(lease,), drifts=()), TREE, (ONE, TWO), policy=policy(), now=NOW)
    return match


def test_a_row_with_a_path_names_the_test_of_that_file():
    match = one("test_w.test_x", ONE)
    assert (match.file, match.function, match.problem, match.rule) == (ONE, "test_x", "", "")


def test_a_short_name_that_two_files_have_is_ambiguous():
    match = one("test_w.test_x")
    assert (match.rule, match.file) == ("TRV318", "")
    assert ONE in match.problem
    assert TWO in match.problem


def test_a_short_name_that_only_one_of_two_namesakes_has_is_clear():
    assert one("test_w.test_only").file == ONE


@pytest.mark.parametrize("qualname", ["test_w.test_gone", "test_z.test_x", "tests/sealed/gone.py::test_x"])
def test_a_row_that_names_no_test_is_refused(qualname):
    path = qualname.partition("::")[0] if "::" in qualname else None
    assert one(qualname, path).rule == "TRV318"


@pytest.mark.parametrize("function", ["TestC.test_y", "TestC::test_y"])
def test_a_method_is_named_by_path_and_class(function):
    match = one(f"{TWO}::{function}", TWO)
    assert (match.file, match.function, match.rule) == (TWO, "TestC.test_y", "TRV304")


def test_other_code_voids_a_lease():
    assert one("test_w.test_x", TWO).rule == "TRV304"


@pytest.mark.parametrize(("days", "rule"), [(0.001, ""), (0.0, "TRV303"), (-1.0, "TRV303")])
def test_a_lease_ends_at_its_second(days, rule):
    assert one("test_w.test_x", ONE, days=days).rule == rule


def test_two_rows_that_mean_one_test_by_different_names_are_both_refused():
    row = {"digest": DIGEST.strong, "signature": "E: x", "expires_at": NOW + 9, "owner": "o", "reason": "r"}
    leases = (Lease(qualname="test_w.test_only", **row), Lease(qualname=f"{ONE}::test_only", path=ONE, **row))
    found = match_leases(Ledger(path="l", leases=leases, drifts=()), TREE, (ONE, TWO), policy=policy(), now=NOW)
    assert [match.rule for match in found] == ["TRV311", "TRV311"]


def test_what_a_conftest_leaves_out_can_be_leased_by_name():
    digest = digest_of(TREE, "tests/sealed/conftest.py", "collect_ignore", is_sealed=lambda _: True)
    assert one("tests/sealed/conftest.py::collect_ignore", "tests/sealed/conftest.py", digest.strong).problem == ""
