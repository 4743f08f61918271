"""Signed commits against a signers file, with real keys, git and ssh-keygen."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from trivet.sealed.signers import check_commits, split_signature

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
NOW = 1_790_000_000.0


def run(*argv: str, cwd: Path, **env: str) -> str:
    """Run a tool in a bare environment."""
    base = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cwd), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True, env={**base, **env}).stdout.strip()


@dataclass(frozen=True)
class Repo:
    """A scratch repository that can sign."""

    root: Path

    def key(self, name: str) -> str:
        """Make a key; returns its public line."""
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.root / name), cwd=self.root)
        return (self.root / f"{name}.pub").read_text()

    def commit(self, key: str | None) -> str:
        """Make an empty commit, signed with a key or not."""
        who = ("-c", "user.name=rosa", "-c", "user.email=rosa@example.com", "-c", "gpg.format=ssh")
        sign = ("-c", f"user.signingkey={self.root / key}", "-c", "commit.gpgsign=true") if key else ()
        run("git", *who, *sign, "commit", "-q", "--allow-empty", "-m", "change\n\nbody", cwd=self.root)
        return run("git", "rev-parse", "HEAD", cwd=self.root)

    def raw_commit(self, oid: str) -> bytes:
        """The raw object."""
        return subprocess.run(["git", "cat-file", "commit", oid], cwd=self.root, check=True, capture_output=True).stdout


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository."""
    run("git", "init", "-q", cwd=tmp_path)
    return Repo(tmp_path)


def test_a_commit_signed_by_a_named_key_counts(repo: Repo) -> None:
    """The principal of the signers file is told."""
    allowed = f"rosa@example.com namespaces=\"git\" {repo.key('rosa')}".encode()
    oid = repo.commit("rosa")
    assert [row.principal for row in check_commits(repo, (oid,), allowed, now=NOW)] == ["rosa@example.com"]


def test_strangers_and_unsigned_commits_do_not_count(repo: Repo) -> None:
    """The first commit that nobody signed ends the search."""
    allowed = f"rosa@example.com {repo.key('rosa')}".encode()
    repo.key("eve")
    plain, stranger, good = repo.commit(None), repo.commit("eve"), repo.commit("rosa")
    assert [bool(row.problem) for row in check_commits(repo, (plain, good), allowed, now=NOW)] == [True]
    assert [bool(row.problem) for row in check_commits(repo, (good, stranger), allowed, now=NOW)] == [False, True]


def test_a_signature_on_other_words_does_not_count(repo: Repo) -> None:
    """Carrying another commit's signature is not signing."""
    allowed = f"rosa@example.com {repo.key('rosa')}".encode()
    raw = repo.raw_commit(repo.commit("rosa"))

    class Forged:
        def raw_commit(self, oid: str) -> bytes:
            return raw.replace(b"change", b"chance")

    assert [row.problem for row in check_commits(Forged(), ("f" * 40,), allowed, now=NOW)] == ["its signature does not verify"]


def test_a_key_outside_its_validity_or_namespace_does_not_count(repo: Repo) -> None:
    """Validity is taken at the clock reading of the process, never from the commit's own date."""
    key = repo.key("rosa")
    oid = repo.commit("rosa")
    for options in ('valid-before="20200101"', 'valid-after="20990101"', 'namespaces="file"'):
        assert [bool(row.problem) for row in check_commits(repo, (oid,), f"rosa@example.com {options} {key}".encode(), now=NOW)] == [True]


def test_no_signers_file_means_no_signatures(repo: Repo) -> None:
    """Without keys on base nothing is checked."""
    assert check_commits(repo, (repo.commit(None),), None, now=NOW) == ()


def test_two_signatures_in_one_commit_are_none() -> None:
    """A commit that could be read in two ways is not signed."""
    one = b"gpgsig -----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----\n"
    assert split_signature(b"tree 0\n" + one + b"\nm") is not None
    assert split_signature(b"tree 0\n" + one + one + b"\nm") is None
    assert split_signature(b"tree 0\n\nm") is None
