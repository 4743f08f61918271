"""Zones are decided on the exact bytes of a path, and what is in no zone is control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.git import PlainTree
from trivet.model import ZonePolicy
from trivet.sealed.policy import read_policy
from trivet.zones import Zones, literal_roots, match
from trivet.zones_names import folded, influence_of, shadowed, top_module

VERDICTS = Zones(read_policy(PlainTree({b"tests/sealed/test_a.py": b""})).zones)
LANES = Zones(read_policy(PlainTree({b"tests/oracles/properties/test_a.py": b"", b"src/a.py": b""})).zones)
FLAT = Zones(read_policy(PlainTree({b"tests/oracles/properties/test_a.py": b"", b"pkg/a.py": b""})).zones)
INSIDE = Zones(ZonePolicy(source=("pkg/**",), oracle=("pkg/test/**",), proposed=(), inert=("**/*.egg-info/**", "PKG-INFO", "*.md")))
WIDE = Zones(ZonePolicy(source=("**",), oracle=("tests/**",), proposed=("drafts/**",), inert=("*.md",), control=("deploy/**",)))


@pytest.mark.parametrize(
    ("path", "zone"),
    [
        ("src/pkg/core.py", "source"),
        ("src/pkg/py.typed", "source"),
        ("src/pkg/core.pyi", "source"),
        ("src/pkg/json.py", "source"),
        ("src/pkg/test_helpers.py", "source"),
        ("src/pkg/setup.py", "source"),
        ("src/pkg/README.md", "source"),
        ("src/pkg/data/units.json", "source"),
        ("src/random_walk.py", "source"),
        ("tests/sealed/test_a.py", "oracle"),
        ("tests/sealed/conftest.py", "oracle"),
        ("tests/sealed/MANIFEST.txt", "oracle"),
        ("fixtures/sealed/a.json", "oracle"),
        ("ci/flake_leases.json", "oracle"),
        ("tests/proposed/test_new.py", "proposed"),
        ("tests/proposed/conftest.py", "proposed"),
        ("tests/proposed/sitecustomize.py", "proposed"),
        ("tests/proposed/README.md", "proposed"),
        ("docs/index.md", "inert"),
        ("docs/conf.py", "inert"),
        ("README.md", "inert"),
        ("LICENSE", "inert"),
        ("CHANGES", "inert"),
        ("NEWS.txt", "inert"),
        ("newsfragments/12.bugfix", "inert"),
        ("benchmarks/bench.py", "inert"),
        (".gitignore", "inert"),
        ("pkg.egg-info/SOURCES.txt", "inert"),
        ("PKG-INFO", "inert"),
        ("tests/test_other.py", "control"),
        ("tests/Sealed/test_a.py", "control"),
        ("src", "control"),
        ("srcs/a.py", "control"),
        ("ci/gate.sh", "control"),
        ("tools/x.py", "control"),
        (".github/workflows/ci.yml", "control"),
        (".gitlab-ci.yml", "control"),
        ("CODEOWNERS", "control"),
        ("docs/CODEOWNERS", "control"),
        ("trivet.toml", "control"),
        (".pyrefix-lanes.toml", "control"),
        ("pyproject.toml", "control"),
        ("src/pkg/pyproject.toml", "control"),
        ("setup.py", "control"),
        ("setup.cfg", "control"),
        ("tox.ini", "control"),
        ("src/pytest.ini", "control"),
        ("noxfile.py", "control"),
        ("uv.lock", "control"),
        ("requirements-ci.txt", "control"),
        ("requirements/test.txt", "control"),
        (".gitattributes", "control"),
        ("src/.gitattributes", "control"),
        ("docs/.gitattributes", "control"),
        (".gitmodules", "control"),
        ("conftest.py", "control"),
        ("docs/conftest.py", "control"),
        ("src/pkg/conftest.py", "control"),
        ("src/pkg/CONFTEST.PY", "control"),
        ("src/sitecustomize.py", "control"),
        ("src/sitecustomize/__init__.py", "control"),
        ("src/usercustomize.cpython-311-x86_64-linux-gnu.so", "control"),
        ("src/x.pth", "control"),
        ("src/pkg/core.pyc", "control"),
        ("src/pkg/__pycache__/core.cpython-311.pyc", "control"),
        ("src/pkg.dist-info/entry_points.txt", "control"),
        ("src/pkg.egg-info/entry_points.txt", "control"),
        ("unknown", "control"),
        ("src/.git/config", "control"),
        ("src/.GIT/config", "control"),
        ("src/pkg/git~1", "control"),
        ("src/.g\u200dit/hooks/x", "control"),
        ("src/..\\\\tests\\\\sealed\\\\a.py", "control"),
        ("docs/../tests/x", "control"),
        ("tests/proposed/../sealed/x", "control"),
        ("src/.github/x", "source"),
        ("src/caf\u00e9.py", "source"),
        ("src/pkg/.gitkeep", "source"),
        ("src/pkg/a..b", "source"),
    ],
)
def test_preset_verdicts_places(path: str, zone: str) -> None:
    assert VERDICTS.place(path.encode()).zone == zone


@pytest.mark.parametrize(
    ("zones", "path", "zone"),
    [
        (LANES, "tests/oracles/conftest.py", "oracle"),
        (LANES, "tests/oracles/flake_leases.json", "oracle"),
        (LANES, "tests/advisory/conftest.py", "proposed"),
        (LANES, "tests/test_x.py", "control"),
        (LANES, "module.py", "control"),
        (LANES, "src/a/b.json", "source"),
        (FLAT, "pkg/a.py", "source"),
        (FLAT, "module.py", "source"),
        (FLAT, "setup.py", "control"),
        (FLAT, "docs/conf.py", "inert"),
        (FLAT, "benchmarks/b.py", "inert"),
        (FLAT, "tests/helper.py", "control"),
        (FLAT, "tools/x.py", "control"),
        (FLAT, "pkg/data.json", "control"),
        (INSIDE, "pkg/test/test_a.py", "oracle"),
        (INSIDE, "pkg/core.py", "source"),
        (INSIDE, "pkg/notes.md", "source"),
        (INSIDE, "src/pkg.egg-info/PKG-INFO", "inert"),
        (INSIDE, "pkg/pkg.egg-info/SOURCES.txt", "inert"),
        (WIDE, "anything", "source"),
        (WIDE, ".github/workflows/x.yml", "control"),
        (WIDE, "deploy/x.py", "control"),
        (WIDE, "drafts/trivet.toml", "proposed"),
        (WIDE, "drafts/conftest.py", "proposed"),
        (WIDE, "sub/CODEOWNERS", "control"),
        (WIDE, "tests/x.pyc", "oracle"),
    ],
)
def test_other_policies_place(zones: Zones, path: str, zone: str) -> None:
    assert zones.place(path.encode()).zone == zone


def test_a_gitlink_is_control_except_in_the_oracle_zone() -> None:
    assert VERDICTS.place(b"src/sub", 0o160000).zone == "control"
    assert VERDICTS.place(b"docs/sub", 0o160000).zone == "control"
    assert VERDICTS.place(b"tests/proposed/sub", 0o160000).zone == "control"
    assert VERDICTS.place(b"tests/sealed/sub", 0o160000).zone == "oracle"


def test_only_inert_paths_have_no_influence() -> None:
    for path in (b"src/a.py", b"tests/sealed/a", b"tests/proposed/a", b"pyproject.toml", b"nowhere"):
        assert VERDICTS.place(path).influence
    assert VERDICTS.place(b"docs/a.md").influence == ""


def test_the_rule_that_decided_is_named() -> None:
    assert VERDICTS.place(b"src/a.py").by == "zones.source: src/**"
    assert VERDICTS.place(b"src/conftest.py").by == "influence name: conftest.py"
    assert VERDICTS.place(b"ci/x").by == "built-in control list: /ci/"
    assert VERDICTS.place(b"x").by == "in no zone"


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw and b"/" not in raw))
def test_any_name_has_a_zone_and_only_the_exact_prefix_is_source(name: bytes) -> None:
    assert VERDICTS.place(b"SRC/" + name).zone != "source"
    assert VERDICTS.place(b"src/pkg/" + name).zone in ("source", "control")
    assert VERDICTS.place(b"tests/sealed/" + name).zone == "oracle"


@given(st.lists(st.sampled_from(["a", "b", "conftest.py", "x.pth", "src", "tests", "sealed", "proposed", "docs"]), min_size=1, max_size=5))
def test_an_influence_name_is_never_source_and_never_inert(parts: list[str]) -> None:
    path = "/".join(parts)
    if influence_of(path):
        assert VERDICTS.place(path.encode()).zone not in ("source", "inert")


def test_a_later_negation_takes_a_path_out() -> None:
    assert match(("src/**", "!src/vendor/**"), "src/a.py")
    assert not match(("src/**", "!src/vendor/**"), "src/vendor/a.py")


@pytest.mark.parametrize(
    ("patterns", "roots"),
    [
        (("src/**", "/ci/leases.json", "a/b*/c"), (b"a", b"ci/leases.json", b"src")),
        (("src/**", "*.py"), None),
        (("**/x/y",), None),
        (("folder/",), None),
        (("/folder/",), (b"folder",)),
        (("a/**", "!a/b/**", "# note"), (b"a",)),
    ],
)
def test_literal_roots_bound_what_patterns_can_match(patterns: tuple[str, ...], roots: tuple[bytes, ...] | None) -> None:
    assert literal_roots(patterns) == roots


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/json.py", "json"),
        ("src/json/__init__.py", "json"),
        ("src/json.cpython-311-x86_64-linux-gnu.so", "json"),
        ("src/pkg/json.py", ""),
        ("src/json/data.txt", ""),
        ("src/json.txt", ""),
        ("json.py", "json"),
        ("lib/json.py", ""),
    ],
)
def test_only_a_top_level_module_of_an_import_root_can_shadow(path: str, module: str) -> None:
    assert top_module(path.encode(), ("src", ".")) == module


def test_standard_library_and_runner_are_shadowed_by_name() -> None:
    assert (shadowed("json"), shadowed("_pytest"), shadowed("random_walk")) == ("standard library", "test runner", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [("caf\u00e9.csv", "cafe\u0301.csv"), ("A.py", "a.py"), ("stra\u00dfe", "STRASSE"), ("a", "a."), ("conf\u200dtest.py", "conftest.py")],
)
def test_names_that_file_systems_confuse_fold_to_one(one: str, other: str) -> None:
    assert folded(one.encode()) == folded(other.encode())


def test_names_that_are_not_utf8_fold_without_error() -> None:
    assert folded(b"\xff\xfe") != folded(b"\xff")
