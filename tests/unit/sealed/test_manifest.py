"""Manifests against what exists."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.git import PlainTree
from trivet.sealed.manifest import parse_list, read_seal, rebuilt
from trivet.sealed.sums import format_sums, parse_sums
from trivet.zones import Zones
from unit.sealed.trees import MemoryTree, policy

TESTS = {"tests/sealed/test_a.py": "def test_a(): pass\n", "tests/sealed/b/test_b.py": "def test_b(): pass\n"}
LIST = "tests/sealed/b/test_b.py\ntests/sealed/test_a.py\n"
DATA = {"fixtures/sealed/x/y.json": "{}\n", "fixtures/sealed/test_data.py": "1\n"}
SUMS = "".join(
    f"{hashlib.sha256(text.encode()).hexdigest()}  {name.removeprefix('fixtures/sealed/')}\n" for name, text in sorted(DATA.items())
)


def seal_of(files, links=None, **oracle):
    rules = policy(**oracle)
    return read_seal(MemoryTree(files, links), rules, Zones(rules.zones))


def good(**changes):
    files = {**TESTS, **DATA, "tests/sealed/MANIFEST.txt": LIST, "fixtures/sealed/MANIFEST.sha256": SUMS}
    return {**files, **changes}


def rules_of(seal):
    return {drift.rule for drift in seal.drifts}


def test_a_tree_whose_manifests_are_exact_has_no_drift():
    seal = seal_of(good())
    assert seal.drifts == ()
    assert seal.tests == ("tests/sealed/b/test_b.py", "tests/sealed/test_a.py")


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        (LIST.replace("\n", "\r\n"), "TRV111", 1),
        (LIST + "tests/sealed/test_a.py\n", "TRV111", 3),
        ("/abs/test_a.py\n" + LIST, "TRV111", 1),
        (LIST + "tests/sealed/../proposed/test_x.py\n", "TRV111", 3),
        (LIST.replace("a.py", "a.py "), "TRV111", 2),
        (LIST + "\n", "TRV111", 3),
        (LIST.rstrip("\n"), "TRV111", 2),
        ("\ufeff" + LIST, "TRV111", 1),
        ("./" + LIST, "TRV111", 1),
        (LIST.splitlines()[0] + "\n", "TRV110", None),
        (LIST + "tests/sealed/test_z.py\n", "TRV110", 3),
        ("".join(reversed(LIST.splitlines(keepends=True))), "TRV110", 1),
        ("", "TRV110", None),
    ],
)
def test_each_way_to_write_the_list_otherwise_is_a_drift_that_names_the_line(text, rule, line):
    drifts = seal_of(good() | {"tests/sealed/MANIFEST.txt": text}).drifts
    assert (rule, line) in {(drift.rule, drift.line) for drift in drifts}


def test_a_manifest_that_does_not_exist_is_a_drift():
    files = good()
    del files["tests/sealed/MANIFEST.txt"]
    assert rules_of(seal_of(files)) == {"TRV110"}


def test_a_digest_manifest_of_the_preset_alone_may_be_missing_but_a_named_one_may_not():
    files = good()
    del files["fixtures/sealed/MANIFEST.sha256"]
    assert seal_of(files).drifts == ()
    named = {**files, "trivet.toml": 'schema = 1\n[oracle]\ndigests = ["fixtures/sealed/MANIFEST.sha256"]\n'}
    assert rules_of(seal_of(named)) == {"TRV114"}


def test_no_sealed_test_at_all_is_an_empty_oracle():
    assert "TRV115" in rules_of(seal_of({"tests/sealed/MANIFEST.txt": ""}))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"fixtures/sealed/x/y.json": "{ }\n"}, "TRV112"),
        ({"fixtures/sealed/x/z.json": "{}\n"}, "TRV114"),
        ({"fixtures/sealed/MANIFEST.sha256": SUMS + SUMS.splitlines(keepends=True)[0]}, "TRV113"),
        ({"fixtures/sealed/MANIFEST.sha256": "0" * 64 + "  x/y.json\n" + SUMS}, "TRV113"),
        ({"fixtures/sealed/MANIFEST.sha256": SUMS.replace("  ", " *")}, "TRV113"),
        ({"fixtures/sealed/MANIFEST.sha256": SUMS.upper()}, "TRV113"),
        ({"fixtures/sealed/MANIFEST.sha256": "".join(reversed(SUMS.splitlines(keepends=True)))}, "TRV113"),
        ({"fixtures/sealed/MANIFEST.sha256": SUMS + "0" * 64 + "  gone.json\n"}, "TRV112"),
    ],
)
def test_each_way_to_break_the_digests_is_a_drift(change, rule):
    assert rule in rules_of(seal_of({**good(), **change}))


def test_a_link_out_of_the_sealed_tree_is_a_drift_and_an_inner_one_is_read_through():
    out = seal_of({**good(), "src/x.json": "{}"}, {"fixtures/sealed/l.json": "../../src/x.json"})
    assert "TRV119" in rules_of(out)
    digest = hashlib.sha256(b"{}\n").hexdigest()
    sums = "".join(sorted((SUMS + f"{digest}  l.json\n").splitlines(keepends=True), key=lambda row: row[66:]))
    assert seal_of({**good(), "fixtures/sealed/MANIFEST.sha256": sums}, {"fixtures/sealed/l.json": "x/y.json"}).drifts == ()


def test_a_test_that_replaces_another_is_a_warning_on_one_tree():
    files = good() | {"tests/sealed/test_a.py": "def test_a(): assert 0\n\ndef test_a(): pass\n"}
    assert [(drift.rule, drift.level, drift.line) for drift in seal_of(files).drifts] == [("TRV118", "warning", 3)]


def test_what_is_rebuilt_has_no_drift():
    files = {**TESTS, **DATA}
    rules = policy()
    made = rebuilt(MemoryTree(files), rules, Zones(rules.zones))
    assert read_seal(MemoryTree({**files, **{path.decode(): data for path, data in made.items()}}), rules, Zones(rules.zones)).drifts == ()


def test_the_generated_list_of_lanes_holds_test_files_only():
    rules = policy(manifest=None, digests=(), generated=("tests/sealed/b/**/test_*.py", "tests/sealed/conftest.py"))
    seal = read_seal(MemoryTree({**TESTS, "tests/sealed/conftest.py": ""}), rules, Zones(rules.zones))
    assert seal.tests == ("tests/sealed/b/test_b.py",)


NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: not any(part in (b"", b".", b"..") for part in name.split(b"/")) and b"\0" not in name
)


@given(st.dictionaries(NAMES.filter(lambda n: not n.startswith(b"\xef\xbb\xbf") and n[1:2] != b":"), st.binary(max_size=4), max_size=6))
def test_what_is_written_as_digests_reads_back_the_same(files):
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    rows, bad = parse_sums(format_sums(digests))
    assert not bad
    assert {row.name: row.digest for row in rows} == digests


@given(
    st.lists(st.sampled_from([b"a/test_a.py", b"b.py", b"", b" ", b"x ", b"/x", b"../x", b"a//b", b"c\r", b"d"]), max_size=5), st.booleans()
)
def test_a_list_is_read_only_where_a_reference_reading_accepts_it(lines, ended):
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    rows, drifts = parse_list(data, "M")
    text = data.decode()
    accepted = text == "" or (
        text.endswith("\n")
        and len(set(text[:-1].split("\n"))) == len(text[:-1].split("\n"))
        and all(
            line and line == line.strip() and not line.startswith("/") and ".." not in line.split("/") and "" not in line.split("/")
            for line in text[:-1].split("\n")
        )
    )
    assert accepted == (not drifts)
    if accepted:
        assert b"".join(path + b"\n" for _, path in rows) == data


def test_a_manifest_over_ten_megabytes_is_refused_unread():
    assert parse_list(b"a" * 10_485_761, "M")[1][0].message.startswith("larger")


def test_plain_trees_serve_as_well():
    rules = policy(digests=())
    tree = PlainTree({path.encode(): text.encode() for path, text in {**TESTS, "tests/sealed/MANIFEST.txt": LIST}.items()})
    assert read_seal(tree, rules, Zones(rules.zones)).drifts == ()


def test_folders_that_pytest_does_not_enter_hold_no_sealed_tests() -> None:
    """Folders that base's own pytest does not go into hold no sealed tests, by name or by path."""
    files = {f"tests/sealed/{name}": "" for name in ("test_a.py", "typing/test_b.py", "deep/cases/test_c.py", "cases/test_d.py")}
    chosen = policy(not_collected=("typing", "sealed/deep/cases", "other"))
    listed = rebuilt(MemoryTree(files), chosen, Zones(chosen.zones))[b"tests/sealed/MANIFEST.txt"]
    assert listed == b"tests/sealed/cases/test_d.py\ntests/sealed/test_a.py\n"
