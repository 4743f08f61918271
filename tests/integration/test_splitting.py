"""A mixed change becomes two branches, and nothing else of the repository moves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from trivet.cli import main
from trivet.errors import UsageError
from trivet.splitting import split

CODEOWNERS = "* @devs\n/tests/sealed/ @oracle-owners\n"


def git(root: Path, *args: str) -> str:
    """Run git in a bare environment."""
    env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(root), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=Ida", "-c", "user.email=ida@example.com")
    return subprocess.run(["git", *who, *args], cwd=root, check=True, capture_output=True, text=True, env=env).stdout.strip()


def commit(root: Path, files: dict[str, str | None]) -> str:
    """Write or remove files and commit everything."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "change")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one sealed test."""
    git(tmp_path, "init", "-q", "-b", "main")
    files = {"CODEOWNERS": CODEOWNERS, "src/a.py": "A = 1\n", "src/old.py": "", "tests/sealed/test_a.py": "def test_a():\n    pass\n"}
    commit(tmp_path, {**files, "tests/sealed/MANIFEST.txt": "tests/sealed/test_a.py\n"})
    git(tmp_path, "tag", "base")
    return tmp_path


def test_each_part_holds_its_own_paths_on_base(repo: Path) -> None:
    """Source, drafts and pages on one branch; oracles and control files on the other."""
    head = commit(
        repo,
        {
            "src/a.py": "A = 2\n",
            "src/old.py": None,
            "README.md": "x\n",
            "tests/proposed/test_b.py": "",
            "tests/sealed/test_a.py": "def test_a():\n    assert 1\n",
            "tox.ini": "[x]\n",
        },
    )
    status = git(repo, "status", "--porcelain")
    first, second = split(repo, "base", head)
    assert [name for name, _ in first.paths] == ["README.md", "src/a.py", "src/old.py", "tests/proposed/test_b.py"]
    assert [name for name, _ in second.paths] == ["tests/sealed/test_a.py", "tox.ini"]
    assert second.owners == ("@oracle-owners", "@devs")
    assert git(repo, "diff", "--no-renames", "--name-only", "base", first.branch).split() == [name for name, _ in first.paths]
    assert git(repo, "diff", "--no-renames", "--name-only", "base", second.branch).split() == [name for name, _ in second.paths]
    assert git(repo, "log", "-1", "--format=%an <%ae>", first.branch) == "Ida <ida@example.com>"
    assert (git(repo, "status", "--porcelain"), git(repo, "rev-parse", "HEAD")) == (status, head)


def test_the_parts_stand_on_a_base_that_moved_on(repo: Path) -> None:
    """What base changed meanwhile is kept, also inside of one file."""
    lines = "".join(f"X{n} = {n}\n" for n in range(30))
    start = commit(repo, {"src/a.py": lines})
    head = commit(repo, {"src/a.py": lines.replace("X29 = 29", "X29 = 0"), "tests/sealed/test_a.py": "def test_a():\n    assert 2\n"})
    git(repo, "checkout", "-q", "-b", "trunk", start)
    trunk = commit(repo, {"src/a.py": lines.replace("X0 = 0", "X0 = 9")})
    first, _ = split(repo, trunk, head)
    text = git(repo, "show", f"{first.branch}:src/a.py")
    assert ("X0 = 9" in text, "X29 = 0" in text) == (True, True)


def test_a_branch_that_exists_is_left_alone(repo: Path) -> None:
    """Only --force moves it."""
    head = commit(repo, {"src/a.py": "A = 2\n", "tests/sealed/test_a.py": "def test_a():\n    assert 1\n"})
    first, _ = split(repo, "base", head)
    with pytest.raises(UsageError, match="exists already"):
        split(repo, "base", head)
    assert split(repo, "base", head, force=True)[0].branch == first.branch


@pytest.mark.parametrize("files", [{"src/a.py": "A = 3\n"}, {"tox.ini": "[x]\n"}])
def test_a_change_of_one_kind_is_not_split(repo: Path, files: dict[str, str | None]) -> None:
    """A patch and an oracle change stand by themselves."""
    with pytest.raises(UsageError, match="nothing to split"):
        split(repo, "base", commit(repo, files))


def test_a_conflict_asks_for_a_rebase(repo: Path) -> None:
    """Two sides of one line cannot be split."""
    head = commit(repo, {"src/a.py": "A = 2\n", "tests/sealed/test_a.py": ""})
    git(repo, "checkout", "-q", "-b", "trunk", "base")
    with pytest.raises(UsageError, match="does not merge"):
        split(repo, commit(repo, {"src/a.py": "A = 5\n"}), head)


def test_each_part_says_how_it_would_be_judged(repo: Path) -> None:
    """What can be said before anything runs: oracle-integrity of the source part, owners and manifests of the oracle part."""
    head = commit(repo, {"src/a.py": "A = 2\n", "tests/sealed/test_a.py": "def test_a():\n    assert 1\n"})
    first, second = split(repo, "base", head)
    assert first.judged == "a patch: oracle-integrity PASS; src-score runs the 1 sealed test file of base on it"
    assert second.judged.startswith("an oracle change: an owner has to send or approve it; then")
    assert (first.findings, second.findings) == ((), ())


def test_what_speaks_against_a_part_already_is_told(repo: Path) -> None:
    """A new sealed test that no manifest lists, a module that shadows, a path that nobody owns."""
    git(repo, "checkout", "-q", "-B", "trunk", "base")
    commit(repo, {"CODEOWNERS": "/tests/sealed/ @oracle-owners\n"})
    git(repo, "tag", "-f", "base")
    head = commit(repo, {"src/a.py": "A = 2\n", "src/linked.py": "", "tests/sealed/test_b.py": "def test_b():\n    assert 1\n", "tox.ini": "[x]\n"})
    first, second = split(repo, "base", head)
    assert (first.findings, {finding.rule for finding in second.findings}) == ((), {"TRV110", "TRV116"})
    assert "oracle-integrity FAIL" in second.judged
    assert [finding.path for finding in second.findings if finding.rule == "TRV116"] == [b"tox.ini"]


def test_the_command_tells_both_parts(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, with odd names shown as text, and as JSON."""
    head = commit(repo, {"src/a\x1b[31m.py": "A = 2\n", "tests/sealed/test_a.py": "def test_a():\n    assert 1\n"})
    assert main(["split", "--repo", str(repo), "--base", "base", "--head", head]) == 0
    text = capsys.readouterr().out
    assert ("\x1b" in text, "src/a\\x1b[31m.py" in text) == (False, True)
    assert "judged as a patch: oracle-integrity PASS" in text
    assert main(["split", "--repo", str(repo), "--base", "base", "--head", head, "--force", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["parts"]
    assert (first["findings"], second["owners"]) == ([], ["@oracle-owners"])
