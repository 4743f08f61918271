"""The scoring tree is base with the source zone of the merge, laid out byte for byte and read-only."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from repos import VERDICTS, Content, Link, Repo
from trivet.errors import GitError
from trivet.git import CommitTree, open_repository
from trivet.model import Entry
from trivet.sealed.policy import read_policy
from trivet.stage.overlay import Overlay, lay, loosen, plan_overlay, stays_inside
from trivet.zones import Zones


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def planned(repo: Repo, base: str, head: str, root: Path | None = None) -> Overlay:
    with open_repository(repo.root) as opened:
        one, two = opened.commit(base), opened.commit(head)
        overlay = plan_overlay(opened, one, two, Zones(read_policy(CommitTree(opened, one)).zones))
        if root is not None:
            root.mkdir()
            lay(opened, overlay.entries, root)
        return overlay


def laid(root: Path) -> dict[str, str | bytes]:
    return {
        path.relative_to(root).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def test_only_the_source_zone_of_head_is_taken(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(VERDICTS)
    head = repo.commit(
        {
            "src/pkg/core.py": "new", "src/pkg/more/a.py": "new", "src/pkg/__init__.py": None, "src/conftest.py": "evil", "conftest.py": "evil",
            "tests/sealed/test_core.py": "evil", "tests/proposed/test_x.py": "new", "README.md": "new", "pyproject.toml": "new",
        }
    )  # fmt: skip
    overlay = planned(repo, base, head, tmp_path / "tree")
    wanted: dict[str, Content] = {**VERDICTS, "src/pkg/core.py": "new", "src/pkg/more/a.py": "new"}
    del wanted["src/pkg/__init__.py"]
    assert laid(tmp_path / "tree") == {path: str(text).encode() for path, text in wanted.items()}
    assert overlay.conflicts == ()
    loosen(tmp_path / "tree")


def test_the_tree_has_the_id_that_git_gives_to_what_is_laid(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(VERDICTS | {"src/run.sh": "x", "src/pkg/link": Link("core.py")})
    (repo.root / "src/run.sh").chmod(0o755)
    head = repo.commit({"src/pkg/core.py": "new", "docs/x.md": "new"})
    overlay = planned(repo, base, head, tmp_path / "tree")
    again = Repo(tmp_path / "again")
    loosen(tmp_path / "tree")
    subprocess.run(["cp", "-a", f"{tmp_path}/tree/.", str(again.root)], check=True)
    again.commit()
    assert again.git("rev-parse", "HEAD^{tree}") == overlay.tree


def test_an_empty_change_gives_bases_own_tree(repo: Repo) -> None:
    base = repo.commit(VERDICTS)
    head = repo.commit({"docs/x.md": "new"})
    assert planned(repo, base, head).tree == repo.git("rev-parse", f"{base}^{{tree}}")


def test_what_base_gained_meanwhile_stays(repo: Repo) -> None:
    repo.commit(VERDICTS)
    repo.git("branch", "topic")
    base = repo.commit(
        {"src/pkg/core.py": f"# first\n{VERDICTS['src/pkg/core.py']}", "src/pkg/gained.py": "x", "tests/sealed/test_b.py": "x"}
    )
    repo.git("checkout", "-q", "topic")
    head = repo.commit({"src/pkg/core.py": f"{VERDICTS['src/pkg/core.py']}\n\n# last\n"})
    merged = planned(repo, base, head)
    assert {b"src/pkg/gained.py", b"tests/sealed/test_b.py"} <= {entry.path for entry in merged.entries}
    assert merged.tree != repo.git("rev-parse", f"{base}^{{tree}}")
    assert merged.conflicts == ()


def test_a_conflict_in_source_is_named_and_one_elsewhere_is_not(repo: Repo) -> None:
    repo.commit(VERDICTS)
    repo.git("branch", "topic")
    base = repo.commit({"src/pkg/core.py": "base\n", "README.md": "base\n"})
    repo.git("checkout", "-q", "topic")
    head = repo.commit({"src/pkg/core.py": "head\n", "README.md": "head\n"})
    assert planned(repo, base, head).conflicts == ("src/pkg/core.py",)


def test_a_file_that_takes_the_place_of_a_folder_of_another_zone_is_a_conflict(repo: Repo) -> None:
    base = repo.commit(VERDICTS | {"src/pkg/thing/conftest.py": "x"})
    head = repo.commit({"src/pkg/thing/conftest.py": None, "src/pkg/thing": "now a file"})
    assert planned(repo, base, head).conflicts != ()


def test_a_folder_becomes_a_file_and_a_file_a_folder(repo: Repo) -> None:
    base = repo.commit(VERDICTS | {"src/one": "file", "src/two/a": "x"})
    head = repo.commit({"src/one": None, "src/two/a": None, "src/two": "file"})
    head = repo.commit({"src/one/a": "x"})
    overlay = planned(repo, base, head)
    assert {entry.path for entry in overlay.entries} >= {b"src/one/a", b"src/two"}


def test_a_gitlink_never_enters_the_tree(repo: Repo) -> None:
    base = repo.commit(VERDICTS)
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},src/pkg/sub")
    repo.git("commit", "-q", "-m", "sub")
    overlay = planned(repo, base, repo.git("rev-parse", "HEAD"))
    assert all(entry.mode != 0o160000 for entry in overlay.entries)


def test_a_new_link_that_leaves_the_source_zone_never_enters_the_tree(repo: Repo) -> None:
    base = repo.commit(VERDICTS)
    head = repo.commit(
        {"src/pkg/out": Link("../../tests/sealed"), "src/pkg/far": Link("/etc"), "src/pkg/near": Link("core.py"), "src/folder": Link("pkg")}
    )
    names = {entry.path for entry in planned(repo, base, head).entries if entry.mode == 0o120000}
    assert names == {b"src/pkg/near", b"src/folder"}


def test_the_laid_tree_has_right_modes_and_cannot_be_written(repo: Repo, tmp_path: Path) -> None:
    repo.put({**VERDICTS, "src/run.sh": "x"})
    (repo.root / "src/run.sh").chmod(0o755)
    base = repo.commit()
    planned(repo, base, base, tmp_path / "tree")
    modes = {path.relative_to(tmp_path / "tree").as_posix(): stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tree").rglob("*")}
    assert modes.pop("src/run.sh") == 0o555
    assert {mode for path, mode in modes.items() if (tmp_path / "tree" / path).is_file()} == {0o444}
    assert {mode for path, mode in modes.items() if (tmp_path / "tree" / path).is_dir()} == {0o555}
    loosen(tmp_path / "tree")


def test_attributes_and_line_ends_do_not_change_a_byte(repo: Repo, tmp_path: Path) -> None:
    crlf = "a = 1\r\nb = '$Id$ $Format:%h$'\r\n"
    repo.commit(VERDICTS)
    repo.put({".gitattributes": "*.py text eol=lf ident export-subst\n"})
    blob = repo.git("hash-object", "-w", "--stdin", "--no-filters", data=crlf.encode())
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},src/pkg/odd.py")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "odd")
    planned(repo, "HEAD", "HEAD", tmp_path / "tree")
    assert (tmp_path / "tree/src/pkg/odd.py").read_bytes() == crlf.encode()
    loosen(tmp_path / "tree")


def test_only_some_leaves_can_be_laid(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(VERDICTS)
    with open_repository(repo.root) as opened:
        lay(
            opened,
            opened.tree(opened.commit(base).tree),
            tmp_path / "repo" / "..",
            only=lambda entry: entry.path.startswith(b"src/"),
            read_only=False,
        )
    assert (tmp_path / "src/pkg/core.py").exists()
    assert not (tmp_path / "README.md").exists()


def test_a_link_out_of_the_tree_is_left_out(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit(VERDICTS | {"src/out": Link("/etc"), "src/up": Link("../../x"), "src/in": Link("pkg/core.py")})
    planned(repo, base, base, tmp_path / "tree")
    assert not (tmp_path / "tree/src/out").is_symlink()
    assert not (tmp_path / "tree/src/up").is_symlink()
    assert str((tmp_path / "tree/src/in").readlink()) == "pkg/core.py"
    loosen(tmp_path / "tree")


def test_a_path_that_leaves_the_folder_is_refused(repo: Repo, tmp_path: Path) -> None:
    repo.commit(VERDICTS)
    with open_repository(repo.root) as opened:
        for path in (b"../x", b"a/../../x", b"a//b", b".git/hooks/x", b"a/.GIT/config"):
            with pytest.raises(GitError):
                lay(opened, (Entry(path=path, mode=0o100644, oid=opened.empty_blob),), tmp_path)


def test_links_are_weighed_by_depth() -> None:
    assert stays_inside(b"a/b", b"../c")
    assert not stays_inside(b"a/b", b"../../c")
    assert not stays_inside(b"a", b"x/../../c")
    assert not stays_inside(b"a/b", b"/c")
