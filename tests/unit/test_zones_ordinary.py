"""The quick way of placing paths says what the long way says, whatever was placed before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from trivet.git import PlainTree
from trivet.model import RawChange, ZonePolicy
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

FOLDERS = st.sampled_from(
    ["src", "pkg", "tests", "sealed", "proposed", "docs", "ci", "tools", ".github", "a.egg-info", "x.dist-info", "__pycache__", "Src", "é",
     "sitecustomize", "requirements", "fixtures", "build", "a-b", "..", "LICENSES", "changes", "CODEOWNERS", "setup", "egg", "a.py", "gen"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["a.py", "b.py", "m1.py", "conftest.py", "Conftest.py", "CONFTEST.PY", "conftest.txt", "sitecustomize.py", "UserCustomize.so", "x.pth", "x.PTH",
     "x._pth", "pyvenv.cfg", "a.pyc", "a.PYO", "README.md", "LICENSE", "LICENSE.md", "LICENSES.txt", "setup.py", "setup.cfg", "pyproject.toml",
     "uv.lock", "a.lock", "requirements.txt", "requirements-dev.in", "constraints.txt", "pylock.toml", "pylock.x.toml", "tox.ini", "x.ini", "PKG-INFO",
     "CODEOWNERS", "Makefile", ".gitignore", ".gitattributes", "a.git", "git~1", "é.py", "a b.py", "a\\b.py", "flake_leases.json", "MANIFEST.txt",
     "gen_x.py", "x_gen.py", "test_a.py", "env.yml", "environment.yml", "a..py", ".py", "a.", "a.egg-info", "a.egg-link", "NEWS.rst", "a\nb.py"]
)  # fmt: skip
PATHS = st.builds(lambda folders, name: "/".join([*folders, name]), st.lists(FOLDERS, max_size=4), NAMES)
PATTERNS = st.lists(
    st.sampled_from(
        ["src/**", "/src/", "src/pkg/**", "tests/sealed/**", "/ci/flake_leases.json", "*.py", "*.md", "*gen.py", "gen_*", "*gen*", "build", "docs/**",
         "LICENSE*", "/a*", "/*.egg-info/**", "src/pkg/a.py", "m1.py", "a.py/", "tests", "*_x.py", "gen*.py", "src/*/x", "!src/pkg/a.py", "!*.md", "!/tests/**"]
    ),
    max_size=4,
).map(tuple)  # fmt: skip
MODES = st.sampled_from([0o100644, 0o100755, 0o120000, 0o160000])


def row(path: str, mode: int = 0o100644) -> RawChange:
    return RawChange(path=path.encode("utf-8", "surrogateescape"), status="M", old_mode=mode, new_mode=mode, old_oid="0", new_oid="1")


@settings(max_examples=300)
@given(st.builds(ZonePolicy, source=PATTERNS, oracle=PATTERNS, proposed=PATTERNS, inert=PATTERNS, control=PATTERNS),
       st.lists(st.tuples(PATHS, MODES), max_size=30))  # fmt: skip
def test_placing_many_agrees_with_looking_at_each(policy: ZonePolicy, paths: list[tuple[str, int]]) -> None:
    zones, fresh = Zones(policy), Zones(policy)
    wanted = [fresh._placed(path, mode) for path, mode in paths]
    assert zones.place_all([row(path, mode) for path, mode in paths]) == wanted
    assert [zones.place(row(path).path, mode) for path, mode in paths] == wanted


@settings(max_examples=200)
@given(st.sampled_from([b"tests/sealed/test_a.py", b"tests/oracles/test_a.py"]), st.lists(PATHS, max_size=40))
def test_both_presets_place_many_as_each(seal: bytes, paths: list[str]) -> None:
    policy = read_policy(PlainTree({seal: b""})).zones
    zones, fresh = Zones(policy), Zones(policy)
    assert zones.place_all([row(path) for path in paths]) == [fresh._placed(path, 0o100644) for path in paths]
