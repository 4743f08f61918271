"""Warm trees: what is switched is exactly the other tree, and what is not what it must be is laid afresh."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repos import Link, Repo
from trivet.git import Repository, open_repository
from trivet.stage import pool as pools
from trivet.stage.overlay import lay
from trivet.stage.pool import PLACES, Pool
from trivet.stage.switching import Broken, verify

SRC = Path(__file__).resolve().parents[3] / "src"


def shape(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every path with its mode and bytes (a link's target, nothing for a folder)."""
    found = {}
    for folder, inner, files in os.walk(root):
        for name in (*inner, *files):
            path = Path(folder, name)
            facts = path.lstat()
            data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(root))] = (facts.st_mode, data)
    return found


def laid(repository: Repository, tree: str, folder: Path) -> dict[str, tuple[int, bytes]]:
    folder.mkdir(parents=True)
    lay(repository, repository.tree(tree), folder)
    return shape(folder)


def take(pool: Pool, repository: Repository, tree: str) -> Path:
    root = pool.take(repository, tree, lambda: repository.tree(tree))
    assert root is not None
    return root


def found(folder: Path, said: list[str] | None = None) -> Pool:
    pool = Pool.find([].append if said is None else said.append, folder)
    assert pool is not None
    return pool


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def commit(repo: Repo, files: dict[str, object]) -> str:
    repo.put(files)  # type: ignore[arg-type]
    repo.git("add", "--all", "--force")
    repo.git("commit", "--quiet", "--allow-empty", "--message=x")
    return repo.git("rev-parse", "HEAD^{tree}")


def test_random_histories_are_switched_to_exactly_the_other_tree(repo: Repo, tmp_path: Path) -> None:
    """Files that become folders, folders that go, links, modes: after each switch the tree is what laying it anew gives."""
    rng = random.Random(5)
    names = ["a", "b", "a/c", "a/d", "b/e/f", "b/e", "g/h/i/j", "g/h", "k.py", "l m", "é"]
    trees = []
    for number in range(25):
        files: dict[str, object] = {}
        for name in rng.sample(names, 4):
            if any(name.startswith(other + "/") or other.startswith(name + "/") for other in files):
                continue
            choice = rng.random()
            files[name] = None if choice < 0.3 else Link("../x" if choice < 0.4 else "k.py") if choice < 0.5 else f"{number % 5}\n"
        for name in list(files):  # what stands in the way goes
            for part in Path(name).parents:
                if (repo.root / part).is_file() or (repo.root / part).is_symlink():
                    files[str(part)] = None
            if files[name] is not None and (repo.root / name).is_dir() and not (repo.root / name).is_symlink():
                files |= {str(p.relative_to(repo.root)): None for p in (repo.root / name).rglob("*") if not p.is_dir() or p.is_symlink()}
        trees.append(commit(repo, files))
    with open_repository(repo.root) as repository:
        for number in range(40):
            tree = rng.choice(trees)
            pool = found(tmp_path / "pool")
            root = take(pool, repository, tree)
            assert shape(root) == laid(repository, tree, tmp_path / f"fresh{number}")
            pool.close()
        assert len(list((tmp_path / "pool").iterdir())) == 1, "one place was enough"


def test_a_merged_tree_that_no_repository_keeps_is_switched_from(repo: Repo, tmp_path: Path) -> None:
    first = commit(repo, {"src/a.py": "1\n", "src/b.py": "2\n", "docs/x": "x\n"})
    other = repo.git("hash-object", "-w", "src/b.py")
    with open_repository(repo.root) as repository:
        made = repository.edit(first, {b"src/deep/c.py": (0o100755, other)})
        pool = found(tmp_path / "pool")
        assert "src/deep/c.py" in shape(take(pool, repository, made))
        pool.close()
    with open_repository(repo.root) as repository:
        pool = found(tmp_path / "pool")
        root = take(pool, repository, first)
        inodes = {path: (root / path).stat().st_ino for path in ("src/a.py", "docs/x")}
        assert shape(root) == laid(repository, first, tmp_path / "fresh")
        pool.close()
        again = take(found(tmp_path / "pool"), repository, first)
        assert {path: (again / path).stat().st_ino for path in inodes} == inodes, "what does not differ is left alone"


