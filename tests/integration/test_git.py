"""Git is read by plumbing alone, and nobody's configuration has a say."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

import pytest

from repos import Link, Repo
from trivet.errors import GitError, UsageError
from trivet.git import EXECUTABLE, FILE, CommitTree, WorkTree, open_repository
from trivet.model import Entry


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_a_move_is_a_deletion_and_an_addition(repo: Repo) -> None:
    a = repo.commit({"tests/sealed/test_a.py": "x = 1\n" * 40})
    b = repo.commit({"tests/sealed/test_a.py": None, "src/a.py": "x = 1\n" * 40})
    with open_repository(repo.root) as opened:
        rows = opened.changes(opened.commit(a), opened.commit(b))
    assert [(row.status, row.path) for row in rows] == [("A", b"src/a.py"), ("D", b"tests/sealed/test_a.py")]


def test_paths_are_bytes_and_never_quoted(repo: Repo) -> None:
    a = repo.commit({"x": "1"})
    odd = b'src/\xe9 \t"\n.py'
    place = os.fsencode(repo.root) + b"/" + odd
    Path(os.fsdecode(place)).parent.mkdir(parents=True)
    Path(os.fsdecode(place)).write_bytes(b"1")
    b = repo.commit()
    with open_repository(repo.root) as opened:
        rows = opened.changes(opened.commit(a), opened.commit(b))
        assert CommitTree(opened, opened.commit(b)).read(odd) == b"1"
    assert [row.path for row in rows] == [odd]


def test_a_mode_change_is_a_change(repo: Repo) -> None:
    a = repo.commit({"x": "1"})
    (repo.root / "x").chmod(0o755)
    b = repo.commit()
    with open_repository(repo.root) as opened:
        (row,) = opened.changes(opened.commit(a), opened.commit(b))
    assert (row.old_mode, row.new_mode, row.status) == (FILE, EXECUTABLE, "M")


def test_clone_worktree_and_bare_repository_read_the_same(repo: Repo, tmp_path: Path) -> None:
    oid = repo.commit({"x": "1", "d/y": "2"})
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), oid)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    repo.git("clone", "-q", "--shared", ".", str(tmp_path / "shared"))
    seen = set()
    for place in (repo.root, repo.root / "d", tmp_path / "linked", tmp_path / "bare.git", tmp_path / "shared"):
        with open_repository(place) as opened:
            seen.add(opened.tree(opened.commit("HEAD").tree))
    assert len(seen) == 1


@pytest.mark.parametrize("rev", ["nowhere", "", "HEAD^{tree}:x", "--help", "a\nb"])
def test_an_unknown_revision_is_a_usage_error(repo: Repo, rev: str) -> None:
    repo.commit({"x": "1"})
    with open_repository(repo.root) as opened, pytest.raises(UsageError, match="no such revision"):
        opened.commit(rev)


def test_a_folder_without_a_repository_is_a_usage_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError):
            open_repository(place)


def test_a_shallow_clone_is_refused(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"x": "1"})
    repo.commit({"x": "2"})
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.root}", str(tmp_path / "shallow"))
    with pytest.raises(GitError, match="shallow"):
        open_repository(tmp_path / "shallow")


@pytest.mark.parametrize("packed", [False, True])
def test_replace_refs_are_refused(repo: Repo, packed: bool) -> None:
    a, b = repo.commit({"x": "1"}), repo.commit({"x": "2"})
    repo.git("replace", a, b)
    if packed:
        repo.git("pack-refs", "--all")
        assert not list((repo.root / ".git/refs/replace").glob("*")) if (repo.root / ".git/refs/replace").exists() else True
    with pytest.raises(GitError, match="replace refs"):
        open_repository(repo.root)


def test_grafts_are_refused_and_an_empty_grafts_file_is_not(repo: Repo) -> None:
    a = repo.commit({"x": "1"})
    grafts = repo.root / ".git/info/grafts"
    grafts.write_text("# nothing\n")
    open_repository(repo.root).close()
    grafts.write_text(f"{a}\n")
    with pytest.raises(GitError, match="grafts"):
        open_repository(repo.root)


def test_unrelated_histories_are_refused(repo: Repo) -> None:
    a = repo.commit({"x": "1"})
    tree = repo.git("rev-parse", "HEAD^{tree}")
    b = repo.git("commit-tree", tree, "-m", "fresh")
    with open_repository(repo.root) as opened, pytest.raises(GitError, match="no common commit"):
        opened.changes(opened.commit(a), opened.commit(b))


def test_several_merge_bases_give_the_union_of_their_diffs(repo: Repo) -> None:
    root = repo.commit({"a": "1\n", "b": "1\n"})
    left = repo.commit({"a": "2\n"})
    repo.git("checkout", "-q", "-b", "right", root)
    right = repo.commit({"b": "2\n"})
    repo.git("merge", "-q", "--no-edit", left)
    head = repo.commit({"c": "1\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", right)
    base = repo.git("rev-parse", "HEAD")
    with open_repository(repo.root) as opened:
        one, two = opened.commit(base), opened.commit(head)
        assert set(opened.merge_bases(one.oid, two.oid)) == {left, right}
        assert {row.path for row in opened.changes(one, two)} == {b"a", b"b", b"c"}


def test_a_long_straight_history_has_base_as_its_only_merge_base(repo: Repo) -> None:
    base = repo.commit({"a": "1"})
    heads = [repo.commit({"a": str(number)}) for number in range(3)]
    with open_repository(repo.root) as opened:
        assert opened.merge_bases(base, heads[-1]) == (base,)
        assert opened.merge_bases(heads[-1], base) == (base,)
        assert opened.commits(opened.commit(base), opened.commit(heads[-1])) == tuple(reversed(heads))


def _hostile(repo: Repo, tmp_path: Path) -> Path:
    """Configure everything that git runs or rewrites by; whatever ran leaves the file that is returned."""
    ran = tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {ran}\ncat >/dev/null\nexit 0\n")
    trap.chmod(0o755)
    for key, value in {
        "merge.evil.driver": f"{trap} %A", "merge.default": "evil", "diff.external": str(trap), "diff.evil.textconv": str(trap),
        "diff.evil.command": str(trap), "filter.evil.smudge": str(trap), "filter.evil.clean": str(trap), "core.fsmonitor": str(trap),
        "core.hooksPath": str(tmp_path), "core.attributesFile": str(tmp_path / "attributes"), "diff.renames": "copies",
        "core.sshCommand": str(trap), "extensions.partialClone": "origin", "remote.origin.url": f"ext::{trap}", "remote.origin.promisor": "true",
        "protocol.ext.allow": "always", "merge.renames": "false", "core.worktree": "/nonexistent",
    }.items():  # fmt: skip
        repo.git("config", key, value)
    for place in (tmp_path / "attributes", repo.root / ".git/info/attributes"):
        place.parent.mkdir(exist_ok=True)
        place.write_text("* merge=evil diff=evil filter=evil export-ignore export-subst\n")
    return ran


def test_repository_configuration_and_attributes_have_no_say_and_nothing_is_run(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/a.py": "1\n2\n3\n4\n5\n"})
    repo.git("branch", "topic")
    base = repo.commit({"src/a.py": "one\n2\n3\n4\n5\n", "other": "x"})
    repo.git("checkout", "-q", "topic")
    head = repo.commit({"src/a.py": "1\n2\n3\n4\nfive\n"})
    ran = _hostile(repo, tmp_path)
    with open_repository(repo.root) as opened:
        one, two = opened.commit(base), opened.commit(head)
        merged = opened.merge(one, two)
        item = opened.find(merged.tree, b"src/a.py")
        assert item is not None
        assert opened.blob(item.oid) == b"one\n2\n3\n4\nfive\n"
        assert merged.conflicts == ()
        assert [row.path for row in opened.changes(one, two)] == [b"src/a.py"]
        with pytest.raises(GitError):
            opened.blob("1" * 40)
    assert not ran.exists()


def test_attributes_in_the_tree_do_not_choose_how_files_merge(repo: Repo) -> None:
    repo.commit({"src/a.py": "1\n", ".gitattributes": "* merge=union\n"})
    repo.git("branch", "topic")
    base = repo.commit({"src/a.py": "2\n"})
    repo.git("checkout", "-q", "topic")
    head = repo.commit({"src/a.py": "3\n"})
    with open_repository(repo.root) as opened:
        assert opened.merge(opened.commit(base), opened.commit(head)).conflicts == (b"src/a.py",)


def test_the_users_repository_is_never_written(repo: Repo) -> None:
    repo.commit({"src/a.py": "1\n2\n3\n"})
    repo.git("branch", "topic")
    base = repo.commit({"src/a.py": "one\n2\n3\n"})
    repo.git("checkout", "-q", "topic")
    head = repo.commit({"src/a.py": "1\n2\n3\n4\n"})
    before = {path: path.stat().st_mtime_ns for path in (repo.root / ".git").rglob("*") if path.is_file()}
    with open_repository(repo.root) as opened:
        merged = opened.merge(opened.commit(base), opened.commit(head))
        opened.edit(merged.tree, {b"new/file": (FILE, opened.write_blob(b"new"))})
        scratch = opened._shadow
    assert {path: path.stat().st_mtime_ns for path in (repo.root / ".git").rglob("*") if path.is_file()} == before
    assert not scratch.exists()


def test_a_written_tree_has_the_id_that_git_gives_it(repo: Repo) -> None:
    oid = repo.commit({"a": "1", "a-b/c": "2", "a.b": "3", "ab/x/y": "4", "link": Link("a")})
    with open_repository(repo.root) as opened:
        commit = opened.commit(oid)
        entries = opened.tree(commit.tree)
        assert opened.write_tree(reversed(entries)) == commit.tree
        assert opened.edit(commit.tree, {}) == commit.tree
        without = opened.edit(commit.tree, {b"ab/x/y": None, b"a": None})
        assert [entry.path for entry in opened.tree(without)] == [b"a-b/c", b"a.b", b"link"]


def test_a_file_cannot_hold_files_and_a_folder_cannot_become_one(repo: Repo) -> None:
    oid = repo.commit({"a": "1", "d/x": "2"})
    with open_repository(repo.root) as opened:
        tree = opened.commit(oid).tree
        leaf = (FILE, opened.empty_blob)
        for change in ({b"a/b": leaf}, {b"d": leaf}):
            with pytest.raises(GitError):
                opened.edit(tree, change)


def test_listing_below_some_paths_gives_the_same_rows_as_the_whole_list(repo: Repo) -> None:
    oid = repo.commit({"a/b/c": "1", "a/d": "2", "e": "3", "ab": "4"})
    with open_repository(repo.root) as opened:
        tree = opened.commit(oid).tree
        rows = opened.tree(tree)
        assert opened.tree(tree, (b"a", b"e", b"none", b"a/b")) == tuple(row for row in rows if row.path != b"ab")


def test_an_object_with_other_bytes_than_its_id_says_is_refused(repo: Repo) -> None:
    oid = repo.commit({"x": "honest"})
    blob = repo.git("rev-parse", "HEAD:x")
    place = repo.root / ".git/objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 4\0evil"))
    with open_repository(repo.root) as opened, pytest.raises(GitError, match="does not have the bytes"):
        CommitTree(opened, opened.commit(oid)).read(b"x")


def test_a_commit_graph_that_lies_about_parents_is_not_believed(repo: Repo) -> None:
    first = repo.commit({"x": "1"})
    second = repo.commit({"x": "2"})
    repo.git("checkout", "-q", "-b", "topic", first)
    head = repo.commit({"y": "1"})
    repo.git("commit-graph", "write", "--reachable")
    graph = repo.root / ".git/objects/info/commit-graph"
    data = graph.read_bytes()
    graph.chmod(0o644)
    graph.write_bytes(data[:-40] + bytes(40))
    with open_repository(repo.root) as opened:
        assert opened.merge_bases(second, head) == (first,)


def test_a_sha256_repository_is_read(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r", "--object-format=sha256")
    a = repo.commit({"x": "1"})
    b = repo.commit({"x": "2", "d/y": "1"})
    with open_repository(repo.root) as opened:
        one, two = opened.commit(a), opened.commit(b)
        assert len(two.oid) == 64
        assert [row.path for row in opened.changes(one, two)] == [b"d/y", b"x"]
        assert opened.write_tree(opened.tree(two.tree)) == two.tree


def test_a_repository_of_another_user_is_read(repo: Repo) -> None:
    repo.commit({"x": "1"})
    if os.geteuid() == 0:  # nobody else can give files away
        for folder, inner, files in os.walk(repo.root):
            for name in (".", *inner, *files):
                os.chown(Path(folder) / name, 12345, 12345)
    with open_repository(repo.root) as opened:
        assert opened.tree(opened.commit("HEAD").tree)[0].path == b"x"
    assert [entry.path for entry in WorkTree(repo.root).entries()] == [b"x"]


def test_a_work_tree_shows_tracked_and_new_files_and_not_ignored_ones(repo: Repo) -> None:
    repo.commit({"kept": "1", "gone": "1", ".gitignore": "build/\n"})
    repo.put({"gone": None, "new": "1", "build/x": "1", "link": Link("kept")})
    tree = WorkTree(repo.root)
    assert [entry.path for entry in tree.entries()] == [b".gitignore", b"kept", b"link", b"new"]
    assert tree.entries((b"kept",)) == (Entry(path=b"kept", mode=FILE, oid=""),)
    assert (tree.read(b"link"), tree.read(b"gone"), tree.read(b"kept")) == (b"kept", None, b"1")


def test_a_folder_without_git_is_a_work_tree_too(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("1")
    assert [entry.path for entry in WorkTree(tmp_path).entries()] == [b"d/x"]


def test_a_moved_git_folder_is_found_through_its_file(repo: Repo, tmp_path: Path) -> None:
    oid = repo.commit({"x": "1"})
    shutil.move(repo.root / ".git", tmp_path / "elsewhere.git")
    (repo.root / ".git").write_text("gitdir: ../elsewhere.git\n")
    with open_repository(repo.root) as opened:
        assert opened.commit("main").oid == oid
    (repo.root / ".git").write_text("gitdir: ../nowhere.git\n")
    with pytest.raises(GitError, match="no git folder"):
        open_repository(repo.root)
