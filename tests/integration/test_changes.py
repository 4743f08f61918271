"""What a change set is, and what oracle-integrity says of it, on real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from repos import VERDICTS, Content, Link, Repo
from trivet.git import CommitTree, open_repository
from trivet.legs import oracle
from trivet.model import ChangeFacts, Verdict
from trivet.sealed.changes import read_changes
from trivet.sealed.manifest import read_seal
from trivet.sealed.policy import read_policy
from trivet.zones import Zones
from trivet.zones_links import link_place


class Case:
    """A base in preset verdicts, and what is judged on top of it."""

    def __init__(self, root: Path) -> None:
        self.repo = Repo(root)
        self.base: dict[str, Content | Link] = dict(VERDICTS)

    def judge(self, head: dict[str, Content | Link], also: dict[str, Content | Link] | None = None) -> tuple[str, Verdict, ChangeFacts]:
        base = self.repo.commit(self.base | (also or {}))
        tip = self.repo.commit(head)
        return self.judge_revisions(base, tip)

    def judge_revisions(self, base: str, head: str) -> tuple[str, Verdict, ChangeFacts]:
        with open_repository(self.repo.root) as opened:
            one, two = opened.commit(base), opened.commit(head)
            tree = CommitTree(opened, one, "base")
            policy = read_policy(tree)
            zones = Zones(policy.zones)
            facts = read_changes(opened, one, two, policy, zones)
            return oracle.change_kind(facts.changes), oracle.judge(facts, read_seal(tree, policy, zones)), facts


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "repo")


CORE = {"src/pkg/core.py": "def double(n):\n    return n + n\n"}


def rules(verdict: Verdict) -> list[str]:
    return sorted({finding.rule for finding in verdict.findings})


@pytest.mark.parametrize(
    "head",
    [
        CORE,
        CORE | {"tests/proposed/test_new.py": "x", "tests/proposed/conftest.py": "x"},
        CORE | {"README.md": "new", "docs/a.md": "new", "CHANGELOG.md": "x"},
        {"src/pkg/core.py": None, "src/pkg/engine.py": VERDICTS["src/pkg/core.py"]},
        {"src/pkg/json.py": "x", "src/pkg/py.typed": "", "src/pkg/core.pyi": "x", "src/random_walk.py": "x", "src/pkg/test_kit.py": "x"},
        {"src/pkg/alias.py": Link("core.py"), "src/alias": Link("pkg"), "src/pkg/deep/up.py": Link("../core.py")},
        {"docs/readme.md": Link("../README.md"), "docs/core.py": Link("../src/pkg/core.py")},
        {"src/pkg/Core.txt": "x", "src/pkg/other.txt": "y"},
        {"pkg.egg-info/PKG-INFO": "Version: 2", "pkg.egg-info/entry_points.txt": "[console_scripts]\npkg = pkg:main\n", **CORE},
        CORE
        | {
            "pyproject.toml": str(VERDICTS["pyproject.toml"]).replace('version = "1"', 'version = "2"\ndescription = "x"')
            + "\n[tool.ruff]\nline-length = 100\n"
        },
        CORE | {"pyproject.toml": "# only a comment\n" + str(VERDICTS["pyproject.toml"])},
        {},
    ],
    ids=[
        "source",
        "drafts",
        "docs",
        "rename",
        "names",
        "inner-links",
        "docs-links",
        "case",
        "metadata",
        "allowed-keys",
        "comment",
        "empty",
    ],
)
def test_an_honest_change_set_passes(case: Case, head: dict[str, Content | Link]) -> None:
    kind, verdict, _ = case.judge(head)
    assert (kind, verdict.status, verdict.findings) == ("patch" if head else "empty", "PASS", ())


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (CORE | {"tests/sealed/test_core.py": "x"}, ["TRV101"]),
        (CORE | {"tests/sealed/test_core.py": None}, ["TRV101"]),
        (CORE | {"ci/flake_leases.json": "{}"}, ["TRV101"]),
        (CORE | {"ci/gate.sh": "exit 0"}, ["TRV102"]),
        (CORE | {".gitattributes": "* text"}, ["TRV102"]),
        (CORE | {"src/.gitattributes": "* merge=ours"}, ["TRV102"]),
        (CORE | {"helper.py": "x"}, ["TRV102"]),
        (CORE | {"conftest.py": "x"}, ["TRV104"]),
        (CORE | {"src/pkg/conftest.py": "x"}, ["TRV104"]),
        (CORE | {"src/pkg/__pycache__/core.cpython-311.pyc": b"x"}, ["TRV104"]),
        (CORE | {"pkg.egg-info/entry_points.txt": "[pytest11]\nx = pkg\n"}, ["TRV104"]),
        (CORE | {"src/pkg/data": Link("/etc/hostname")}, ["TRV105"]),
        (CORE | {"src/pkg/data": Link("../../tests/sealed")}, ["TRV105"]),
        (CORE | {"src/pkg/data": Link("../../../outside")}, ["TRV105"]),
        (CORE | {"src/pkg/data": Link("../pkg/x/../../../ci")}, ["TRV105"]),
        (CORE | {"src/pkg/data": Link("../..")}, ["TRV105"]),
        (CORE | {"tests/sealed/data.json": Link("test_core.py")}, ["TRV101", "TRV105"]),
        (CORE | {"docs/a": Link("/etc/hostname")}, ["TRV105"]),
        (CORE | {"src/pkg/CORE.py": "x"}, ["TRV106"]),
        (CORE | {"src/PKG/x.py": "x"}, ["TRV106"]),
        (CORE | {"tests/Sealed/x.py": "x"}, ["TRV102", "TRV106"]),
        (CORE | {"src/json.py": "x"}, ["TRV107"]),
        (CORE | {"src/random/__init__.py": "x"}, ["TRV107"]),
        (CORE | {"src/_pytest.py": "x"}, ["TRV107"]),
        (CORE | {"src/test_core.py": "x"}, ["TRV107"]),
        (CORE | {"pyproject.toml": str(VERDICTS["pyproject.toml"]).replace("tests", "other")}, ["TRV108"]),
        (CORE | {"pyproject.toml": "not toml ["}, ["TRV108"]),
        (CORE | {"pyproject.toml": str(VERDICTS["pyproject.toml"]) + "\n[tool.ruffian]\nx = 1\n"}, ["TRV108"]),
        (CORE | {"pyproject.toml": str(VERDICTS["pyproject.toml"]) + '\n["tool.ruff"]\nx = 1\n'}, ["TRV108"]),
        (CORE | {"pyproject.toml": Link("README.md")}, ["TRV105"]),
        (CORE | {"src/pkg/pyproject.toml": '[project]\nversion = "2"\n'}, ["TRV102"]),
    ],
)  # fmt: skip
def test_a_change_set_that_moves_the_measure_fails_with_its_rule(case: Case, head: dict[str, Content | Link], wanted: list[str]) -> None:
    kind, verdict, _ = case.judge(head)
    assert (kind, verdict.status, rules(verdict)) == ("mixed", "FAIL", wanted)
    assert all(finding.next and finding.path for finding in verdict.findings)


def test_an_oracle_change_is_named_so(case: Case) -> None:
    kind, _, _ = case.judge({"tests/sealed/test_new.py": "x", "README.md": "x", "tests/proposed/a": "x"})
    assert kind == "oracle"


def test_a_gitlink_in_source_is_refused(case: Case) -> None:
    base = case.repo.commit(case.base)
    case.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},src/pkg/sub")
    case.repo.git("commit", "-q", "-m", "sub")
    kind, verdict, _ = case.judge_revisions(base, case.repo.git("rev-parse", "HEAD"))
    assert (kind, rules(verdict)) == ("oracle", ["TRV105"])


def test_a_tree_that_names_a_path_twice_is_refused(case: Case) -> None:
    base = case.repo.commit(case.base)
    tree = bytes.fromhex(case.repo.git("rev-parse", "HEAD:src"))
    evil = case.repo.git("hash-object", "-w", "--stdin", data=b"evil")
    inner = case.repo.git("mktree", data=f"100644 blob {evil}\tcore.py\n".encode())
    other = case.repo.git("mktree", data=f"040000 tree {inner}\tpkg\n".encode())
    place = case.repo.root / "tree"
    rows = subprocess.run(["git", "cat-file", "tree", "HEAD^{tree}"], cwd=case.repo.root, capture_output=True, check=True).stdout
    row = b"40000 src\0" + tree
    assert row in rows
    place.write_bytes(rows.replace(row, row + b"40000 src\0" + bytes.fromhex(other)))
    twice = case.repo.git("hash-object", "-w", "-t", "tree", "--literally", str(place))
    head = case.repo.git("commit-tree", twice, "-p", base, "-m", "twice")
    _, verdict, _ = case.judge_revisions(base, head)
    assert (verdict.status, rules(verdict)) == ("FAIL", ["TRV109"])


def test_source_that_becomes_a_link_is_not_source_any_more(case: Case) -> None:
    base = case.repo.commit(case.base)
    case.repo.git("mv", "src", "lib")
    head = case.repo.commit({"src": Link("lib")})
    kind, verdict, _ = case.judge_revisions(base, head)
    assert (kind, verdict.status) == ("mixed", "FAIL")


@pytest.mark.parametrize(
    ("also", "head"),
    [
        ({"src/json.py": "old"}, {"src/json.py": "new"}),
        ({"src/pluggy/__init__.py": "old"}, {"src/pluggy/__init__.py": "new", "src/pluggy/more.py": "x"}),
        ({"src/json/__init__.py": "old"}, {"src/json.py": "x", "src/json/__init__.py": None}),
        ({"src/data": Link("/etc/hostname")}, {"src/pkg/core.py": "x"}),
        ({"src/A.py": "1", "src/a.py": "2"}, {"src/a.py": "3"}),
        ({"src/A.py": "1"}, {"src/A.py": None, "src/a.py": "1"}),
        ({"src/Sub/a.py": "1"}, {"src/Sub/a.py": None, "src/sub/a.py": "1"}),
        ({"src/conftest.py": "x"}, {"src/pkg/core.py": "x"}),
    ],
    ids=["stdlib-name", "runner", "package-to-module", "link", "twins", "case-rename", "folder-rename", "conftest"],
)
def test_what_stands_on_base_is_not_held_against_a_change(
    case: Case, also: dict[str, Content | Link], head: dict[str, Content | Link]
) -> None:
    kind, verdict, _ = case.judge(head, also)
    assert (kind, verdict.status) == ("patch", "PASS")


def test_a_new_name_that_collides_with_what_base_gained_meanwhile_is_found(case: Case) -> None:
    case.repo.commit(case.base)
    case.repo.git("branch", "topic")
    base = case.repo.commit({"src/pkg/New.py": "x"})
    case.repo.git("checkout", "-q", "topic")
    head = case.repo.commit({"src/pkg/new.py": "y"})
    _, verdict, _ = case.judge_revisions(base, head)
    assert rules(verdict) == ["TRV106"]


def test_with_several_merge_bases_the_strictest_reading_of_a_path_counts(case: Case) -> None:
    pyproject = str(VERDICTS["pyproject.toml"])
    root = case.repo.commit(case.base)
    weak = case.repo.commit({"pyproject.toml": pyproject.replace('"tests"', '"weak"')})
    case.repo.git("checkout", "-q", "-b", "right", root)
    right = case.repo.commit({"docs/a.md": "x"})
    case.repo.git("merge", "-q", "--no-edit", weak)
    head = case.repo.commit(CORE | {"pyproject.toml": pyproject.replace('"tests"', '"weak"').replace('version = "1"', 'version = "2"')})
    case.repo.git("checkout", "-q", "main")
    case.repo.git("merge", "-q", "-s", "ours", "--no-edit", right)
    case.repo.git("checkout", "-q", root, "--", "pyproject.toml")
    case.repo.git("commit", "-q", "--amend", "--no-edit")
    _, verdict, _ = case.judge_revisions(case.repo.git("rev-parse", "main"), head)
    assert "TRV108" in rules(verdict)


def test_a_patch_fails_on_an_oracle_that_drifted_on_base(case: Case) -> None:
    kind, verdict, _ = case.judge(CORE, {"tests/sealed/MANIFEST.txt": "tests/sealed/test_gone.py\n"})
    assert (kind, verdict.status) == ("patch", "FAIL")
    assert rules(verdict) == ["TRV110"]


def test_an_empty_oracle_fails_even_an_empty_change(case: Case) -> None:
    _, verdict, _ = case.judge({}, {"tests/sealed/test_core.py": None, "tests/sealed/MANIFEST.txt": ""})
    assert (verdict.status, rules(verdict)) == ("FAIL", ["TRV115"])


@pytest.mark.parametrize(
    ("path", "target", "place"),
    [
        (b"src/a", b"b", b"src/b"),
        (b"src/p/a", b"../b/./c", b"src/b/c"),
        (b"src/a", b"..", b""),
        (b"src/a", b"../..", None),
        (b"src/a", b"b/../c", None),
        (b"src/a", b"/b", None),
        (b"src/a", b"", None),
        (b"src/a", b"../.GIT/config", None),
        (b"src/a", b"..\\b", None),
    ],
)
def test_a_link_is_resolved_without_trusting_what_lies_on_the_way(path: bytes, target: bytes, place: bytes | None) -> None:
    assert link_place(path, target) == place
