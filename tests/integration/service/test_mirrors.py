"""Mirrors: what comes in, what is refused, and that nothing of it runs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from repos import VERDICTS, Link, Repo
from trivet.errors import GitError, ServiceError
from trivet.git import CommitTree, open_repository
from trivet.service.fetching import run_git
from trivet.service.mirrors import Mirrors, RefusedError
from trivet.service.settings import Fetch, Oracle, Repository


def mirrors(folder: Path, **limits) -> Mirrors:
    return Mirrors(folder=folder / "mirrors", limits=Fetch(protocols=("file",), timeout_s=60, **limits), memory_b=2**32)


@pytest.fixture
def origin(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "origin")


def listed(origin: Repo, **more) -> Repository:
    return Repository(name="alpha", url=str(origin.root), **more)


def test_base_and_head_come_by_id_once_and_nothing_is_asked_again(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"a": "1"})
    origin.git("checkout", "-q", "-b", "topic")
    head = origin.commit({"a": "2"})
    made = mirrors(tmp_path)
    brought = made.bring(listed(origin), base, head)
    assert (brought.base, brought.head) == (base, head)
    origin.root.rename(tmp_path / "gone")
    assert made.bring(listed(origin), base, head) == brought
    with open_repository(brought.path) as repository:
        assert repository.commit(head).oid == head


@pytest.mark.parametrize("which", ["side branch", "unrelated", "tag of a protected name"])
def test_a_base_that_no_protected_branch_holds_is_refused(tmp_path: Path, origin: Repo, which: str) -> None:
    origin.commit({"a": "1"})
    origin.git("checkout", "-q", "--orphan" if which == "unrelated" else "-b", "main-2")
    base = origin.commit({"a": "2"})
    head = origin.commit({"a": "3"})
    if which == "tag of a protected name":
        origin.git("tag", "main", base)
    with pytest.raises(RefusedError, match="protected branch"):
        mirrors(tmp_path).bring(listed(origin), base, head)


def test_a_branch_that_moves_on_is_followed_and_a_force_push_cannot_make_a_base(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"a": "1"})
    head = origin.commit({"a": "2"})
    made = mirrors(tmp_path)
    made.bring(listed(origin), base, head)
    made.bring(listed(origin), head, origin.commit({"a": "3"}))
    origin.git("checkout", "-q", "-b", "evil", base)
    evil = origin.commit({"a": "evil"})
    with pytest.raises(RefusedError):
        made.bring(listed(origin), evil, head)


def test_a_commit_that_is_not_there_is_an_error_of_one_line(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"a": "1"})
    with pytest.raises((GitError, ServiceError)) as caught:
        mirrors(tmp_path).bring(listed(origin), base, "d" * 40)
    assert "\n" not in caught.value.message


def test_a_small_pack_with_a_large_file_is_refused(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"a": "1"})
    head = origin.commit({"src/zeros": b"\0" * 3_000_000})
    with pytest.raises(RefusedError, match="3000000 bytes"):
        mirrors(tmp_path, blob_limit_b=1_000_000).bring(listed(origin), base, head)
    with pytest.raises(RefusedError, match="objects"):
        mirrors(tmp_path / "b", objects_limit=2).bring(listed(origin), base, head)


def test_a_pack_over_the_limit_is_cut_off(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"a": "1"})
    head = origin.commit({"src/noise": os.urandom(3_000_000)})
    with pytest.raises(GitError):
        mirrors(tmp_path, size_limit_b=500_000).bring(listed(origin), base, head)
    sizes = [path.stat().st_size for path in (tmp_path / "mirrors").rglob("*") if path.is_file()]
    assert max(sizes) <= 500_000


def running(program: Path) -> list[str]:
    """The processes that have a program in their arguments."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            found += [place.parent.name] if os.fsencode(program) in place.read_bytes() else []
    return found


def test_a_fetch_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nsleep 600\n")
    fake.chmod(0o755)
    from unittest.mock import patch

    with patch("trivet.service.fetching.git_program", lambda: str(fake)), pytest.raises(GitError, match="more than"):
        run_git(["fetch"], {"PATH": os.defpath}, timeout_s=0.2)
    assert running(fake) == []


def test_no_hook_configuration_or_submodule_of_anybody_runs(tmp_path: Path, origin: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[core]\n\tsshCommand = "touch {marker}"\n\thooksPath = {home}\n[uploadpack]\n\tpackObjectsHook = touch {marker}\n')
    for hook in ("post-checkout", "reference-transaction", "post-update", "pre-auto-gc"):
        (home / hook).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (home / hook).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {marker}")
    base = origin.commit({"a": "1"})
    origin.put({".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {marker}"\n'})
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{base},x")
    origin.git("add", ".gitmodules")
    origin.git("commit", "-q", "-m", "x")
    brought = mirrors(tmp_path).bring(listed(origin), base, origin.git("rev-parse", "HEAD"))
    assert not marker.exists()
    assert not list(brought.path.glob("hooks/*"))


def test_private_oracles_are_laid_over_base_and_the_same_two_give_the_same_commit(tmp_path: Path, origin: Repo) -> None:
    base = origin.commit({"src/pkg/core.py": VERDICTS["src/pkg/core.py"], "README.md": "x"})
    head = origin.commit({"src/pkg/core.py": "def double(n):\n    return n + n\n"})
    private = Repo(tmp_path / "private")
    tip = private.commit({"tests/sealed/test_core.py": VERDICTS["tests/sealed/test_core.py"], "tests/sealed/MANIFEST.txt": "tests/sealed/test_core.py\n"})
    repo = listed(origin, oracle=Oracle(source=f"git+{private.root}"))
    made = mirrors(tmp_path)
    brought = made.bring(repo, base, head)
    assert brought.oracle == tip
    assert brought.base != base
    assert made.bring(repo, base, head) == brought
    with open_repository(brought.path) as repository:
        tree = CommitTree(repository, repository.commit(brought.base), "base")
        assert tree.read(b"tests/sealed/MANIFEST.txt") == b"tests/sealed/test_core.py\n"
        assert tree.read(b"README.md") == b"x"
        assert repository.merge_bases(brought.base, head) == (base,)
    private.commit({"tests/sealed/test_more.py": "x"})
    assert made.bring(repo, base, head).base != brought.base
    assert private.git("rev-parse", "HEAD") not in origin.git("rev-list", "--all"), "the agents' repository never sees them"


def test_an_oracle_repository_with_a_link_is_refused(tmp_path: Path, origin: Repo) -> None:
    base, head = origin.commit({"a": "1"}), origin.commit({"a": "2"})
    private = Repo(tmp_path / "private")
    private.commit({"tests/sealed/x": Link("/etc/passwd")})
    with pytest.raises(RefusedError, match="links"):
        mirrors(tmp_path).bring(listed(origin, oracle=Oracle(source=f"git+{private.root}")), base, head)
