"""oracle-integrity as a pure function of what was seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.legs.oracle import change_kind, findings_of_names, findings_of_seal, judge
from trivet.model import Change, ChangeFacts, Drift, Placed, RawChange, Seal, Zone
from trivet.rules import RULES

SEAL = Seal(tests=("tests/sealed/test_a.py",), drifts=())
ZONES: tuple[Zone, ...] = ("source", "oracle", "proposed", "control", "inert")


def change(path: str, zone: Zone, status: str = "M", by: str = "") -> Change:
    raw = RawChange(path=path.encode(), status=status, old_mode=0o100644, new_mode=0o100644, old_oid="0", new_oid="1")
    return Change(raw=raw, placed=Placed(zone=zone, by=by, influence="it acts"))


@pytest.mark.parametrize(
    ("zones", "kind"),
    [
        ([], "empty"),
        (["source"], "patch"),
        (["inert"], "patch"),
        (["proposed", "inert", "source"], "patch"),
        (["oracle"], "oracle"),
        (["control", "proposed", "inert"], "oracle"),
        (["source", "oracle"], "mixed"),
        (["source", "control"], "mixed"),
    ],
)
def test_the_kind_follows_the_zones(zones: list[Zone], kind: str) -> None:
    assert change_kind([change(str(number), zone) for number, zone in enumerate(zones)]) == kind


@given(st.lists(st.sampled_from(ZONES)))
def test_oracle_or_control_never_passes_as_a_patch(zones: list[Zone]) -> None:
    verdict = judge(ChangeFacts(changes=tuple(change(str(number), zone) for number, zone in enumerate(zones))), SEAL)
    assert (verdict.status == "PASS") == (not {"oracle", "control"} & set(zones))


@given(st.lists(st.sampled_from(ZONES), min_size=1))
def test_every_blocked_path_is_named_once(zones: list[Zone]) -> None:
    changes = tuple(change(str(number), zone) for number, zone in enumerate(zones))
    named = [finding.path for finding in judge(ChangeFacts(changes=changes), SEAL).findings]
    assert named == [row.path for row in changes if row.zone in ("oracle", "control")]


def test_the_production_code_beside_it_is_named() -> None:
    changes = (change("src/a.py", "source"), change("src/b.py", "source"), change("tests/sealed/test_a.py", "oracle", "D"))
    (finding,) = judge(ChangeFacts(changes=changes), SEAL).findings
    assert (finding.rule, finding.message) == ("TRV101", "sealed path deleted with src/a.py and 1 more")


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (ChangeFacts(changes=(), links=((b"src/x", "it leaves"),)), "TRV105"),
        (ChangeFacts(changes=(), collisions=((b"a", b"A"),)), "TRV106"),
        (ChangeFacts(changes=(), shadows=((b"src/json.py", "json", "standard library"),)), "TRV107"),
    ],
)
def test_what_no_owner_can_allow_fails_by_itself(facts: ChangeFacts, rule: str) -> None:
    assert [finding.rule for finding in findings_of_names(facts)] == [rule]
    assert judge(facts, SEAL).status == "FAIL"


def test_a_drift_of_the_seal_becomes_a_finding_one_to_one() -> None:
    seal = Seal(tests=("a",), drifts=(Drift(rule="TRV112", message="differs", path="fixtures/\udcff", line=3),))
    (finding,) = findings_of_seal(seal)
    assert (finding.rule, finding.path, finding.line, finding.next) == ("TRV112", b"fixtures/\xff", 3, RULES["TRV112"].next)
    assert judge(ChangeFacts(changes=()), seal).status == "FAIL"


def test_a_warning_is_shown_and_does_not_block() -> None:
    seal = Seal(tests=("a",), drifts=(Drift(rule="TRV118", message="twice", path="a", level="warning"),))
    verdict = judge(ChangeFacts(changes=()), seal)
    assert (verdict.status, len(verdict.findings)) == ("PASS", 1)


def test_more_moved_keys_than_fit_are_counted() -> None:
    keys = tuple((b"pyproject.toml", f"k{number}") for number in range(5))
    facts = ChangeFacts(changes=(change("src/a", "source"), change("pyproject.toml", "control")), keys=keys)
    (finding,) = judge(facts, SEAL).findings
    assert finding.message.endswith("k0, k1, k2 and 2 more")