@pytest.mark.parametrize("harm", ["edit", "extra", "mode", "gone", "link"])
def test_a_tree_that_somebody_touched_is_laid_afresh(repo: Repo, tmp_path: Path, harm: str) -> None:
    """An edited file shows in the whole audit, everything else in the folders that are looked at."""
    first = commit(repo, {"a.py": "1\n", "b.py": "2\n"})
    second = commit(repo, {"a.py": "3\n"})
    with open_repository(repo.root) as repository:
        pool = found(tmp_path / "pool")
        root = take(pool, repository, first)
        pool.close()
        root.chmod(0o755)
        victim = root / "b.py"
        victim.chmod(0o644)
        match harm:
            case "edit":
                victim.write_text("9\n")
                victim.chmod(0o444)
            case "extra":
                victim.chmod(0o444)
                (root / "conftest.py").write_text("")
            case "gone":
                victim.unlink()
            case "link":
                victim.unlink()
                victim.symlink_to("a.py")
        if harm != "mode":
            root.chmod(0o555)
        said: list[str] = []
        pool = found(tmp_path / "pool", said)
        if harm == "edit":
            with pytest.raises(Broken):
                verify(repository, repository.tree(first), root)
            pools.AUDITED, kept = 1, pools.AUDITED
            try:
                root = take(pool, repository, second)
            finally:
                pools.AUDITED = kept
        else:
            root = take(pool, repository, second)
        assert shape(root) == laid(repository, second, tmp_path / "fresh")
        assert len(said) == 1
        assert "laid afresh" in said[0]


def test_a_place_in_use_is_left_alone_and_there_are_only_so_many(repo: Repo, tmp_path: Path) -> None:
    tree = commit(repo, {"a": "1\n"})
    with open_repository(repo.root) as repository:
        held = [found(tmp_path / "pool") for _ in range(PLACES)]
        assert len({take(pool, repository, tree) for pool in held}) == PLACES
        assert found(tmp_path / "pool").take(repository, tree, lambda: repository.tree(tree)) is None
        found(tmp_path / "pool").shrink(-1)
        assert found(tmp_path / "pool").info()[0] == PLACES
        for pool in held:
            pool.close()
        assert pools.clear(tmp_path / "pool") == PLACES


def test_a_killed_process_leaves_a_place_that_is_laid_afresh(repo: Repo, tmp_path: Path) -> None:
    first = commit(repo, {f"src/{number}.py": "1\n" for number in range(300)})
    second = commit(repo, {f"src/{number}.py": "2\n" for number in range(300)})
    program = (
        "import sys, pathlib\nfrom trivet.git import open_repository\nfrom trivet.stage.pool import Pool\n"
        "with open_repository(pathlib.Path(sys.argv[1])) as r:\n    while True:\n        for tree in sys.argv[3:]:\n"
        "            pool = Pool.find(print, pathlib.Path(sys.argv[2]))\n            pool.take(r, tree, lambda: r.tree(tree))\n            pool.close()\n"
    )
    rng = random.Random(1)
    with open_repository(repo.root) as repository:
        for number in range(4):
            call = [sys.executable, "-c", program, str(repo.root), str(tmp_path / "pool"), first, second]
            child = subprocess.Popen(call, env={"PYTHONPATH": str(SRC), "PATH": os.environ["PATH"]})
            deadline = time.monotonic() + 30
            while not list(tmp_path.glob("pool/*/note.json")) and time.monotonic() < deadline:
                pass
            until = time.monotonic() + rng.random() * 0.1
            while time.monotonic() < until:
                pass
            child.kill()
            child.wait()
            pool = found(tmp_path / "pool")
            tree = rng.choice([first, second])
            root = take(pool, repository, tree)
            assert shape(root) == laid(repository, tree, tmp_path / f"fresh{number}")
            pool.close()


def test_a_folder_of_others_is_no_pool(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert Pool.find(print, tmp_path / "open") is None
    (tmp_path / "link").symlink_to(tmp_path)
    assert Pool.find(print, tmp_path / "link") is None
    assert stat.S_IMODE(found(tmp_path / "own").folder.stat().st_mode) & 0o066 == 0
