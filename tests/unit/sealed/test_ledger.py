"""The lease ledger: each fault under its own rule, fuzz against a reference reading, edits of one row."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trivet.sealed.ledger import EMPTY, add_row, parse_ledger, raw_row, remove_row, replace_row, row_text

NOW = 1_800_000_000.0
ROW = {
    "qualname": "test_a.test_b",
    "path": "tests/sealed/test_a.py",
    "bytecode_hash": "v1:" + "0" * 64,
    "failure_signature": "AssertionError: one cent off",
    "expires_at": NOW + 86_400,
    "owner": "owners",
    "reason": "seen on one runner",
}


def read(data, days=90):
    text = data if isinstance(data, bytes) else (data if isinstance(data, str) else json.dumps(data)).encode()
    return parse_ledger(text, "ci/l.json", now=NOW, max_lease_days=days)


def rules(data):
    return {drift.rule for drift in read(data).drifts}


def with_row(**changes):
    row = {key: value for key, value in {**ROW, **changes}.items() if value is not ...}
    return {"leases": [row]}


def test_a_good_row_is_a_lease():
    ledger = read({"leases": [ROW]})
    assert ledger.drifts == ()
    assert ledger.leases[0].qualname == "test_a.test_b"
    assert not ledger.leases[0].weak


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"expires_at": True}, "TRV313"),
        ({"expires_at": ...}, "TRV313"),
        ({"expires_at": None}, "TRV313"),
        ({"expires_at": "99999999999"}, "TRV313"),
        ({"expires_at": [NOW]}, "TRV313"),
        ({"expires_at": NOW * 1000}, "TRV314"),
        ({"expires_at": 253_370_764_800}, "TRV314"),
        ({"expires_at": 10**400}, "TRV314"),
        ({"expires_at": NOW + 92 * 86_400}, "TRV314"),
        ({"owner": ...}, "TRV315"),
        ({"owner": " "}, "TRV315"),
        ({"owner": 1}, "TRV315"),
        ({"reason": ""}, "TRV315"),
        ({"failure_signature": ...}, "TRV316"),
        ({"failure_signature": "  "}, "TRV316"),
        ({"failure_signature": "*"}, "TRV316"),
        ({"failure_signature": ".*"}, "TRV316"),
        ({"failure_signature": "Exception"}, "TRV316"),
        ({"failure_signature": "AssertionError: *"}, "TRV316"),
        ({"failure_signature": "AssertionError: .*"}, "TRV316"),
        ({"failure_signature": "ValueError: x || AssertionError"}, "TRV316"),
        ({"note": "x"}, "TRV317"),
        ({"qualname": ...}, "TRV318"),
        ({"qualname": "test_a"}, "TRV318"),
        ({"qualname": "tests/other.py::test_b"}, "TRV318"),
        ({"path": "/abs/test_a.py"}, "TRV318"),
        ({"path": "tests/../test_a.py"}, "TRV318"),
        ({"path": "tests/sealed/test_other.py"}, "TRV318"),
        ({"bytecode_hash": "v1:00"}, "TRV319"),
        ({"bytecode_hash": "0" * 64}, "TRV319"),
        ({"bytecode_hash": ...}, "TRV319"),
        ({"source_hash": "x"}, "TRV319"),
        ({"python": 3.11}, "TRV319"),
    ],
)
def test_each_fault_of_a_row_has_its_own_rule_and_grants_nothing(changes, rule):
    ledger = read(with_row(**changes))
    assert {drift.rule for drift in ledger.drifts} == {rule}
    assert ledger.leases == ()
    assert ledger.drifts[0].line == 1


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "TRV310"),
        ("{", "TRV310"),
        ('{"leases": [],}', "TRV310"),
        ('{"leases": []} x', "TRV310"),
        ('{"leases": {}}', "TRV310"),
        ("[]", "TRV310"),
        ('{"leases": [1]}', "TRV310"),
        ('\ufeff{"leases": []}', "TRV310"),
        ('{"leases": []} // note', "TRV310"),
        ("[" * 100_000, "TRV310"),
        ('{"leases": [], "n": ' + "1" * 5_000 + "}", "TRV310"),
        ('{"leases": [], "leases": []}', "TRV312"),
        ('{"leases": [], "more": 1}', "TRV317"),
        (json.dumps(with_row()).replace('"owner"', '"reason": "x", "owner"'), "TRV312"),
        (json.dumps(with_row()).replace(str(NOW + 86_400), "NaN"), "TRV313"),
        (json.dumps(with_row()).replace(str(NOW + 86_400), "Infinity"), "TRV313"),
        (json.dumps(with_row()).replace(str(NOW + 86_400), "1e999"), "TRV313"),
        (json.dumps({"leases": [ROW, ROW]}), "TRV311"),
        (json.dumps({"leases": [ROW, {**ROW, "qualname": "tests/sealed/test_a.py::test_b"}]}), "TRV311"),
    ],
)
def test_each_fault_of_the_document_has_its_own_rule_and_grants_nothing(text, rule):
    assert rule in rules(text)
    assert read(text).leases == ()


def test_a_ledger_over_ten_megabytes_is_refused_unread():
    assert rules(b" " * 10_485_761) == {"TRV310"}


def test_bytes_that_are_not_utf_8_are_refused():
    assert rules(b'{"leases": ["\xff"]}') == {"TRV310"}


def test_a_bad_row_does_not_take_a_good_one_with_it():
    ledger = read({"leases": [ROW, {**ROW, "qualname": "test_a.test_c", "owner": ""}]})
    assert [lease.qualname for lease in ledger.leases] == ["test_a.test_b"]


def reference(text):
    """An independent reading: True only for a document all of whose rows are good."""
    pairs = []

    def hook(items):
        pairs.append([key for key, _ in items])
        return dict(items)

    try:
        value = json.loads(text, object_pairs_hook=hook, parse_constant=lambda _: "bad")
    except (ValueError, RecursionError):
        return False
    if any(len(keys) != len(set(keys)) for keys in pairs) or not isinstance(value, dict) or list(value) != ["leases"]:
        return False
    rows = value["leases"]
    return isinstance(rows, list) and len({json.dumps(row) for row in rows}) == len(rows) and all(map(good_row, rows))


def good_row(row):
    if not isinstance(row, dict) or not set(row) <= {*ROW, "python", "source_hash"}:
        return False
    when = row.get("expires_at")
    if type(when) not in (int, float) or not math.isfinite(when) or when > NOW + 90 * 86_400 + 3_600:
        return False
    texts = ("owner", "reason", "failure_signature", "qualname", "bytecode_hash")
    return all(isinstance(row.get(key), str) and row[key].strip() for key in texts)


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"leases"',
        json.dumps(ROW),
        json.dumps({**ROW, "expires_at": True}),
        '"owner"',
        "NaN",
        "1e999",
        "null",
        "1",
        '"x"',
        " ",
        "\n",
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_is_read_without_a_drift_that_a_reference_reading_refuses(text):
    if not read(text).drifts:
        assert reference(text)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just(NOW + 5),
    st.just("x"),
    st.lists(st.integers(), max_size=1),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(st.sampled_from([*ROW, "python", "x"]), VALUES, max_size=3), max_size=3))
def test_no_mutated_row_is_granted_that_a_reference_reading_refuses(changes):
    text = json.dumps({"leases": [{**ROW, **change} for change in changes]})
    if not read(text).drifts:
        assert reference(text)


def test_adding_a_row_leaves_every_other_byte_as_it_was():
    one = add_row(EMPTY, ROW)
    two = add_row(one, {**ROW, "qualname": "test_a.test_c"})
    old, new = one.decode().splitlines(), two.decode().splitlines()
    assert [line for line in new if line not in old] == [
        "    " + row_text(ROW) + ",",
        "    " + row_text({**ROW, "qualname": "test_a.test_c"}),
    ]
    assert read(two).drifts == ()


def test_replacing_and_removing_a_row_touch_that_row_alone():
    data = EMPTY
    for name in "abc":
        data = add_row(data, {**ROW, "qualname": f"test_a.test_{name}"})
    lines = [lease.line for lease in read(data).leases]
    changed = replace_row(data, lines[1], {**ROW, "qualname": "test_a.test_z"})
    assert sum(a != b for a, b in zip(data.splitlines(), changed.splitlines(), strict=True)) == 1
    assert raw_row(changed, lines[1])["qualname"] == "test_a.test_z"
    for line in lines:
        assert len(read(remove_row(data, line)).leases) == 2
        assert not read(remove_row(data, line)).drifts


def test_removing_the_only_row_leaves_a_ledger_that_takes_another():
    data = remove_row(add_row(EMPTY, ROW), 3)
    assert read(data).leases == ()
    assert len(read(add_row(data, ROW)).leases) == 1
